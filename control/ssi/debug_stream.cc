#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "control/boot/include/lamdebug.h"

void lam_debug(int did, const char* format, ...) {
  if (did < 0) return;
  std::va_list arguments;
  va_start(arguments, format);
  char* line = nullptr;
  const int length = vasprintf(&line, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  // One call: lines of several threads do not mix.
  std::fprintf(stderr, "%s\n", line);
  std::free(line);
}
