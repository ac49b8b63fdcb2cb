// One of the paths to a peer over which adapters read each other's memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/clock.h"
#include "dataplane/transport/bulk_memory.h"
#include "dataplane/transport/one_sided_memory.h"
#include "dataplane/tuning.h"

namespace openlapi {

struct BulkPath {
  BulkMemory* memory;
  unsigned in_channel;  // its number among the paths of the peer's channel; kNoNumber: it is none of them
  OneSidedMemory* one_sided = nullptr;  // of the same adapter; null: it has none

  static constexpr unsigned kNoNumber = UINT32_MAX;

  std::uint32_t failures = 0;  // in a row
  std::uint32_t pause = 0;     // messages that do without it before it is tried again

  std::uint64_t read = 0;  // bytes; all since the first contact

  // How fast it reads, while it shares messages with others.
  double bytes_per_second = 0;  // 0: not known
  std::uint32_t reads = 0;      // of such messages; begun and not ended
  std::uint64_t brought = 0;    // bytes since then
  Nanoseconds since = 0;
  Nanoseconds brought_at = 0;  // when one has ended well last; 0: not so since it has failed

  // A path that does not work costs a round trip or more, so it rests, longer each time.
  void failed() {
    failures = std::min(failures + 1, tuning::kMostBulkFailures);
    pause = (1u << failures) - 1;
    bytes_per_second = 0;
    brought_at = 0;
  }
  void succeeded() { failures = 0; }

  // How long it takes for so much, as far as is known; long ones half as long again, since no two take the same time.
  Nanoseconds time_for(std::uint64_t length) const {
    if (bytes_per_second == 0) return 0;
    const double time = 1.5 * kSecond * static_cast<double>(length) / bytes_per_second;
    return time < tuning::kLongestBulkWait ? static_cast<Nanoseconds>(time) : tuning::kLongestBulkWait;
  }
  // Reads come to their ends over it, so that it is alive, whatever the packets say that may wait behind them.
  bool keeps_bringing(std::uint64_t under_way, Nanoseconds now) const {
    return brought_at != 0 && now - brought_at < tuning::kBulkPatienceInSilence + time_for_next(under_way);
  }
  Nanoseconds time_for_next(std::uint64_t under_way) const {
    return time_for(std::max(under_way, tuning::kLongestBulkChunk));
  }

  void read_began(Nanoseconds now) {
    if (reads++ != 0) return;
    since = now;
    brought = 0;
  }
  void read_ended(std::uint64_t bytes, Nanoseconds now) {
    if (reads != 0) --reads;
    brought += bytes;
    const Nanoseconds elapsed = now - since;
    if (bytes == 0 || elapsed < tuning::kShortestBulkInterval) return;
    const double sample = static_cast<double>(brought) * kSecond / static_cast<double>(elapsed);
    bytes_per_second = bytes_per_second == 0 ? sample : (bytes_per_second + sample) / 2;
    since = now;
    brought = 0;
  }
};

}  // namespace openlapi
