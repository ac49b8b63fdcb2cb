// An adapter that every machine has: io_uring pins the pages of a buffer, counts them as those of adapters are counted,
// and reads and writes the pages, whatever is mapped at their addresses meanwhile.
#pragma once

#include <gtest/gtest.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::test {

class PinningAdapter {
 public:
  // Pins these whole pages. Not pinned: `error()` says why.
  PinningAdapter(std::uint64_t begin, std::uint64_t end) {
    io_uring_params parameters{};
    ring_ = FileDescriptor(static_cast<int>(syscall(SYS_io_uring_setup, 2, &parameters)));
    if (!ring_.is_open()) {
      fail();
      return;
    }
    const auto map = [&](std::size_t bytes, off_t what) {
      return static_cast<char*>(
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_.get(), what));
    };
    ring_bytes_ = std::max(parameters.sq_off.array + parameters.sq_entries * sizeof(std::uint32_t),
                           parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe));
    entries_bytes_ = parameters.sq_entries * sizeof(io_uring_sqe);
    queues_ = map(ring_bytes_, IORING_OFF_SQ_RING);
    entries_ = reinterpret_cast<io_uring_sqe*>(map(entries_bytes_, IORING_OFF_SQES));
    places_ = parameters;
    const iovec buffer{pointer(begin), static_cast<std::size_t>(end - begin)};
    pinned_ = syscall(SYS_io_uring_register, ring_.get(), IORING_REGISTER_BUFFERS, &buffer, 1) == 0;
    if (!pinned_) fail();
  }
  ~PinningAdapter() {
    if (pinned_) syscall(SYS_io_uring_register, ring_.get(), IORING_UNREGISTER_BUFFERS, nullptr, 0);
    if (queues_ == nullptr) return;
    munmap(entries_, entries_bytes_);
    munmap(queues_, ring_bytes_);
  }
  PinningAdapter(const PinningAdapter&) = delete;
  PinningAdapter& operator=(const PinningAdapter&) = delete;

  bool pinned() const { return pinned_; }
  int error() const { return error_; }

  // Into the pinned pages, and out of them. `at`: an address within.
  bool write(std::uint64_t at, const void* data, std::size_t length) {
    return pwrite(file_.get(), data, length, 0) == static_cast<ssize_t>(length) &&
           transfer(IORING_OP_READ_FIXED, at, length);
  }
  bool read(std::uint64_t at, void* data, std::size_t length) {
    return transfer(IORING_OP_WRITE_FIXED, at, length) &&
           pread(file_.get(), data, length, 0) == static_cast<ssize_t>(length);
  }

 private:
  static void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }
  std::atomic_ref<std::uint32_t> word(std::uint32_t offset) const {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(queues_ + offset));
  }
  void fail() { error_ = errno; }

  bool transfer(std::uint8_t operation, std::uint64_t at, std::size_t length) {
    io_uring_sqe& entry = entries_[0];
    std::memset(&entry, 0, sizeof entry);
    entry.opcode = operation;
    entry.fd = file_.get();
    entry.addr = at;
    entry.len = static_cast<std::uint32_t>(length);
    const std::uint32_t tail = word(places_.sq_off.tail);
    const std::uint32_t mask = word(places_.sq_off.ring_mask);
    word(places_.sq_off.array + (tail & mask) * static_cast<std::uint32_t>(sizeof(std::uint32_t))) = 0;
    word(places_.sq_off.tail) = tail + 1;
    const std::uint32_t head = word(places_.cq_off.head);
    if (syscall(SYS_io_uring_enter, ring_.get(), 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) != 1) return false;
    while (word(places_.cq_off.tail) == head) {
      syscall(SYS_io_uring_enter, ring_.get(), 0, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
    }
    const auto* const done = reinterpret_cast<const io_uring_cqe*>(queues_ + places_.cq_off.cqes);
    const std::int32_t result = done[head & word(places_.cq_off.ring_mask)].res;
    word(places_.cq_off.head) = head + 1;
    return result == static_cast<std::int32_t>(length);
  }

  const FileDescriptor file_{memfd_create("adapter", MFD_CLOEXEC)};
  FileDescriptor ring_;
  io_uring_params places_{};
  std::size_t ring_bytes_ = 0, entries_bytes_ = 0;
  char* queues_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
  bool pinned_ = false;
  int error_ = 0;
};

// Empty: this machine has it.
inline std::string why_no_pinning_adapter() {
  alignas(4096) static char page[4096];
  const auto begin = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(page));
  const PinningAdapter trial(begin, begin + sizeof page);
  return trial.pinned() ? "" : std::string("io_uring pins nothing here: ") + std::strerror(trial.error());
}

}  // namespace openlapi::test
