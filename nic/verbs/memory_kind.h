// What kind of memory lies at an address, by the kernel's list of mappings.
#pragma once

#include <cstdint>
#include <string_view>

namespace openlapi::verbs {

// Takes the lines of /proc/self/maps, in any pieces, and tells whether private memory of no file covers a range.
class PrivateMemoryScan {
 public:
  PrivateMemoryScan(std::uint64_t begin, std::uint64_t end) : next_(begin), end_(end) {}

  // One line, without its end.
  void line(std::string_view line);

  bool covered() const { return next_ >= end_ && !refused_; }
  bool over() const { return next_ >= end_ || refused_; }

 private:
  std::uint64_t next_;  // all before it is private
  std::uint64_t end_;
  bool refused_ = false;
};

// Takes as long as it takes to read the list: tens of microseconds and more.
bool is_private_anonymous(std::uint64_t begin, std::uint64_t end);

}  // namespace openlapi::verbs
