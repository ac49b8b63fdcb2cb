#include "control/boot/boot_error.h"

#include <cstring>
#include <mutex>
#include <optional>

#include "control/boot/kept_errors.h"

namespace openlapi::boot {
namespace {

std::mutex kept_mutex;
std::optional<std::vector<std::string>> kept;

}  // namespace

void keep_errors() {
  const std::lock_guard lock(kept_mutex);
  kept.emplace();
}

std::vector<std::string> take_kept_errors() {
  const std::lock_guard lock(kept_mutex);
  return kept ? std::exchange(*kept, {}) : std::vector<std::string>();
}

void print_error(std::string_view text) {
  const std::lock_guard lock(kept_mutex);
  if (kept) return void(kept->emplace_back(text));
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
