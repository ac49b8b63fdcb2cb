// What is read of a task's memory is that task's.
#include <gtest/gtest.h>
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <new>
#include <numeric>

#include "tests/support/transport_tasks.h"
#include "tests/unit/shm/setup_processes.h"

namespace openlapi {
namespace {

std::array<std::uint64_t, 4096> words;  // at the same address in all processes

std::unique_ptr<ShmTransport> open_task(std::uint64_t cookie, PeerIndex self) {
  ShmSetupError error;
  return open_shm_transport(test::config_of(cookie, self, 2), error);
}

std::string program_of(pid_t process) {
  char name[PATH_MAX] = {};
  const std::string link = "/proc/" + std::to_string(process) + "/exe";
  return readlink(link.c_str(), name, sizeof name - 1) > 0 ? std::string(name) : std::string();
}

// Of the first page that can be read there; 0: none yet.
std::uint64_t readable_page(pid_t process) {
  std::FILE* const list = std::fopen(("/proc/" + std::to_string(process) + "/maps").c_str(), "r");
  unsigned long begin = 0;
  const bool found = list != nullptr && std::fscanf(list, "%lx-", &begin) == 1;
  if (list != nullptr) std::fclose(list);
  std::byte there{};
  const iovec here{&there, 1}, where{reinterpret_cast<void*>(begin), 1};
  return found && process_vm_readv(process, &here, 1, &where, 1, 0) == 1 ? begin : 0;
}

TEST(ShmRemoteMemory, BringsNothingOfAProgramThatHasTakenItsOwnersPlace) {
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& go_on = *new (shared) std::atomic<bool>{false};
  const std::uint64_t cookie = test::fresh_cookie();
  test::Children children;
  children.start([&] {
    words.fill(7);
    const auto task = open_task(cookie, 1);
    while (!go_on) sched_yield();
    execlp("sleep", "sleep", "1000", nullptr);
    return 1;
  });
  const auto task = open_task(cookie, 0);
  ASSERT_NE(task, nullptr);
  std::string reason;
  ASSERT_TRUE(task->add_peer(1, task->address_of(1), reason)) << reason;
  RemoteMemory& memory = *task->capabilities().remote_memory;
  ASSERT_TRUE(memory.reachable(1));
  const MemoryRange theirs{reinterpret_cast<std::uintptr_t>(words.data()), sizeof words};
  const MemoryRange ours = theirs;
  ASSERT_TRUE(memory.read(1, theirs.address, words.data(), sizeof words));
  EXPECT_EQ(std::accumulate(words.begin(), words.end(), std::uint64_t{0}), 7 * words.size());
  words.fill(0);
  ASSERT_TRUE(memory.read_ranges(1, {&theirs, 1}, {&ours, 1}));
  EXPECT_EQ(std::accumulate(words.begin(), words.end(), std::uint64_t{0}), 7 * words.size());
  const std::string before = program_of(children[0]);
  go_on = true;
  while (program_of(children[0]) == before) sched_yield();
  MemoryRange page{0, 64}, here{theirs.address, 64};
  while ((page.address = readable_page(children[0])) == 0) sched_yield();
  EXPECT_FALSE(memory.read_ranges(1, {&page, 1}, {&here, 1}));
  EXPECT_FALSE(memory.read(1, page.address, words.data(), 64));
  EXPECT_FALSE(memory.reachable(1)) << "nobody tries again";
  munmap(shared, 4096);
}

}  // namespace
}  // namespace openlapi
