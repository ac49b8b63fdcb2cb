#include "shm/direct/userfault.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace openlapi::direct {
namespace {

constexpr int kUserfaultFlags = O_CLOEXEC | O_NONBLOCK;

int new_userfault(int flags) { return static_cast<int>(syscall(SYS_userfaultfd, flags)); }

// Whoever may open the device has all rights, whatever vm.unprivileged_userfaultfd says (since Linux 6.1).
int new_userfault_of_device() {
#ifdef USERFAULTFD_IOC_NEW
  const FileDescriptor device(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
  return device.is_open() ? ioctl(device.get(), USERFAULTFD_IOC_NEW, kUserfaultFlags) : -1;
#else
  return -1;
#endif
}

}  // namespace

Userfault Userfault::open(std::uint64_t features, std::string& reason) {
  Userfault fault;
  fault.descriptor_.reset(new_userfault(kUserfaultFlags));
  if (!fault.is_open()) fault.descriptor_.reset(new_userfault_of_device());
  fault.stops_system_calls_ = fault.is_open();
  if (!fault.is_open()) fault.descriptor_.reset(new_userfault(kUserfaultFlags | UFFD_USER_MODE_ONLY));
  if (!fault.is_open()) {
    reason = std::string("userfaultfd is refused: ") + std::strerror(errno);
    return {};
  }
  uffdio_api wanted{};
  wanted.api = UFFD_API;
  wanted.features = features;
  if (ioctl(fault.descriptor(), UFFDIO_API, &wanted) != 0) {
    reason = "userfaultfd lacks what direct access needs (Linux 6.4 or later)";
    return {};
  }
  return fault;
}

bool Userfault::watch(std::uint64_t begin, std::uint64_t end) const {
  uffdio_register request{};
  request.range = {.start = begin, .len = end - begin};
  request.mode = UFFDIO_REGISTER_MODE_WP;
  return ioctl(descriptor(), UFFDIO_REGISTER, &request) == 0;
}

bool Userfault::unwatch(std::uint64_t begin, std::uint64_t end) const {
  uffdio_range range{.start = begin, .len = end - begin};
  return ioctl(descriptor(), UFFDIO_UNREGISTER, &range) == 0;
}

bool Userfault::protect(std::uint64_t begin, std::uint64_t end) const {
  uffdio_writeprotect request{};
  request.range = {.start = begin, .len = end - begin};
  request.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  return ioctl(descriptor(), UFFDIO_WRITEPROTECT, &request) == 0;
}

// The kernel refuses any such request meanwhile, before it looks at the range.
bool Userfault::settled() const {
  uffdio_writeprotect request{};
  return ioctl(descriptor(), UFFDIO_WRITEPROTECT, &request) == 0 || errno != EAGAIN;
}

void Userfault::wake(std::uint64_t begin, std::uint64_t end) const {
  uffdio_range range{.start = begin, .len = end - begin};
  ioctl(descriptor(), UFFDIO_WAKE, &range);
}

}  // namespace openlapi::direct
