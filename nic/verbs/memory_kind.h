// What kind of memory lies at an address, according to /proc/self/maps.
#pragma once

#include <cstdint>

#include "dataplane/base/process_maps.h"

namespace openlapi::verbs {

// Takes the process's mappings, in their order, and tells whether private anonymous memory covers the whole range.
class PrivateMemoryScan {
 public:
  PrivateMemoryScan(std::uint64_t begin, std::uint64_t end) : next_(begin), end_(end) {}

  void take(const Mapping& mapping);

  bool covered() const { return next_ >= end_ && !refused_; }
  bool over() const { return next_ >= end_ || refused_; }

 private:
  std::uint64_t next_;  // everything in the range before it is private
  std::uint64_t end_;
  bool refused_ = false;
};

// Takes as long as reading the list: tens of microseconds or more.
bool is_private_anonymous(std::uint64_t begin, std::uint64_t end);

}  // namespace openlapi::verbs
