#include "tests/simulation/transfer_data.h"

#include <algorithm>

#include "tests/simulation/byte_pattern.h"

namespace openlapi::simulation {

namespace {

// Bytes that lie one behind the other on both sides.
struct Segment {
  std::uint64_t source_offset;
  std::byte* place;
  std::uint64_t length;
  ReferenceByte how;  // they arrive
};

// Calls visit(segment) for all data in order of travel, until it answers false; answers whether it never did.
template <class Visit>
bool for_each_segment(const Operation& operation, Visit visit) {
  auto from = operation.from.runs.begin();
  std::uint64_t taken = 0;  // of *from
  for (const DataRun& to : operation.to.runs) {
    for (std::uint64_t done = 0; done < to.length;) {
      const std::uint64_t length = std::min(to.length - done, from->length - taken);
      std::byte* const place = operation.to.region + to.offset + done;
      if (!visit(Segment{from->offset + taken, place, length, {0, to.operation, to.operand}})) return false;
      done += length;
      taken += length;
      if (taken == from->length) {
        ++from;
        taken = 0;
      }
    }
  }
  return true;
}

std::byte arrived_byte(const Operation& operation, const Segment& segment, std::uint64_t index,
                       const TaskMemory& memory) {
  const std::byte inbound = pattern_byte(operation.key, segment.source_offset + index);
  return combined_byte(inbound, memory.guard_at(segment.place + index), segment.how);
}

}  // namespace

bool is_data_of(const Operation& operation, const std::byte* data) {
  return std::all_of(operation.from.runs.begin(), operation.from.runs.end(), [&](const DataRun& run) {
    const std::span bytes(data, run.length);
    data += run.length;
    return has_pattern(bytes, operation.key, run.offset);
  });
}

bool data_is_in_place(const Operation& operation, const TaskMemory& memory) {
  return for_each_segment(operation, [&](const Segment& segment) {
    if (segment.how.operation < 0) {
      return has_pattern({segment.place, segment.length}, operation.key, segment.source_offset);
    }
    for (std::uint64_t i = 0; i < segment.length; ++i) {
      if (segment.place[i] != arrived_byte(operation, segment, i, memory)) return false;
    }
    return true;
  });
}

void overwrite_place(const Operation& operation) {
  for (const DataRun& run : operation.to.runs) {
    fill_pattern({operation.to.region + run.offset, run.length}, ~operation.key, run.offset);
  }
}

bool place_is_overwritten(const Operation& operation) {
  return std::all_of(operation.to.runs.begin(), operation.to.runs.end(), [&](const DataRun& run) {
    return has_pattern({operation.to.region + run.offset, run.length}, ~operation.key, run.offset);
  });
}

std::uint64_t first_wrong_byte(const Operation& operation, const TaskMemory& memory) {
  std::uint64_t position = 0;
  for_each_segment(operation, [&](const Segment& segment) {
    for (std::uint64_t i = 0; i < segment.length; ++i, ++position) {
      const std::byte byte = segment.place[i];
      if (byte != memory.guard_at(&segment.place[i]) && byte != arrived_byte(operation, segment, i, memory)) {
        return false;
      }
    }
    return true;
  });
  return position;
}

}  // namespace openlapi::simulation
