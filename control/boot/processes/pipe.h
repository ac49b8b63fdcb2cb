// A pipe that started programs do not inherit.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "control/boot/errors/boot_error.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::boot {

struct Pipe {
  FileDescriptor reader{}, writer{};
};

// Throws BootError.
inline Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw BootError(std::string("pipe: ") + std::strerror(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

}  // namespace openlapi::boot
