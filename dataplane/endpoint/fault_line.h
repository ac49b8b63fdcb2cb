// A line of text that is built without the heap, whose lock the faulting code may hold.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace openlapi {

class FaultLine {
 public:
  FaultLine& operator<<(std::string_view text) {
    const std::size_t length = std::min(text.size(), sizeof text_ - length_);
    std::copy_n(text.data(), length, text_ + length_);
    length_ += length;
    return *this;
  }
  FaultLine& operator<<(std::uint64_t number) { return add(number, 10); }
  FaultLine& address(std::uint64_t place) { return (*this << "0x").add(place, 16); }
  FaultLine& address(const void* place) { return address(reinterpret_cast<std::uintptr_t>(place)); }
  void write_out() const { [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text_, length_); }

 private:
  FaultLine& add(std::uint64_t number, int base) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number, base).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }

  char text_[320];
  std::size_t length_ = 0;
};

}  // namespace openlapi
