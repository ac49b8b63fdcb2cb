// How two tasks that share memory tell each other's eras, and what no longer counts when one has ended.
#include <gtest/gtest.h>

#include <array>
#include <future>

#include "shm/shm_transport.h"
#include "tests/support/transport_tasks.h"

namespace openlapi {
namespace {

class ShmEras : public testing::Test {
 protected:
  ShmEras() {
    const std::uint64_t cookie = test::fresh_cookie();
    const auto open = [&](PeerIndex self) {
      ShmSetupError error;
      return open_shm_transport({.cookie = cookie, .self = self, .local_tasks = {0, 1}}, error);
    };
    auto other = std::async(std::launch::async, open, 1);
    tasks_[0] = open(0);
    tasks_[1] = other.get();
  }

  // Each is added where the other is, so that the two know each other's present eras.
  void SetUp() override {
    for (PeerIndex i = 0; i < 2; ++i) {
      ASSERT_NE(tasks_[i], nullptr);
      std::string reason;
      ASSERT_TRUE(tasks_[i]->add_peer(1 - i, tasks_[i]->address_of(1 - i), reason)) << reason;
    }
  }

  ShmTransport& owner() { return *tasks_[0]; }
  ShmTransport& sender() { return *tasks_[1]; }

  std::size_t send() {
    const std::uint64_t value = 1;
    const ConstBuffer piece{&value, sizeof value};
    const OutgoingPacket packet{{&piece, 1}, sizeof value};
    return sender().send_burst(0, {&packet, 1});
  }

  std::size_t receive() {
    IncomingPacket packet{};
    const std::size_t count = owner().receive_burst({&packet, 1});
    owner().release(count);
    return count;
  }

