#include "nic/verbs/memory_kind.h"

#include <sys/auxv.h>

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
  refused_ = mapping.begin > next_ || !is_watchable(mapping, program_);
  if (refused_) return;
  next_ = mapping.end;
}

bool is_watchable(const Mapping& mapping, const FileIdentity& program) {
  if (mapping.shared) return false;
  const bool of_program =
      mapping.inode == program.inode && mapping.device == program.device && mapping.name == program.path;
  return mapping.inode == 0 || of_program;
}

bool watchable_memory(const PageRange& range, const FileIdentity& program) {
  WatchableMemoryScan scan(range.begin, range.end, program);
  each_mapping([&](const Mapping& mapping) {
    scan.take(mapping);
    return !scan.over();
  });
  return scan.covered();
}

}  // namespace openlapi::verbs
