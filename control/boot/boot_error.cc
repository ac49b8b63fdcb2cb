#include "control/boot/boot_error.h"

#include <cstring>

namespace openlapi::boot {

void print_error(std::string_view text) {
  // One call: lines of several threads do not mix.
  std::fprintf(stderr, "lam: %.*s\n", static_cast<int>(text.size()), text.data());
}

char* c_copy(std::string_view text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace openlapi::boot
