#include "nic/verbs/memory_kind.h"

#include <sys/auxv.h>

#include <algorithm>

namespace openlapi::verbs {

// The kernel tells where the program's headers are in memory.
FileIdentity program_file() {
  const std::uint64_t headers = getauxval(AT_PHDR);
  FileIdentity found;
  each_mapping([&](const Mapping& mapping) {
    if (!mapping.contains(headers)) return true;
    found = {mapping.device, mapping.inode, std::string(mapping.name)};
    return false;
  });
  return found;
}

void WatchableMemoryScan::take(const Mapping& mapping) {
  if (over() || mapping.end <= next_) return;
  const PageRange part{next_, std::min(mapping.end, end_)};
  const bool watchable = is_watchable(mapping, program_);
  const bool followed = !watchable && mapping.shared && mapping.begin <= next_ && memory_.follows(part.begin, part.end);
  refused_ = mapping.begin > next_ || (!watchable && !followed);
  if (refused_) return;
  if (watchable) add_unfollowed(part);
  next_ = mapping.end;
}

void WatchableMemoryScan::add_unfollowed(const PageRange& part) {
  if (!unfollowed_.empty() && unfollowed_.back().end == part.begin) {
    unfollowed_.back().end = part.end;
  } else {
    unfollowed_.push_back(part);
  }
}

bool is_watchable(const Mapping& mapping, const FileIdentity& program) {
  if (mapping.shared) return false;
  if (mapping.name == AdapterMemory::kMovedTo) return true;
  const bool of_program =
      mapping.inode == program.inode && mapping.device == program.device && mapping.name == program.path;
  return mapping.inode == 0 || of_program;
}

WatchableMemoryScan scan_memory(const PageRange& range, const FileIdentity& program, AdapterMemory& memory) {
  WatchableMemoryScan scan(range.begin, range.end, program, memory);
  each_mapping([&](const Mapping& mapping) {
    scan.take(mapping);
    return !scan.over();
  });
  return scan;
}

}  // namespace openlapi::verbs
