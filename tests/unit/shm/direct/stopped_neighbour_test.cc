// A neighbour that is stopped (SIGSTOP, a debugger) in the middle of an operation: its owner goes on, and nothing of
// the owner's is changed that the operation may not change any more.
#include <fcntl.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "dataplane/base/monotonic_clock.h"
#include "tests/unit/shm/direct/direct_transport.h"

namespace openlapi::direct {
namespace {

using StoppedNeighbour = DirectTransport;

// What it stores when it goes on comes to nothing.
TEST_F(StoppedNeighbour, IsNotWaitedForByAPurge) {
  run(
      [&](ShmTransport& transport, DirectMemory& memory) {
        std::uint64_t* const words = open_words(memory);
        words[0] = 5;
        owner_comes_to(1);
        await_stop();
        transport.purge_peer(kNeighbour);
        let_go_on();
        await_neighbour(1);
        EXPECT_EQ(load(words), 5u);
        transport.resume_peer(kNeighbour);
        for (unsigned time = 0; time < kOften; ++time) ask(memory);
        owner_comes_to(2);
        await_neighbour(2);
        EXPECT_EQ(load(words), 7u);
      },
      [&](ShmTransport& transport, DirectMemory& memory) {
        await_owner(1);
        put_and_stop(memory);
        EXPECT_FALSE(put(memory, 6));
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_TRUE(transport.peer_began_anew(kOwner));
        EXPECT_TRUE(put(memory, 7));
        neighbour_comes_to(2);
      });
}

TEST_F(StoppedNeighbour, IsNotWaitedForByWhoWatchesACounter) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        open_words(memory);
        owner_comes_to(1);
        await_stop();
        memory.leave_counters_to_peers(false);
        let_go_on();
        await_neighbour(1);
        EXPECT_EQ(counter(), 0);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        put_and_stop(memory);
        EXPECT_FALSE(put(memory, 5, known_.counter));
        neighbour_comes_to(1);
      });
}

// A neighbour of the process that has made it: stops until there is something to add to, and adds one to the word.
// `in_the_middle` is called when it is inside.
int add_slowly(int control_number, std::uint32_t accessor, const std::uint64_t* word,
               const std::function<void(const ControlHeader&)>& in_the_middle) {
  raise(SIGSTOP);
  const auto descriptor = [](int number) {
    const std::string path = "/proc/" + std::to_string(getppid()) + "/fd/" + std::to_string(number);
    return FileDescriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
  };
  std::string error;
  ControlMemory control = ControlMemory::attach(descriptor(control_number), error);
  if (!control.valid()) return 1;
  const std::uint64_t number = control.header().file;
  const int file = control.header().file_descriptor;
  NeighbourMemory memory(std::move(control), accessor);
  if (!memory.use_file(number, descriptor(file), error)) return 2;
  const bool added = memory.reach(address_of(word), sizeof *word, [&](std::byte* bytes) {
    in_the_middle(memory.control().header());
    increment(reinterpret_cast<std::uint64_t*>(bytes));
  });
  return added ? 0 : 3;
}
void stop_there(const ControlHeader&) { raise(SIGSTOP); }

// Until somebody waits for those inside, and would have lost patience twice.
void outlast_patience(const ControlHeader& header) {
  while (!is_closed(header.generation)) sched_yield();
  const Nanoseconds end = system_monotonic_time() + 4 * Gate::kPatience;
  while (system_monotonic_time() < end) sched_yield();
}

// What it stores when it goes on comes to nothing, even in pages that the owner has not touched since.
TEST(StoppedAccessor, IsNotWaitedForByTheEnd) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = map_words(kChunkBytes);
    const int control = process.memory->control().descriptor();
    NeighbourProcess neighbour([&] { return add_slowly(control, 0, words, stop_there); });
    *words = 5;
    ASSERT_EQ(process.promote(words), Refusal::kNone);
    neighbour.await_stop();
    neighbour.go_on();
    neighbour.await_stop();
    process.memory.reset();
    EXPECT_FALSE(is_shared(words));
    EXPECT_EQ(load(words), 5u);
    neighbour.go_on();
    EXPECT_EQ(neighbour.end(), 0);
    EXPECT_EQ(load(words), 5u);
  });
}

// What it puts is neither lost nor missing in the child.
TEST(StoppedAccessor, IsWaitedForByAFork) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = map_words(kChunkBytes);
    const int control = process.memory->control().descriptor();
    NeighbourProcess neighbour([&] { return add_slowly(control, 0, words, stop_there); });
    ASSERT_EQ(process.promote(words), Refusal::kNone);
    neighbour.await_stop();
    neighbour.go_on();
    neighbour.await_stop();
    std::thread other([&] {
      outlast_patience(process.memory->control().header());
      neighbour.go_on();
    });
    NeighbourProcess child([&] { return load(words) == 1 ? 0 : 1; });
    EXPECT_EQ(load(words), 1u);
    EXPECT_FALSE(is_shared(words));
    other.join();
    EXPECT_EQ(child.end(), 0);
    EXPECT_EQ(neighbour.end(), 0);
  });
}

// Nothing of a third task's is lost that was merely not scheduled.
TEST(StoppedAccessor, WhosePurgeWaitsForAllOthers) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = map_words(kChunkBytes);
    const int control = process.memory->control().descriptor();
    auto& inside = shared_contents<std::atomic<bool>>();
    NeighbourProcess purged([&] { return add_slowly(control, 0, &words[0], stop_there); });
    NeighbourProcess slow([&] {
      return add_slowly(control, 1, &words[1], [&](const ControlHeader& header) {
        inside = true;
        outlast_patience(header);
      });
    });
    ASSERT_EQ(process.promote(words), Refusal::kNone);
    for (const NeighbourProcess* neighbour : {&purged, &slow}) {
      neighbour->await_stop();
      neighbour->go_on();
    }
    purged.await_stop();
    while (!inside) sched_yield();
    process.memory->end_visits(0);
    EXPECT_EQ(load(&words[1]), 1u);
    EXPECT_FALSE(is_shared(words));
    EXPECT_EQ(slow.end(), 0);
    purged.go_on();
    EXPECT_EQ(purged.end(), 0);
    EXPECT_EQ(load(&words[0]), 0u);
    EXPECT_EQ(load(&words[1]), 1u);
  });
}

}  // namespace
}  // namespace openlapi::direct
