// A library whose functions fault where they are told to: itself, or in one of the C library's.
#include <cstring>

extern "C" [[gnu::visibility("default")]] void write_byte(volatile char* place) { *place = 1; }

namespace {
void* (*volatile set_bytes)(void*, int, std::size_t) = memset;
}

extern "C" [[gnu::visibility("default")]] void set_byte(volatile char* place) {
  set_bytes(const_cast<char*>(place), 1, 1);
  *place = 2;  // it is no call's last act
}
