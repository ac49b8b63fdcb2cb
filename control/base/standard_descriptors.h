// For programs that may be started with standard input, output or error closed.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace openlapi {

// Opens on /dev/null those that are closed, so that no file that is opened later becomes one of them. Call it first.
inline void open_standard_descriptors() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
}

}  // namespace openlapi
