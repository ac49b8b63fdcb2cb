#include "nic/verbs/short_reads.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/verbs/fake_read_network.h"

namespace openlapi::verbs {
namespace {

// One task's transport, as far as short reads see it.
struct FakeTask final : FakePort {
  explicit FakeTask(PeerIndex number) : FakePort(number) {}
  void open(const ShortReadLimits& limits = {}) {
    reads = ShortReads::make(device_context.context, domains, channel, {}, *this, limits);
    ASSERT_NE(reads, nullptr);
  }

  std::unique_ptr<ShortReads> reads;
};

// Task 0 reads; all others are read.
class ShortReadsTest : public testing::Test {
 protected:
  ShortReadsTest() {
    network = &network_;
    for (PeerIndex number = 0; number < 4; ++number) tasks_.push_back(std::make_unique<FakeTask>(number));
  }
  ~ShortReadsTest() override {
    tasks_.clear();
    EXPECT_TRUE(network_.ends.empty());
    EXPECT_EQ(network_.regions, 0);
  }

  void open(const ShortReadLimits& limits = {}) {
    for (const auto& task : tasks_) task->open(limits);
  }
  ShortReads& origin() { return *tasks_[0]->reads; }
  ShortReads& target(PeerIndex task = 1) { return *tasks_[task]->reads; }

  // What was said so far arrives. Returns how many messages.
  std::size_t deliver() {
    std::size_t count = 0;
    for (bool any = true; any;) {
      any = false;
      for (PeerIndex from = 0; from < tasks_.size(); ++from) {
        for (const FakeTask::Said& said : std::exchange(tasks_[from]->said, {})) {
          tasks_[said.peer]->reads->message_arrived(from, said.message);
          any = true;
          ++count;
        }
      }
    }
    return count;
  }

  bool begin(PeerIndex peer = 1, std::uint32_t token = 7) {
    return origin().begin_get(peer, reinterpret_cast<std::uintptr_t>(&word_), sizeof word_, token);
  }
  // How many gets take messages before the peer is asked. 0: it is connected.
  unsigned gets_before_asking(PeerIndex peer = 1) {
    for (unsigned count = 1; count <= 5000; ++count) {
      EXPECT_FALSE(begin(peer));
      if (!tasks_[0]->said.empty()) return count;
    }
    return UINT32_MAX;
  }
  void connect(PeerIndex peer = 1) {
    ASSERT_NE(gets_before_asking(peer), UINT32_MAX);
    ASSERT_EQ(deliver(), 2u);
    ASSERT_NE(origin().queue_pair_to(peer), nullptr);
  }
  // Nothing of it is read.
  void expect_lost(const std::vector<std::uint32_t>& tokens) {
    OneSidedMemory::Ending ending{};
    std::vector<std::uint32_t> lost;
    while (origin().take_ending(ending)) {
      EXPECT_EQ(ending.data, nullptr);
      lost.push_back(ending.token);
    }
    EXPECT_EQ(lost, tokens);
  }
  void expect_read(std::uint32_t token) {
    OneSidedMemory::Ending ending{};
    ASSERT_TRUE(origin().take_ending(ending));
    EXPECT_EQ(ending.token, token);
    ASSERT_NE(ending.data, nullptr);
    EXPECT_EQ(std::memcmp(ending.data, &word_, sizeof word_), 0);
  }

