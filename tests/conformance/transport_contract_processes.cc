// Cases with one task per process.
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <random>

#include "tests/conformance/transport_contract.h"

namespace openlapi::test {
namespace {

constexpr uid_t kOrdinaryUser = 65534;

// Afterwards the process is as one that an ordinary user started: changing the user forbids reading its memory.
void become_ordinary_user() {
  if (geteuid() != 0) return;
  ASSERT_EQ(setgroups(0, nullptr), 0);
  ASSERT_EQ(setresgid(kOrdinaryUser, kOrdinaryUser, kOrdinaryUser), 0);
  ASSERT_EQ(setresuid(kOrdinaryUser, kOrdinaryUser, kOrdinaryUser), 0);
  prctl(PR_SET_DUMPABLE, 1);
}

// Receives what `senders` tasks send, `each` packets per task; checks order when it is promised.
void receive_from_many(Task& task, std::uint32_t senders, std::uint32_t each) {
  std::vector<std::uint32_t> next(task.count, 0);
  std::uint64_t left = std::uint64_t{senders} * each;
  const bool reliable = task.transport.limits().reliable;
  IncomingPacket packets[16];
  while (left != 0) {
    std::size_t count = 0;
    // An unreliable transport may have lost the rest: then a pause ends the test.
    if (!wait_for([&] { return (count = task.transport.receive_burst(packets)) != 0; }, reliable ? 60 : 2)) break;
    for (std::size_t i = 0; i < count; ++i) {
      const PeerIndex source = packet_source(packets[i]);
      ASSERT_LT(source, task.count);
      const std::uint32_t number = check_packet(packets[i], source);
      if (reliable) {
        ASSERT_EQ(number, next[source]++) << "from task " << source;
      }
      --left;
    }
    task.transport.release(count);
  }
  if (reliable) {
    EXPECT_EQ(left, 0u);
  } else {
    EXPECT_LT(left, std::uint64_t{senders} * each) << "nothing arrived";
  }
}

void send_many(Task& task, PeerIndex peer, std::uint32_t count) {
  std::mt19937 random(task.self);
  const std::uint32_t longest = task.transport.limits().max_packet;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t length = random() % 16 == 0 ? 8 + random() % (longest - 7) : 8 + random() % 120;
    ASSERT_TRUE(send_one(task.transport, peer, make_packet(task.self, i, length)));
  }
}

TEST_P(TransportContract, OrderAndBytesHoldBetweenProcesses) {
  const std::uint32_t packets = 100'000 / GetParam().slowness;
  TaskProcesses tasks(GetParam(), 2, [packets](Task& task) {
    task.self == 0 ? send_many(task, 1, packets) : receive_from_many(task, 1, packets);
    task.meet();
  });
}

TEST_P(TransportContract, BothWaysAsAnOrdinaryUser) {
  const std::uint32_t laps = 20'000 / GetParam().slowness;
  TaskProcesses tasks(
      GetParam(), 2,
      [laps](Task& task) {
        for (std::uint32_t lap = 0; lap < laps; ++lap) {
          if (task.self == 0) {
            ASSERT_TRUE(send_one(task.transport, 1, make_packet(0, lap, 48)));
          }
          IncomingPacket received;
          ASSERT_TRUE(receive_one(task.transport, received));
          ASSERT_EQ(check_packet(received, 1 - task.self), lap);
          task.transport.release(1);
          if (task.self == 1) {
            ASSERT_TRUE(send_one(task.transport, 0, make_packet(1, lap, 48)));
          }
        }
        task.meet();
      },
      become_ordinary_user);
}

TEST_P(TransportContract, ManySendersToOneReceiver) {
  const std::uint32_t each = 10'000 / GetParam().slowness;
  TaskProcesses tasks(GetParam(), 6, [each](Task& task) {
    task.self == 3 ? receive_from_many(task, 5, each) : send_many(task, 3, each);
    task.meet();
  });
}

std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void wait_until(std::uint64_t moment) {
  while (nanoseconds() < moment) {
  }
}

// Sleeps until a packet is here; false when nobody woke us. Looks only after it tried to sleep.
bool sleep_for_packet(Transport& transport, IncomingPacket& packet) {
  WakeSource& wake = *transport.capabilities().wake_source;
  do {
    if (!wake.arm()) continue;
    pollfd waiting{wake.descriptor(), POLLIN, 0};
    const int ready = poll(&waiting, 1, 10'000);
    wake.disarm();
    if (ready == 0) return false;
  } while (transport.receive_burst({&packet, 1}) == 0);
  return true;
}

// What has been taken wakes nobody any more: a source that has nothing may wake its owner again or want looks for a
// while (a verbs connection that retires, two seconds), but not for ever.
bool sleeps_undisturbed(Transport& transport) {
  WakeSource& wake = *transport.capabilities().wake_source;
  return wait_for([&] {
    IncomingPacket packet;
    EXPECT_EQ(transport.receive_burst({&packet, 1}), 0u);
    if (!wake.arm()) return false;
    pollfd waiting{wake.descriptor(), POLLIN, 0};
    const bool woken = poll(&waiting, 1, 1) != 0;
    wake.disarm();
    return !woken;
  });
}

// The receiver sets a moment at which it arms; the sender sends within nanoseconds of it. A lost wake-up ends in
// poll()'s time-out.
// Where other work keeps both tasks on one core each lap takes a time slice: some are enough then.
TEST_P(TransportContract, NoWakeUpIsLost) {
  constexpr std::uint64_t kOver = UINT64_MAX, kLongest = 4'000'000'000;
  const std::uint32_t most = 30'000 / GetParam().slowness, least = most / 10;
  TaskProcesses tasks(GetParam(), 2, [=](Task& task) {
    ASSERT_NE(task.transport.capabilities().wake_source, nullptr);
    std::mt19937 random(7);
    std::atomic<std::uint64_t>& moment = task.board.words[0];
    std::atomic<std::uint64_t>& lap_open = task.board.words[1];
    const std::uint64_t end = nanoseconds() + kLongest;
    for (std::uint32_t lap = 0;; ++lap) {
      if (task.self == 0) {
        ASSERT_TRUE(wait_for([&] { return lap_open.load() > lap; }));
        if (lap_open.load() == kOver) break;
        wait_until(moment.load() + random() % 200);
        ASSERT_TRUE(send_one(task.transport, 1, make_packet(0, lap, 48)));
      } else {
        const std::uint64_t start = nanoseconds() + 2000;
        const bool over = lap == most || (lap >= least && start > end);
        moment.store(start);
        lap_open.store(over ? kOver : lap + 1);
        if (over) break;
        wait_until(start + 100);
        IncomingPacket packet;
        ASSERT_TRUE(sleep_for_packet(task.transport, packet)) << "lap " << lap;
        ASSERT_EQ(check_packet(packet, 0), lap);
        task.transport.release(1);
      }
    }
    task.meet();
    if (task.self == 1) {
      EXPECT_TRUE(sleeps_undisturbed(task.transport));
    }
    task.meet();
  });
}

bool is_gone(Transport& transport, PeerIndex peer) {
  PeerLiveness* const liveness = transport.capabilities().peer_liveness;
  return liveness != nullptr && liveness->peer_gone(peer);
}

// To one that is killed: taken, or refused for a reason that can be asked for.
bool is_taken_or_gone(Transport& transport, PeerIndex peer, const std::vector<std::byte>& bytes) {
  const ConstBuffer piece{bytes.data(), bytes.size()};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes.size())};
  return wait_for([&] { return transport.send_burst(peer, {&packet, 1}) == 1 || is_gone(transport, peer); });
}

