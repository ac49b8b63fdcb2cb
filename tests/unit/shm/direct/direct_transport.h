// Two processes that share memory with direct access: the owner of some words, and a neighbour that reaches them.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include "shm/shm_transport.h"
#include "tests/support/transport_tasks.h"
#include "tests/unit/shm/direct/late_memory.h"
#include "tests/unit/shm/direct/opened_process.h"

namespace openlapi::direct {

inline constexpr PeerIndex kOwner = 0, kNeighbour = 1;
inline constexpr unsigned kOften = 32;

// What both know. Steps: each side waits for those of the other one.
struct Known {
  std::atomic<int> owner_step = 0, neighbour_step = 0;
  std::atomic<std::uint64_t> words = 0, counter = 0;
};

class DirectTransport : public testing::Test {
 protected:
  using Part = std::function<void(ShmTransport&, DirectMemory&)>;

  // Runs both parts, each in a process of its own.
  void run(const Part& owner, const Part& neighbour, DirectUse use = DirectUse::kAll) {
    in_a_process(Beside::kThreads, [&] {
      const std::uint64_t cookie = test::fresh_cookie();
      NeighbourProcess other([&] {
        run_task(cookie, kNeighbour, DirectUse::kAll, neighbour);
        return 0;
      });
      other_ = &other;
      run_task(cookie, kOwner, use, owner);
      EXPECT_EQ(other.end(), 0);
    });
  }

  void owner_comes_to(int step) { known_.owner_step = step; }
  void neighbour_comes_to(int step) { known_.neighbour_step = step; }
  void await_owner(int step) const {
    while (known_.owner_step < step) sched_yield();
  }
  void await_neighbour(int step) const {
    while (known_.neighbour_step < step) sched_yield();
  }

  // In the owner: two chunks, for words and a counter, which the neighbour has asked for often.
  std::uint64_t* open_words(DirectMemory& memory, unsigned asked = kOften) {
    std::uint64_t* const words = map_words(2 * kChunkBytes);
    known_.words = address_of(words);
    known_.counter = address_of(words) + kChunkBytes;
    for (unsigned time = 0; time < asked; ++time) ask(memory);
    return words;
  }
  void ask(DirectMemory& memory) {
    memory.asked_for(known_.words);
    memory.asked_for(known_.counter);
  }
  int counter() const { return *reinterpret_cast<const int*>(static_cast<std::uintptr_t>(known_.counter)); }

  bool put(DirectMemory& memory, std::uint64_t value, std::uint64_t counter = 0) {
    return memory.put(kOwner, known_.words, &value, sizeof value, counter);
  }

  // In the neighbour: a put that stops in its middle, until the owner has it go on.
  void put_and_stop(DirectMemory& memory) {
    const LateMemory zeros([] { raise(SIGSTOP); });
    EXPECT_TRUE(memory.put(kOwner, known_.words, zeros.bytes(), LateMemory::kBytes, 0));
  }
  // In the owner, which is the neighbour's parent.
  void await_stop() const { other_->await_stop(); }
  void let_go_on() const { other_->go_on(); }

  Known& known_ = shared_contents<Known>();

 private:
  const NeighbourProcess* other_ = nullptr;  // in the owner

  static void run_task(std::uint64_t cookie, PeerIndex self, DirectUse use, const Part& part) {
    ShmSetupError error;
    const auto transport =
        open_shm_transport({.cookie = cookie, .self = self, .local_tasks = {kOwner, kNeighbour}, .direct = use}, error);
    ASSERT_NE(transport, nullptr) << error.reason;
    std::string reason;
    ASSERT_TRUE(transport->add_peer(1 - self, transport->address_of(1 - self), reason)) << reason;
    DirectMemory* const memory = transport->capabilities().direct_memory;
    ASSERT_NE(memory, nullptr) << transport->direct_reach().no_promotion;
    part(*transport, *memory);
  }
};

}  // namespace openlapi::direct
