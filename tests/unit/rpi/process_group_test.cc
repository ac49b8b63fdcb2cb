// LAM's messages, and how processes meet by them.
#include "api/rpi/lapi/process_group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "api/rpi/lapi/lam_messages.h"
#include "api/rpi/lapi/meeting_message.h"
#include "api/rpi/lapi/process_pair.h"
#include "tests/unit/rpi/simulated_lam.h"

namespace openlapi::rpi {
namespace {

using Processes = std::vector<std::function<bool()>>;

class LamTest : public testing::Test {
 protected:
  void SetUp() override { reset_lam(); }
};

pid_t ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

std::vector<std::byte> bytes_with(std::byte first, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t n = 0; n < size; ++n) bytes[n] = static_cast<std::byte>(n * 7 + static_cast<std::size_t>(first));
  return bytes;
}

TEST_F(LamTest, BringsMessagesOfAnyLengthInTheirOrder) {
  const auto places = lam_places(3, 2);
  const std::vector<std::size_t> sizes{0, 1, 8192, 8193, 100'000};
  const auto one = [&](std::uint32_t rank) {
    const auto messages = open_lam_messages(places, places[rank]);
    bool as_sent = messages->rank() == rank && messages->size() == 3;
    std::string error;
    for (const std::size_t size : sizes) {
      as_sent = as_sent && messages->send((rank + 1) % 3, bytes_with(static_cast<std::byte>(rank), size), error);
    }
    const std::uint32_t from = (rank + 2) % 3;
    for (const std::size_t size : sizes) {
      std::vector<std::byte> got;
      as_sent = as_sent && messages->receive(from, got, error) && got == bytes_with(static_cast<std::byte>(from), size);
    }
    return as_sent;
  };
  const Processes all{[&] { return one(0); }, [&] { return one(1); }, [&] { return one(2); }};
  EXPECT_EQ(run_processes(all), 3);
}

TEST_F(LamTest, KnowsWhoIsOnItsNode) {
  const auto places = lam_places(5, 2);
  EXPECT_EQ(open_lam_messages(places, places[3])->on_this_node(), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(open_lam_messages(places, places[4])->on_this_node(), std::vector<std::uint32_t>{4});
}

// LAM keeps what was sent to processes that died, for those that get their places.
TEST_F(LamTest, KeepsMessagesOfGroupsApart) {
  auto places = lam_places(3, 3);
  const auto group = open_lam_messages(places, places[0]);
  const std::vector<_gps> two{places[0], places[1]};
  const auto pair = open_lam_messages(two, two[0]);
  EXPECT_NE(group->identity(), pair->identity());
  std::string error;
  std::vector<std::byte> got;
  ASSERT_TRUE(open_lam_messages(places, places[1])->send(0, bytes_with(std::byte{1}, 5), error));
  ASSERT_TRUE(open_lam_messages(two, two[1])->send(0, bytes_with(std::byte{2}, 6), error));
  EXPECT_TRUE(pair->has_message(1));
  ASSERT_TRUE(pair->receive(1, got, error)) << error;
  EXPECT_EQ(got, bytes_with(std::byte{2}, 6));
  EXPECT_FALSE(pair->has_message(1));
  ASSERT_TRUE(group->receive(1, got, error)) << error;
  EXPECT_EQ(got, bytes_with(std::byte{1}, 5));
}

TEST_F(LamTest, KeepsWhatIsSaidBeforeCheckpointsApart) {
  const auto places = lam_places(2, 2);
  std::string error;
  ASSERT_TRUE(open_lam_messages(places, places[1], LamMeeting::checkpoints)->send(0, bytes_with({}, 1), error));
  EXPECT_FALSE(open_lam_messages(places, places[0])->has_message(1));
  std::vector<std::byte> got;
  const auto messages = open_lam_messages(places, places[0], LamMeeting::checkpoints);
  EXPECT_TRUE(messages->has_message(1));
  EXPECT_TRUE(messages->receive(1, got, error)) << error;
}

TEST_F(LamTest, SaysWhoHasEndedInsteadOfWaiting) {
  auto places = lam_places(2, 2);
  const pid_t child = places[1].gps_pid = ended_process();
  std::string error;
  std::vector<std::byte> got;
  EXPECT_FALSE(open_lam_messages(places, places[0])->receive(1, got, error));
  EXPECT_EQ(error, "process 1 (pid " + std::to_string(child) + " on node 0 of LAM) has ended");
}

TEST_F(LamTest, WhoHasEndedIsNotWaitedForInASpawn) {
  auto places = lam_places(3, 3);
  const pid_t child = places[1].gps_pid = ended_process();
  ProcessGroup group;
  std::string error;
  EXPECT_FALSE(meet_others(std::vector{places[1], places[2]}, true, places[0], group, error));
  EXPECT_EQ(error, "the first of the processes that are new here (pid " + std::to_string(child) +
                       " on node 0 of LAM) has ended");
  places[2].gps_pid = child;
  EXPECT_FALSE(meet_at_start(places, places[0], true, group, error));
  EXPECT_EQ(error, "all of the processes that may have started this one have ended");
}

TEST_F(LamTest, WhatIsSaidBeforeTheEndIsHeard) {
  auto places = lam_places(2, 2);
  places[1].gps_pid = ended_process();
  std::string error;
  ASSERT_TRUE(ProcessPair(places[1], places[0], places[1]).say(std::vector{places[1]}, error)) << error;
  ProcessGroup group;
  EXPECT_FALSE(meet_others(std::vector{places[1]}, true, places[0], group, error));
  EXPECT_EQ(error, "the first of the processes that are new here says that others take part");
}

TEST_F(LamTest, BothLearnTheVersionOfWhoCannotUnderstand) {
  const auto places = lam_places(2, 2);
  const auto other = open_lam_messages(places, places[1], LamMeeting::introductions);
  std::vector<std::byte> said = encode({.group = other->identity(), .sender = 1}), heard;
  said[4] = std::byte{99};  // the version
  std::string error;
  ASSERT_TRUE(other->send(0, said, error)) << error;
  std::vector<_gps> list;
  EXPECT_FALSE(ProcessPair(places[0], places[1], places[0]).hear(list, error));
  EXPECT_EQ(error,
            "what a process says cannot be understood: it is of version 99 of the rpi module 'lapi', and this process "
            "has version 2");
  ASSERT_TRUE(other->has_message(0));
  ASSERT_TRUE(other->receive(0, heard, error)) << error;
  MeetingMessage message;
  EXPECT_TRUE(decode(heard, message, error)) << error;
}

// What a process of another version does: it says something, and hears why there is no meeting.
bool is_refused(const _gps& leader, const _gps& own) {
  const std::vector<_gps> both{leader, own};
  const auto messages = open_lam_messages(both, own, LamMeeting::introductions);
  std::vector<std::byte> said = encode({.group = messages->identity(), .sender = 1}), heard;
  said[4] = std::byte{99};  // the version
  std::string error;
  MeetingMessage message;
  return messages->send(0, said, error) && messages->receive(0, heard, error) && decode(heard, message, error) &&
         find_refusal(message) != nullptr;
}

constexpr const char* kOtherVersion =
    "what a process says cannot be understood: it is of version 99 of the rpi module 'lapi', and this process has "
    "version 2";

// All on nodes of their own, where nobody knows who has ended: two have another version, and start two of this one.
TEST_F(LamTest, AllWhoStartProcessesOfAnotherVersionHearOfItAtOnce) {
  const auto places = lam_places(4, 1);
  const auto child = [&](std::size_t rank) {
    ProcessGroup group;
    std::string error;
    return !meet_at_start(places, places[rank], true, group, error) && error == kOtherVersion;
  };
  const Processes all{[&] { return is_refused(places[2], places[0]); },
                      [&] { return is_refused(places[2], places[1]); }, [&] { return child(2); },
                      [&] { return child(3); }};
  EXPECT_EQ(run_processes(all), 4);
}

// Of the other side one has another version and one has not.
TEST_F(LamTest, AllWhoConnectToAnotherVersionHearOfItAtOnce) {
  const auto places = lam_places(3, 1);
  const auto one = [&](const std::vector<_gps>& others, std::size_t rank) {
    ProcessGroup group;
    std::string error;
    return !meet_others(others, true, places[rank], group, error) && error == kOtherVersion;
  };
  const Processes all{[&] {
                        return one({places[1], places[2]}, 0);
                      },
                      [&] { return is_refused(places[0], places[1]); }, [&] { return one({places[0]}, 2); }};
  EXPECT_EQ(run_processes(all), 3);
}

// Whether all of a group find the same members, and can exchange something.
bool agrees(const ProcessGroup& group, const std::vector<_gps>& expected, const _gps& own) {
  std::string error;
  if (!std::ranges::equal(group.members, expected, is_same)) return false;
  const std::uint32_t rank = group.bootstrap->task();
  if (!is_same(group.members[rank], own)) return false;
  const std::byte said{static_cast<unsigned char>(rank)};
  if (!group.bootstrap->put("rank", {&said, 1}, error) || !group.bootstrap->exchange(error)) return false;
  for (std::uint32_t other = 0; other < group.bootstrap->size(); ++other) {
    std::vector<std::byte> value;
    if (!group.bootstrap->get(other, "rank", 0, value, error) || value.size() != 1) return false;
    if (value[0] != std::byte{static_cast<unsigned char>(other)}) return false;
  }
  return true;
}

TEST_F(LamTest, ThoseWhoStartTogetherMeetInMpisOrder) {
  const auto places = lam_places(4, 2);
  const auto one = [&](std::size_t rank) {
    auto told = places;
    std::rotate(told.begin(), told.begin() + static_cast<std::ptrdiff_t>(rank), told.end());  // LAM's order is its own
    ProcessGroup group;
    std::string error;
    return meet_at_start(told, places[rank], false, group, error) && agrees(group, places, places[rank]);
  };
  const Processes all{[&] { return one(0); }, [&] { return one(1); }, [&] { return one(2); }, [&] { return one(3); }};
  EXPECT_EQ(run_processes(all), 4);
}

// Two processes start two more, of which the first by its place leads.
TEST_F(LamTest, ThoseWhoAreSpawnedMeetThoseWhoHaveStartedThem) {
  const auto places = lam_places(4, 2);
  const std::vector<_gps> started{places[2], places[3]};
  const std::vector<_gps> expected{places[2], places[0], places[1], places[3]};
  const auto parent = [&](std::size_t rank) {
    ProcessGroup group;
    std::string error;
    return meet_others(started, true, places[rank], group, error) && agrees(group, expected, places[rank]);
  };
  const auto child = [&](std::size_t rank) {
    ProcessGroup group;
    std::string error;
    return meet_at_start(places, places[rank], true, group, error) && agrees(group, expected, places[rank]);
  };
  const Processes all{[&] { return parent(0); }, [&] { return parent(1); }, [&] { return child(2); },
                      [&] { return child(3); }};
  EXPECT_EQ(run_processes(all), 4);
}

TEST_F(LamTest, WhoIsToldOfOthersThanTheLeaderDoesNotMeet) {
  const auto places = lam_places(4, 4);
  const std::vector<_gps> started{places[2], places[3]};
  std::string error;
  const auto parent = [&] {
    ProcessGroup group;
    return !meet_others(started, true, places[0], group, error) &&
           error == "the first of the processes that are new here says that others take part";
  };
  // It knows of nobody but itself and who has started it.
  const auto leader = [&] {
    ProcessGroup group;
    return meet_at_start(std::vector{places[0], places[2]}, places[2], true, group, error);
  };
  const Processes all{parent, leader};
  EXPECT_EQ(run_processes(all), 2);
}

// A process of a side, which is told of the other one.
bool connects(const std::vector<_gps>& others, bool has_new, const _gps& own, const std::vector<_gps>& expected) {
  ProcessGroup group;
  std::string error;
  if (!meet_others(others, has_new, own, group, error)) return false;
  return has_new ? agrees(group, expected, own) : group.members.empty() && group.bootstrap == nullptr;
}

// Neither side is told of itself; the order in which a side is told of is MPI's.
TEST_F(LamTest, TwoSidesThatConnectMeetAgainAndAgain) {
  const auto places = lam_places(5, 2);
  const std::vector<_gps> left{places[4], places[1]}, right{places[3], places[0], places[2]};
  const auto one = [&](const std::vector<_gps>& others, int rank) {
    const auto meets = [&](int) { return connects(others, true, places[static_cast<std::size_t>(rank)], places); };
    return meets(1) && meets(2) && meets(3);
  };
  const Processes all{[&] { return one(left, 0); }, [&] { return one(right, 1); }, [&] { return one(left, 2); },
                      [&] { return one(left, 3); }, [&] { return one(right, 4); }};
  EXPECT_EQ(run_processes(all), 5);
}

TEST_F(LamTest, OneProcessConnectsToAnother) {
  const auto places = lam_places(2, 1);
  const Processes all{[&] { return connects({places[1]}, true, places[0], places); },
                      [&] { return connects({places[0]}, true, places[1], places); }};
  EXPECT_EQ(run_processes(all), 2);
}

// Process 0 knows process 2 already, process 1 does not.
TEST_F(LamTest, WhoKnowsAllOfTheOthersTakesNoPart) {
  const auto places = lam_places(3, 3);
  const std::vector<_gps> left{places[0], places[1]}, right{places[2]};
  const std::vector<_gps> expected{places[1], places[2]};
  const Processes all{[&] { return connects(right, false, places[0], expected); },
                      [&] { return connects(right, true, places[1], expected); },
                      [&] { return connects(left, true, places[2], expected); }};
  EXPECT_EQ(run_processes(all), 3);
}

TEST_F(LamTest, SidesThatKnowEachOtherOpenNothing) {
  const auto places = lam_places(4, 4);
  const std::vector<_gps> left{places[0], places[3]}, right{places[1], places[2]};
  const auto one = [&](const std::vector<_gps>& others, std::size_t rank) {
    return connects(others, false, places[rank], {});
  };
  const Processes all{[&] { return one(right, 0); }, [&] { return one(left, 1); }, [&] { return one(left, 2); },
                      [&] { return one(right, 3); }};
  EXPECT_EQ(run_processes(all), 4);
}

// Process 1 is told of the other side only after process 0 has done something for it.
TEST_F(LamTest, WhoWaitsForOthersGoesOnWithWhatTheyNeed) {
  const auto places = lam_places(3, 3);
  int given[2];
  ASSERT_EQ(pipe(given), 0);
  const auto giver = [&] {
    const WhileWaiting giving([&] { EXPECT_EQ(write(given[1], "x", 1), 1); });
    return connects({places[2]}, true, places[0], places);
  };
  const auto taker = [&] {
    char taken = 0;
    return read(given[0], &taken, 1) == 1 && connects({places[2]}, true, places[1], places);
  };
  const Processes all{giver, taker, [&] { return connects({places[0], places[1]}, true, places[2], places); }};
  EXPECT_EQ(run_processes(all), 3);
}

}  // namespace
}  // namespace openlapi::rpi
