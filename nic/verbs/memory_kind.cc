#include "nic/verbs/memory_kind.h"

namespace openlapi::verbs {

void PrivateMemoryScan::take(const Mapping& mapping) {
  if (over() || mapping.end <= next_) return;
  refused_ = mapping.begin > next_ || mapping.shared || mapping.inode != 0;
  if (!refused_) next_ = mapping.end;
}

bool is_private_anonymous(std::uint64_t begin, std::uint64_t end) {
  PrivateMemoryScan scan(begin, end);
  each_mapping([&](const Mapping& mapping) {
    scan.take(mapping);
    return !scan.over();
  });
  return scan.covered();
}

}  // namespace openlapi::verbs
