// Processes that meet: what they publish comes to all, with the job's key, and whoever is of another meeting or version
// is refused.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/rpi/lapi/meeting_bootstrap.h"
#include "api/rpi/lapi/meeting_message.h"
#include "tests/unit/rpi/posted_messages.h"

namespace openlapi::rpi {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::shared_ptr<Bootstrap> open(Post& post, std::uint32_t rank, std::uint32_t size, std::uint64_t identity = 7) {
  return open_meeting_bootstrap(std::make_unique<PostedMessages>(post, rank, size, identity));
}

// One after the other: the first process is the last to come.
void publish_and_read(Bootstrap& own, std::uint32_t round) {
  std::string error;
  const std::string mine = std::to_string(own.task()) + " in " + std::to_string(round);
  ASSERT_TRUE(own.put("name", std::as_bytes(std::span(mine)), error)) << error;
  ASSERT_TRUE(own.exchange(error)) << error;
  for (std::uint32_t other = 0; other < own.size(); ++other) {
    std::vector<std::byte> value;
    ASSERT_TRUE(own.get(other, "name", 0, value, error)) << error;
    EXPECT_EQ(value, bytes_of(std::to_string(other) + " in " + std::to_string(round)));
  }
}

TEST(Meeting, BringsToAllWhatEachPublishesInEveryRound) {
  constexpr std::uint32_t kProcesses = 5;
  Post post;
  std::vector<std::shared_ptr<Bootstrap>> all;
  for (std::uint32_t rank = 0; rank < kProcesses; ++rank) all.push_back(open(post, rank, kProcesses));
  EXPECT_NE(all[0]->job_cookie(), 0u);
  EXPECT_EQ(all[1]->job_cookie(), 0u);
  std::vector<std::thread> threads;
  for (const auto& own : all) {
    threads.emplace_back([&own] {
      for (std::uint32_t round = 0; round < 3; ++round) publish_and_read(*own, round);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : all) {
    EXPECT_EQ(own->job_cookie(), all[0]->job_cookie());
    EXPECT_EQ(own->packet_key().high, all[0]->packet_key().high);
  }
}

TEST(Meeting, SaysWhatWasNotPublished) {
  Post post;
  const auto alone = open(post, 0, 1);
  std::string error;
  std::vector<std::byte> value;
  ASSERT_TRUE(alone->exchange(error)) << error;
  EXPECT_FALSE(alone->get(0, "nothing", 0, value, error));
  EXPECT_EQ(error, "process 0 has not published 'nothing'");
  EXPECT_FALSE(alone->put("", {}, error));
  EXPECT_FALSE(alone->put(std::string(256, 'k'), {}, error));
}

TEST(Meeting, EndsWithTheFirstProcessThatEnds) {
  Post post;
  post.die(1);
  std::string error;
  EXPECT_FALSE(open(post, 0, 2)->exchange(error));
  EXPECT_EQ(error, "process 1 has ended");
}

TEST(Meeting, RefusesOthers) {
  Post post;
  std::string error;
  post.send(1, 0, encode({.group = 8, .sender = 1}));
  EXPECT_FALSE(open(post, 0, 2)->exchange(error));
  EXPECT_NE(error.find("other processes"), std::string::npos) << error;
  post.send(1, 0, encode({.group = 7, .sender = 1, .round = 4}));
  EXPECT_FALSE(open(post, 0, 2)->exchange(error));
  EXPECT_NE(error.find("round 4 of these processes, and round 0 is due"), std::string::npos) << error;
  post.send(1, 0, encode({.group = 7, .sender = 1, .entries = {{.rank = 0, .key = "name"}}}));
  EXPECT_FALSE(open(post, 0, 2)->exchange(error));
  EXPECT_EQ(error, "process 1 publishes in the name of 0");
}

// Those who wait for the first process learn it at once; those of another version from its version.
TEST(Meeting, TellsAllWhyThereIsNone) {
  Post post;
  std::vector<std::byte> bytes = encode({.group = 7, .sender = 2});
  bytes[4] = std::byte{9};
  post.send(2, 0, bytes);
  std::string error, others_error;
  std::thread other([&] { EXPECT_FALSE(open(post, 1, 3)->exchange(others_error)); });
  EXPECT_FALSE(open(post, 0, 3)->exchange(error));
  other.join();
  EXPECT_EQ(
      error,
      "what process 2 says cannot be understood: it is of version 9 of the rpi module 'lapi', and this process has "
      "version 2");
  EXPECT_EQ(others_error, error);
  ASSERT_TRUE(post.receive(0, 2, bytes));
  EXPECT_EQ(bytes[4], std::byte{2});
}

TEST(MeetingMessage, IsOfOneVersion) {
  const MeetingMessage message{.group = 1, .sender = 2, .round = 3, .entries = {{2, "key", bytes_of("value")}}};
  std::vector<std::byte> bytes = encode(message);
  MeetingMessage again;
  std::string reason;
  ASSERT_TRUE(decode(bytes, again, reason)) << reason;
  EXPECT_EQ(again, message);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const bool whole_entries = length == 24;
    EXPECT_EQ(decode(std::span(bytes).first(length), again, reason), whole_entries) << length;
  }
  bytes[4] = std::byte{9};
  EXPECT_FALSE(decode(bytes, again, reason));
  EXPECT_NE(reason.find("version 9"), std::string::npos) << reason;
  bytes[0] = std::byte{0};
  EXPECT_FALSE(decode(bytes, again, reason));
  EXPECT_EQ(reason, "it is no message of the rpi module 'lapi'");
}

}  // namespace
}  // namespace openlapi::rpi
