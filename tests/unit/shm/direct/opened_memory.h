// An owner's memory as the tests of direct access open it, without userfaultfd: a mapping of its file, and a table that
// leads there. Its neighbours are children of a fork.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "shm/direct/address_table.h"
#include "shm/direct/control_memory.h"
#include "shm/direct/direct_file.h"
#include "shm/direct/gate.h"
#include "shm/direct/neighbour_memory.h"

namespace openlapi::direct {

inline std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

struct OpenedMemory {
  explicit OpenedMemory(std::uint32_t accessors = 2) : control(ControlMemory::create(accessors, error)) {
    EXPECT_TRUE(control.valid() && file.valid()) << error;
  }

  // Fresh memory of the owner in its file, not yet in the table.
  OpenRange map(std::uint64_t length) {
    void* const free = mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const std::uint64_t begin = address_of(free);
    const OpenRange range = {begin, begin + length, file.place(begin, begin + length)};
    void* const memory = mmap(free, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.descriptor(),
                              static_cast<off_t>(range.offset));
    EXPECT_EQ(memory, free);
    return range;
  }
  OpenRange open(std::uint64_t length) {
    const OpenRange range = map(length);
    const auto lock = table.lock();
    EXPECT_TRUE(table.add(range));
    return range;
  }
  void drop(std::uint64_t begin, std::uint64_t end) {
    const auto lock = table.lock();
    table.drop(begin, end, [](std::uint64_t, std::uint64_t) {});
  }

  // What neighbours make of the two descriptors; they may be children of a fork, which do not have ours.
  ControlMemory attached() { return ControlMemory::attach(FileDescriptor(dup(control.descriptor())), error); }
  std::unique_ptr<NeighbourMemory> neighbour(std::uint32_t accessor) {
    ControlMemory theirs = attached();
    const std::uint64_t number = theirs.header().file;
    auto memory = std::make_unique<NeighbourMemory>(std::move(theirs), accessor);
    EXPECT_TRUE(memory->use_file(number, FileDescriptor(dup(file.descriptor())), error)) << error;
    return memory;
  }

  std::string error;
  ControlMemory control;
  DirectFile file = DirectFile::create(error);
  Gate gate{control};
  AddressTable table{control.header()};
};

// A process that runs `body` and ends with what it returns.
class NeighbourProcess {
 public:
  explicit NeighbourProcess(const std::function<int()>& body) : process_(fork()) {
    if (process_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int status = body();
    _exit(testing::Test::HasFailure() ? 99 : status);
  }
  ~NeighbourProcess() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  NeighbourProcess(const NeighbourProcess&) = delete;
  NeighbourProcess& operator=(const NeighbourProcess&) = delete;

  pid_t number() const { return process_; }

  // Until it has stopped itself (SIGSTOP).
  void await_stop() const {
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, WUNTRACED), process_);
    EXPECT_TRUE(WIFSTOPPED(status));
  }
  void go_on() const { EXPECT_EQ(kill(process_, SIGCONT), 0); }

  // Waits for its end: the exit status, or minus the signal.
  int end() {
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t process_;
};

// Memory that the test shares with its neighbours for its own purposes.
template <typename Contents>
Contents& shared_contents() {
  void* const memory = mmap(nullptr, sizeof(Contents), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (memory) Contents{};
}

inline bool add_directly(NeighbourMemory& memory, std::uint64_t address, std::uint64_t summand) {
  return memory.reach(address, sizeof summand, [&](std::byte* bytes) {
    __atomic_fetch_add(reinterpret_cast<std::uint64_t*>(bytes), summand, __ATOMIC_RELAXED);
  });
}

}  // namespace openlapi::direct
