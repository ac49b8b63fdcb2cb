// What runs in a child without descriptors leaves this process as it was, whatever becomes of it.
#include "shm/without_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <stdexcept>

namespace openlapi {
namespace {

using shm::run_without_descriptors;

constexpr unsigned kLong = 3600;  // seconds; nobody waits for so long

// A number that children share.
class SharedNumber {
 public:
  SharedNumber()
      : number_(static_cast<std::atomic<int>*>(
            mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedNumber() { munmap(number_, sizeof *number_); }
  SharedNumber(const SharedNumber&) = delete;
  SharedNumber& operator=(const SharedNumber&) = delete;

  std::atomic<int>& operator*() const { return *number_; }

 private:
  std::atomic<int>* number_;
};

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF; }

TEST(WithoutDescriptors, NoneIsLeftOpenAsHighAsItMayBe) {
  const SharedNumber left;
  *left = -1;
  const int low = dup(STDERR_FILENO), high = fcntl(STDERR_FILENO, F_DUPFD, 500);
  ASSERT_GE(low, 0);
  ASSERT_GE(high, 500);
  run_without_descriptors(kLong, [&] { *left = is_open(STDERR_FILENO) + is_open(low) + is_open(high); });
  EXPECT_EQ(*left, 0);
  EXPECT_TRUE(is_open(high));
  close(low);
  close(high);
}

TEST(WithoutDescriptors, WhatIsThrownDoesNotReachTheCaller) {
  const SharedNumber returned;
  const pid_t self = getpid();
  try {
    run_without_descriptors(kLong, [] { throw std::runtime_error("no memory"); });
  } catch (...) {
    if (getpid() == self) throw;
  }
  ++*returned;
  if (getpid() != self) _exit(1);
  EXPECT_EQ(*returned, 1);
}

// The program ignores and blocks what ends it.
TEST(WithoutDescriptors, WhatHangsIsEnded) {
  sigset_t alarms, before;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarms, &before);
  const auto handler = signal(SIGALRM, SIG_IGN);
  run_without_descriptors(1, [] {
    for (;;) pause();
  });
  signal(SIGALRM, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace openlapi