  FakeNetwork network_;
  std::vector<std::unique_ptr<FakeTask>> tasks_;
  std::uint64_t word_ = 0x0123456789abcdef;
};

TEST_F(ShortReadsTest, APeerIsAskedAfterSomeGetsAndReadThen) {
  open();
  EXPECT_TRUE(network_.whole_memories.empty()) << "its key opens all memory";
  EXPECT_EQ(gets_before_asking(), 32u);
  EXPECT_FALSE(begin());
  EXPECT_EQ(deliver(), 2u);
  ASSERT_EQ(network_.whole_memories.size(), 1u) << "of the one that is read";
  EXPECT_EQ(network_.whole_memories.begin()->second, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_READ);
  OneSidedMemory::Ending ending{};
  EXPECT_FALSE(origin().take_ending(ending));
  for (std::uint32_t token = 1; token <= 40; ++token) {
    ASSERT_TRUE(begin(1, token));
    EXPECT_FALSE(origin().take_ending(ending)) << "it is under way";
    word_ += token;
    network_.serve();
    expect_read(token);
    EXPECT_FALSE(origin().take_ending(ending));
  }
  EXPECT_EQ(origin().counters().reads_done, 40u);
  EXPECT_EQ(origin().counters().connections_made, 1u);
  EXPECT_EQ(target().served().count(), 1u);
  EXPECT_FALSE(begin(2)) << "another peer";
}

TEST_F(ShortReadsTest, SoManyAreUnderWayAndEachHasItsPlace) {
  open();
  connect();
  std::array<std::uint64_t, 256 / 8> longest{};
  longest.fill(5);
  for (int lap = 0; lap < 3; ++lap) {
    for (std::uint32_t token = 0; token < ShortReads::kAtATime; ++token) {
      longest.back() = token;
      ASSERT_TRUE(origin().begin_get(1, reinterpret_cast<std::uintptr_t>(longest.data()), sizeof longest, token));
      network_.serve();
    }
    EXPECT_FALSE(begin()) << "the next takes a message";
    for (std::uint32_t token = 0; token < ShortReads::kAtATime; ++token) {
      OneSidedMemory::Ending ending{};
      ASSERT_TRUE(origin().take_ending(ending));
      EXPECT_EQ(ending.token, token);
      longest.back() = token;
      EXPECT_EQ(std::memcmp(ending.data, longest.data(), sizeof longest), 0);
    }
    ASSERT_TRUE(begin(1, 99));
    network_.serve();
    expect_read(99);
  }
}

TEST_F(ShortReadsTest, AfterAnErrorNothingIsReadAndThePeerRestsTwiceAsLongEachTime) {
  open();
  connect();
  for (const unsigned rest : {1024u, 2048u, 4096u}) {
    for (std::uint32_t token = 1; token <= 3; ++token) ASSERT_TRUE(begin(1, token));
    network_.fail(IBV_WC_REM_ACCESS_ERR);
    expect_lost({1, 2, 3});
    EXPECT_EQ(origin().queue_pair_to(1), nullptr);
    EXPECT_EQ(gets_before_asking(), rest);
    deliver();
  }
  EXPECT_EQ(origin().counters().connections_broken, 3u);
  EXPECT_EQ(origin().counters().reads_failed, 9u);
  EXPECT_EQ(target().served().count(), 1u) << "the new end replaces the old one";
  ASSERT_TRUE(begin(1, 4));
  network_.serve();
  expect_read(4);
  ASSERT_TRUE(begin(1, 5));
  network_.fail(IBV_WC_RETRY_EXC_ERR);
  expect_lost({5});
  EXPECT_EQ(gets_before_asking(), 1024u) << "one has gone well meanwhile";
}

TEST_F(ShortReadsTest, WhatOneHadReadBeforeItsErrorCounts) {
  open();
  connect();
  for (std::uint32_t token = 1; token <= 4; ++token) ASSERT_TRUE(begin(1, token));
  network_.serve();
  network_.serve();
  network_.fail(IBV_WC_REM_ACCESS_ERR);
  expect_read(1);
  expect_read(2);
  expect_lost({3, 4});
}

// A provider may leave completions of queue pairs that are gone.
TEST_F(ShortReadsTest, CompletionsOfAFormerConnectionSayNothing) {
  open();
  connect();
  ASSERT_TRUE(begin(1, 1));
  ASSERT_TRUE(begin(1, 2));
  network_.serve();
  network_.serve();
  origin().peer_changed(1);
  expect_lost({1, 2});
  connect();
  ASSERT_TRUE(begin(1, 3));
  OneSidedMemory::Ending ending{};
  EXPECT_FALSE(origin().take_ending(ending));
  network_.serve();
  expect_read(3);
}

TEST_F(ShortReadsTest, APeerThatCannotBeReadIsAskedLessAndLess) {
  network_.pages = false;
  open();
  EXPECT_EQ(gets_before_asking(), 32u);
  EXPECT_EQ(deliver(), 2u);
  EXPECT_EQ(gets_before_asking(), 1024u);
  EXPECT_EQ(deliver(), 2u);
  EXPECT_EQ(gets_before_asking(), 2048u);
  EXPECT_EQ(origin().counters().connections_made, 0u);
  EXPECT_EQ(target().served().count(), 0u);
}

TEST_F(ShortReadsTest, AnAdapterThatRefusesAllMemoryIsNotAskedAgain) {
  open();
  network_.refuses_whole = true;
  gets_before_asking();
  deliver();
  network_.refuses_whole = false;
  gets_before_asking();
  deliver();
  EXPECT_TRUE(network_.whole_memories.empty());
  EXPECT_EQ(origin().queue_pair_to(1), nullptr);
}

TEST_F(ShortReadsTest, AQuestionThatIsLostIsRepeated) {
  open();
  EXPECT_EQ(gets_before_asking(), 32u);
  for (int time = 0; time < 15; ++time) {
    tasks_[0]->said.clear();
    EXPECT_EQ(gets_before_asking(), 32u);
  }
  tasks_[0]->said.clear();
  EXPECT_EQ(gets_before_asking(), 32u + 1024u) << "a new one, after a rest";
  deliver();
  EXPECT_NE(origin().queue_pair_to(1), nullptr);
}

TEST_F(ShortReadsTest, ALateAnswerToAnEarlierQuestionSaysNothing) {
  open();
  gets_before_asking();
  const FakeTask::Said question = tasks_[0]->said.back();
  deliver();
  origin().peer_changed(1);
  target().message_arrived(0, question.message);
  deliver();
  EXPECT_EQ(origin().queue_pair_to(1), nullptr);
}

// Which has more than it may have.
TEST_F(ShortReadsTest, WhatTheOtherEndClosesEndsAtOnce) {
  open({.connections = 1});
  connect();
  ASSERT_TRUE(begin(1, 1));
  tasks_[2]->reads->begin_get(1, 8, 8, 1);
  for (int get = 0; get < 40; ++get) tasks_[2]->reads->begin_get(1, 8, 8, 1);
  deliver();
  expect_lost({1});
  EXPECT_EQ(origin().counters().connections_closed, 1u);
  EXPECT_NE(tasks_[2]->reads->queue_pair_to(1), nullptr);
}

TEST_F(ShortReadsTest, AnIdleConnectionMakesRoomOnceOthersAreUsed) {
  open({.connections = 2});
  connect(1);
  connect(2);
  for (int get = 0; get < 300; ++get) {
    ASSERT_TRUE(begin(2, 1));
    network_.serve();
    expect_read(1);
  }
  for (unsigned get = 0; get < 32 + 1024; ++get) EXPECT_FALSE(begin(3));
  deliver();
  EXPECT_NE(origin().queue_pair_to(3), nullptr);
  EXPECT_NE(origin().queue_pair_to(2), nullptr);
  EXPECT_EQ(origin().queue_pair_to(1), nullptr);
  EXPECT_EQ(target(1).served().count(), 0u) << "it was told";
}

TEST_F(ShortReadsTest, WhoHasPartedIsNeitherReadNorReads) {
  open();
  connect();
  ASSERT_TRUE(begin(1, 1));
  target().part_from(0);
  EXPECT_EQ(target().served().count(), 0u);
  origin().part_from(1);
  expect_lost({1});
  for (int get = 0; get < 5000; ++get) EXPECT_FALSE(begin());
  EXPECT_TRUE(tasks_[0]->said.empty());
  origin().resume(1);
  EXPECT_EQ(gets_before_asking(), 32u);
  EXPECT_EQ(deliver(), 2u);
  EXPECT_EQ(origin().queue_pair_to(1), nullptr) << "the other one has not resumed";
  origin().peer_changed(1);
  target().resume(0);
  connect();
}

TEST_F(ShortReadsTest, NobodySleepsOnWhatHasEnded) {
  open();
  EXPECT_TRUE(origin().arm());
  EXPECT_EQ(network_.notices, 0);
  connect();
  ASSERT_TRUE(begin(1, 1));
  EXPECT_TRUE(origin().arm());
  EXPECT_EQ(network_.notices, 1) << "the adapter wakes who sleeps";
  network_.serve();
  EXPECT_FALSE(origin().arm());
  EXPECT_FALSE(origin().arm());
  expect_read(1);
  EXPECT_TRUE(origin().arm());
  ASSERT_TRUE(begin(1, 2));
  origin().peer_changed(1);
  EXPECT_FALSE(origin().arm());
  expect_lost({2});
  EXPECT_TRUE(origin().arm());
}

// Its time is a second.
TEST_F(ShortReadsTest, AnAdapterThatSaysNothingIsNotWaitedFor) {
  open();
  connect();
  ASSERT_TRUE(begin(1, 1));
  ASSERT_TRUE(begin(1, 2));
  OneSidedMemory::Ending ending{};
  while (!origin().take_ending(ending)) {
  }
  EXPECT_EQ(ending.token, 1u);
  EXPECT_EQ(ending.data, nullptr);
  expect_lost({2});
  EXPECT_TRUE(network_.posted.empty()) << "its queue pair is gone";
}

TEST_F(ShortReadsTest, AnAdapterThatHasFailedEndsAll) {
  open();
  connect();
  ASSERT_TRUE(begin(1, 1));
  origin().give_up();
  expect_lost({1});
  for (int get = 0; get < 5000; ++get) EXPECT_FALSE(begin());
  EXPECT_TRUE(tasks_[0]->said.empty());
}

}  // namespace
}  // namespace openlapi::verbs
