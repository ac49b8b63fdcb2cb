#include "api/rpi/lapi/debugger.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace openlapi::rpi {

bool is_traced() {
  constexpr char kTracer[] = "\nTracerPid:";
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 1024> text;  // the line is among the first ten
  const ssize_t length = read(file, text.data(), text.size() - 1);
  close(file);
  text[length > 0 ? static_cast<std::size_t>(length) : 0] = 0;
  const char* const found = std::strstr(text.data(), kTracer);
  return found != nullptr && std::strtol(found + sizeof kTracer - 1, nullptr, 10) != 0;
}

}  // namespace openlapi::rpi