TEST_P(TransportContract, AKilledPeerIsNoticedAndHangsNobody) {
  const bool tells_death = GetParam().tells_death;
  TaskProcesses tasks(GetParam(), 3, [tells_death](Task& task) {
    if (task.self == 2) {  // receives nothing, waits for the end
      task.board.words[0].fetch_add(1);
      for (;;) pause();
    }
    EXPECT_FALSE(is_gone(task.transport, 2));
    task.board.words[0].fetch_add(1);
    ASSERT_TRUE(wait_for([&] { return task.board.words[1].load() != 0; }));
    if (tells_death) {
      EXPECT_TRUE(wait_for([&] { return is_gone(task.transport, 2); }, 10));
    }
    EXPECT_FALSE(is_gone(task.transport, 1 - task.self));
    for (std::uint32_t i = 0; i < 1000; ++i) {
      ASSERT_TRUE(is_taken_or_gone(task.transport, 2, make_packet(task.self, i, 200)));
    }
    // The living still talk. A packet may be lost where the other's end is not up yet, so it is repeated; and nobody
    // closes while the other still looks.
    std::size_t heard = 0;
    ASSERT_TRUE(wait_for([&] {
      EXPECT_TRUE(send_one(task.transport, 1 - task.self, make_packet(task.self, 5, 64)));
      IncomingPacket packet;
      while (task.transport.receive_burst({&packet, 1}) == 1) {
        EXPECT_EQ(check_packet(packet, 1 - task.self), 5u);
        task.transport.release(1);
        if (heard++ == 0) task.board.arrived.fetch_add(1);
      }
      return task.board.arrived.load() >= 2 * 3 + 2;
    }));
  });
  ASSERT_TRUE(wait_for([&] { return tasks.board().words[0].load() == 3; }));
  tasks.kill_task(2);
  tasks.board().words[1].store(1);
}

