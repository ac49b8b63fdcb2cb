#include "shm/direct/userfault.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace openlapi::direct {
namespace {

constexpr int kUserfaultFlags = O_CLOEXEC | O_NONBLOCK;

// UFFDIO_MOVE, since Linux 6.8.
struct MoveRequest {
  std::uint64_t to, from, length, mode;
  std::int64_t moved;
};
constexpr std::uint64_t kMoveFeature = 1 << 16, kWithHoles = 1 << 1;
constexpr unsigned long kMovePages = _IOWR(UFFDIO, 0x05, MoveRequest);

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

Userfault Userfault::open_any(std::string& reason) {
  Userfault fault;
  fault.descriptor_.reset(new_userfault(kUserfaultFlags));
  if (!fault.is_open()) fault.descriptor_.reset(new_userfault_of_device());
  fault.stops_system_calls_ = fault.is_open();
  if (!fault.is_open()) fault.descriptor_.reset(new_userfault(kUserfaultFlags | UFFD_USER_MODE_ONLY));
  if (!fault.is_open()) reason = std::string("userfaultfd is refused: ") + std::strerror(errno);
  return fault;
}

bool Userfault::agree_on(std::uint64_t features) const {
  uffdio_api wanted{};
  wanted.api = UFFD_API;
  wanted.features = features;
  return ioctl(descriptor(), UFFDIO_API, &wanted) == 0;
}

Userfault Userfault::open(std::uint64_t features, std::string& reason) {
  Userfault fault = open_any(reason);
  if (!fault.is_open() || fault.agree_on(features)) return fault;
  reason = "userfaultfd lacks what direct access needs (Linux 6.4 or later)";
  return {};
}

// The kernel refuses features that it does not know, and can be asked again.
Userfault Userfault::open_moving(std::uint64_t features, std::string& reason) {
  Userfault fault = open_any(reason);
  fault.moves_pages_ = fault.is_open() && fault.agree_on(features | kMoveFeature);
  return fault.moves_pages_ ? std::move(fault) : open(features, reason);
}

bool Userfault::register_pages(std::uint64_t begin, std::uint64_t end, std::uint64_t mode) const {
  uffdio_register request{};
  request.range = {.start = begin, .len = end - begin};
  request.mode = mode;
  return ioctl(descriptor(), UFFDIO_REGISTER, &request) == 0;
}

bool Userfault::watch(std::uint64_t begin, std::uint64_t end) const {
  return register_pages(begin, end, UFFDIO_REGISTER_MODE_WP);
}

bool Userfault::watch_all(std::uint64_t begin, std::uint64_t end) const {
  return register_pages(begin, end, UFFDIO_REGISTER_MODE_WP | UFFDIO_REGISTER_MODE_MISSING);
}

bool Userfault::unwatch(std::uint64_t begin, std::uint64_t end) const {
  uffdio_range range{.start = begin, .len = end - begin};
  return ioctl(descriptor(), UFFDIO_UNREGISTER, &range) == 0;
}

bool Userfault::change_protection(std::uint64_t begin, std::uint64_t end, std::uint64_t mode) const {
  uffdio_writeprotect request{};
  request.range = {.start = begin, .len = end - begin};
  request.mode = mode;
  return ioctl(descriptor(), UFFDIO_WRITEPROTECT, &request) == 0;
}

bool Userfault::protect(std::uint64_t begin, std::uint64_t end) const {
  return change_protection(begin, end, UFFDIO_WRITEPROTECT_MODE_WP);
}

bool Userfault::is_watched(std::uint64_t begin, std::uint64_t end) const {
  return change_protection(begin, end, UFFDIO_WRITEPROTECT_MODE_DONTWAKE);
}

std::int64_t Userfault::move(std::uint64_t from, std::uint64_t to, std::uint64_t length) const {
  MoveRequest request{to, from, length, kWithHoles, 0};
  if (ioctl(descriptor(), kMovePages, &request) == 0) return static_cast<std::int64_t>(length);
  return request.moved > 0 ? request.moved : -1;
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
