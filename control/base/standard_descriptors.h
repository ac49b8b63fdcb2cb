// Programs that are started with standard input, output or error closed.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace openlapi {

// A descriptor that is opened later must not become one of the three: before anything else is opened.
inline void open_standard_descriptors() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
}

}  // namespace openlapi