  std::array<std::unique_ptr<ShmTransport>, 2> tasks_;
};

TEST_F(ShmEras, AreNumberedAlikeOnBothSides) {
  for (std::uint32_t era = 0; era < 10; ++era) {
    ASSERT_EQ(owner().era_with(1), sender().era_sent_for(0));
    EXPECT_EQ(sender().era_with(0), 0u) << "its own with the owner";
    const std::uint32_t before = owner().era_with(1);
    owner().purge_peer(1);
    owner().resume_peer(1);
    EXPECT_NE(owner().era_with(1), before);
    EXPECT_EQ(sender().era_sent_for(0), before) << "it does not know yet";
    EXPECT_TRUE(sender().peer_began_anew(0));
    EXPECT_FALSE(sender().peer_began_anew(0)) << "once";
  }
}

TEST_F(ShmEras, OneThatIsClosedHasItsNumberAlready) {
  owner().purge_peer(1);
  const std::uint32_t closed = owner().era_with(1);
  std::string reason;
  ASSERT_TRUE(sender().add_peer(0, sender().address_of(0), reason));
  EXPECT_EQ(sender().era_sent_for(0), closed);
  EXPECT_EQ(send(), 0u);
  owner().resume_peer(1);
  EXPECT_EQ(owner().era_with(1), closed);
  EXPECT_EQ(send(), 1u);
  EXPECT_EQ(sender().era_sent_for(0), closed);
  EXPECT_EQ(receive(), 1u);
}

TEST_F(ShmEras, SayWhetherTheSenderWasGivenUpOrPurged) {
  EXPECT_FALSE(sender().gave_up(0));
  owner().give_up_peer(1);
  EXPECT_FALSE(sender().gave_up(0)) << "it does not know yet";
  EXPECT_EQ(send(), 1u);
  EXPECT_EQ(receive(), 0u) << "of before";
  EXPECT_TRUE(sender().peer_began_anew(0));
  EXPECT_TRUE(sender().gave_up(0));
  EXPECT_EQ(sender().era_sent_for(0), owner().era_with(1));
  EXPECT_EQ(send(), 1u);
  EXPECT_EQ(receive(), 1u);
  owner().purge_peer(1);
  owner().resume_peer(1);
  EXPECT_TRUE(sender().peer_began_anew(0));
  EXPECT_FALSE(sender().gave_up(0));
  EXPECT_EQ(sender().era_sent_for(0), 2u);
}

// The sender has sent nothing in it, but may have received: its engine has to hear that it has ended.
TEST_F(ShmEras, OneThatWasBegunWhileItWasClosedEndsLikeAnyOther) {
  owner().purge_peer(1);
  std::string reason;
  ASSERT_TRUE(sender().add_peer(0, sender().address_of(0), reason));
  EXPECT_FALSE(sender().peer_began_anew(0));
  owner().resume_peer(1);
  EXPECT_FALSE(sender().peer_began_anew(0)) << "it is the same one";
  owner().purge_peer(1);
  EXPECT_FALSE(sender().peer_began_anew(0)) << "not yet open";
  owner().resume_peer(1);
  EXPECT_EQ(send(), 0u) << "the next one was begun and nobody heard of it";
  EXPECT_TRUE(sender().intake(0).waits);
  EXPECT_TRUE(sender().peer_began_anew(0));
  EXPECT_EQ(sender().era_sent_for(0), owner().era_with(1));
  EXPECT_FALSE(sender().peer_began_anew(0)) << "once";
  EXPECT_EQ(send(), 1u);
  EXPECT_EQ(receive(), 1u);
}

// Who only expects something from the owner sends nothing that would tell it.
TEST_F(ShmEras, NothingWaitsInOneThatIsOpenAgain) {
  owner().purge_peer(1);
  std::string reason;
  ASSERT_TRUE(sender().add_peer(0, sender().address_of(0), reason));
  EXPECT_TRUE(sender().intake(0).waits);
  owner().resume_peer(1);
  EXPECT_FALSE(sender().intake(0).waits);
}

TEST_F(ShmEras, WhatIsSentBeforeTheSenderKnowsIsVoid) {
  EXPECT_EQ(send(), 1u);
  owner().purge_peer(1);
  owner().resume_peer(1);
  EXPECT_EQ(send(), 1u);
  EXPECT_EQ(receive(), 0u);
  EXPECT_TRUE(sender().peer_began_anew(0));
  EXPECT_EQ(send(), 1u);
  EXPECT_EQ(receive(), 1u);
}

// The owner may have given the memory to something else.
TEST_F(ShmEras, MemoryOfAnEndedOneIsNotRead) {
  const std::uint64_t theirs = 7;
  std::uint64_t mine = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(&theirs);
  RemoteMemory& memory = *sender().capabilities().remote_memory;
  const MemoryRange remote{address, sizeof theirs};
  const MemoryRange local{reinterpret_cast<std::uintptr_t>(&mine), sizeof mine};
  ASSERT_TRUE(memory.read(0, address, &mine, sizeof mine));
  ASSERT_TRUE(memory.read_ranges(0, {&remote, 1}, {&local, 1}));
  mine = 0;
  owner().purge_peer(1);
  owner().resume_peer(1);
  EXPECT_FALSE(memory.read(0, address, &mine, sizeof mine));
  EXPECT_FALSE(memory.read_ranges(0, {&remote, 1}, {&local, 1}));
  EXPECT_EQ(mine, 0u) << "it was written to before that was found out";
  EXPECT_TRUE(sender().peer_began_anew(0));
  EXPECT_TRUE(memory.read(0, address, &mine, sizeof mine));
  EXPECT_EQ(mine, 7u);
}

// Nor that of one who has purged this task and not resumed it: its number says nothing of that.
TEST_F(ShmEras, MemoryOfAClosedOneIsNotRead) {
  const std::uint64_t theirs = 7;
  std::uint64_t mine = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(&theirs);
  owner().purge_peer(1);
  std::string reason;
  ASSERT_TRUE(sender().add_peer(0, sender().address_of(0), reason));
  EXPECT_FALSE(sender().capabilities().remote_memory->read(0, address, &mine, sizeof mine));
  EXPECT_EQ(mine, 0u);
  owner().resume_peer(1);
  EXPECT_EQ(send(), 1u);
  EXPECT_TRUE(sender().capabilities().remote_memory->read(0, address, &mine, sizeof mine));
  EXPECT_EQ(mine, 7u);
}

// Its context has ended, perhaps without waiting any longer for whoever reads; the process goes on.
TEST_F(ShmEras, MemoryOfOneThatHasLeftIsNotRead) {
  const std::uint64_t theirs = 7;
  std::uint64_t mine = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(&theirs);
  RemoteMemory& memory = *sender().capabilities().remote_memory;
  const MemoryRange remote{address, sizeof theirs};
  const MemoryRange local{reinterpret_cast<std::uintptr_t>(&mine), sizeof mine};
  ASSERT_TRUE(memory.read(0, address, &mine, sizeof mine));
  mine = 0;
  tasks_[0].reset();
  EXPECT_FALSE(memory.read(0, address, &mine, sizeof mine));
  EXPECT_FALSE(memory.read_ranges(0, {&remote, 1}, {&local, 1}));
  EXPECT_EQ(mine, 0u);
  EXPECT_TRUE(sender().peer_left(0));
}

}  // namespace
}  // namespace openlapi