TEST_P(TransportContract, SendingToAKilledPeerIsTakenOrTellsThatItIsGone) {
  TaskProcesses tasks(GetParam(), 2, [](Task& task) {
    if (task.self == 1) {
      task.board.words[0].store(1);
      for (;;) pause();
    }
    ASSERT_TRUE(wait_for([&] { return task.board.words[1].load() != 0; }));
    for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_TRUE(is_taken_or_gone(task.transport, 1, make_packet(0, i, 200)));
  });
  ASSERT_TRUE(wait_for([&] { return tasks.board().words[0].load() != 0; }));
  tasks.kill_task(1);
  tasks.board().words[1].store(1);
}

void read_peer_memory(Task& task) {
  RemoteMemory* memory = task.transport.capabilities().remote_memory;
  if (memory == nullptr) return;
  constexpr std::size_t kLength = (5u << 20) + 3;
  const std::vector<std::byte> mine = make_packet(task.self, 9, kLength);
  task.board.words[task.self].store(reinterpret_cast<std::uintptr_t>(mine.data()));
  task.meet();
  const PeerIndex peer = 1 - task.self;
  EXPECT_TRUE(memory->reachable(peer));
  std::vector<std::byte> copy(kLength);
  EXPECT_TRUE(memory->read(peer, task.board.words[peer].load(), copy.data(), kLength));
  EXPECT_TRUE(copy == make_packet(peer, 9, kLength));
  EXPECT_TRUE(memory->read(peer, task.board.words[peer].load(), copy.data(), 0));
  EXPECT_FALSE(memory->read(peer, 8, copy.data(), 16)) << "nothing is mapped there";
  const MemoryRange nowhere{8, 16}, here{reinterpret_cast<std::uintptr_t>(copy.data()), 16};
  EXPECT_FALSE(memory->read_ranges(peer, {&nowhere, 1}, {&here, 1}));
  EXPECT_TRUE(memory->reachable(peer)) << "the rest of its memory can be read";
  EXPECT_TRUE(memory->read(peer, task.board.words[peer].load(), copy.data(), kLength));
  EXPECT_FALSE(memory->reachable(77)) << "not a peer";
  task.meet();
}

TEST_P(TransportContract, ReadsAPeersMemory) { TaskProcesses tasks(GetParam(), 2, read_peer_memory); }

TEST_P(TransportContract, ReadsAPeersMemoryAsAnOrdinaryUser) {
  TaskProcesses tasks(GetParam(), 2, read_peer_memory, become_ordinary_user);
}

// Its owner closes it when it has been read once.
TEST_P(TransportContract, NoticesThatAPeersMemoryWasClosed) {
  TaskProcesses tasks(
      GetParam(), 2,
      [](Task& task) {
        RemoteMemory* memory = task.transport.capabilities().remote_memory;
        if (memory == nullptr) return;
        const std::uint64_t word = 7;
        std::uint64_t copy = 0;
        task.board.words[task.self].store(reinterpret_cast<std::uintptr_t>(&word));
        task.meet();
        const std::uint64_t there = task.board.words[1 - task.self].load();
        EXPECT_TRUE(memory->read(1 - task.self, there, &copy, sizeof copy));
        task.meet();
        ASSERT_EQ(prctl(PR_SET_DUMPABLE, 0), 0);
        task.meet();
        const MemoryRange remote{there, sizeof copy}, local{reinterpret_cast<std::uintptr_t>(&copy), sizeof copy};
        const bool ranges = task.self == 0;
        EXPECT_FALSE(ranges ? memory->read_ranges(1, {&remote, 1}, {&local, 1})
                            : memory->read(0, there, &copy, sizeof copy));
        EXPECT_FALSE(memory->reachable(1 - task.self)) << "and never will be again";
        task.meet();
      },
      become_ordinary_user);
}

TEST_P(TransportContract, AdmitsThatAPeersMemoryIsClosed) {
  TaskProcesses tasks(
      GetParam(), 2,
      [](Task& task) {
        RemoteMemory* memory = task.transport.capabilities().remote_memory;
        if (memory == nullptr) return;
        std::uint64_t word = 0;
        EXPECT_FALSE(memory->reachable(1 - task.self));
        EXPECT_FALSE(memory->read(1 - task.self, reinterpret_cast<std::uintptr_t>(&word), &word, sizeof word));
        task.meet();
      },
      [] {
        become_ordinary_user();
        ASSERT_EQ(prctl(PR_SET_DUMPABLE, 0), 0);
      });
}

}  // namespace
}  // namespace openlapi::test
