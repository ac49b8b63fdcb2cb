// Memory of zeros whose first reader waits in the middle of its work until a test lets it go on.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::direct {

class LateMemory {
 public:
  static constexpr std::size_t kBytes = 4096;

  // `read` is called when somebody reads it, and keeps him waiting until it returns.
  explicit LateMemory(std::function<void()> read) : read_(std::move(read)) {
    uffdio_api wanted{};
    wanted.api = UFFD_API;
    uffdio_register range{};
    range.range = {address(), kBytes};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    EXPECT_EQ(ioctl(fault_.get(), UFFDIO_API, &wanted), 0);
    EXPECT_EQ(ioctl(fault_.get(), UFFDIO_REGISTER, &range), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~LateMemory() {
    thread_.join();
    munmap(bytes_, kBytes);
  }
  LateMemory(const LateMemory&) = delete;
  LateMemory& operator=(const LateMemory&) = delete;

  const void* bytes() const { return bytes_; }

 private:
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(bytes_); }
  void serve() {
    uffd_msg event;
    EXPECT_EQ(read(fault_.get(), &event, sizeof event), static_cast<ssize_t>(sizeof event));
    read_();
    uffdio_zeropage zeros{};
    zeros.range = {address(), kBytes};
    EXPECT_EQ(ioctl(fault_.get(), UFFDIO_ZEROPAGE, &zeros), 0);
  }

  const std::function<void()> read_;
  const FileDescriptor fault_{static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC))};
  void* const bytes_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::thread thread_;
};

}  // namespace openlapi::direct
