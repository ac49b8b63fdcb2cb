// Two processes in one, at two addresses of the loopback.
#include "control/client/liveness.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "dataplane/base/byte_codec.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi {
namespace {

in_addr address(const char* text) {
  in_addr made{};
  inet_pton(AF_INET, text, &made);
  return made;
}

// It refuses whoever connects, and nobody else gets its port.
FileDescriptor bind_at(const char* text) {
  FileDescriptor bound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr = address(text);
  EXPECT_EQ(bind(bound.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  return bound;
}

FileDescriptor listen_at(const char* text, int backlog = 5) {
  FileDescriptor listener = bind_at(text);
  EXPECT_EQ(listen(listener.get(), backlog), 0);
  return listener;
}

sockaddr_in place_of(const FileDescriptor& listener) {
  sockaddr_in place{};
  socklen_t length = sizeof place;
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&place), &length);
  return place;
}

// One that has been connected to as often as it lets answers nobody any more: it is as a machine that is cut off.
std::vector<FileDescriptor> make_silent(const FileDescriptor& listener) {
  constexpr int kMore = 8;  // than its backlog
  std::vector<FileDescriptor> connections;
  const sockaddr_in place = place_of(listener);
  for (int n = 0; n < kMore; ++n) {
    FileDescriptor& one = connections.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    connect(one.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place);
  }
  return connections;
}

sockaddr_in place_of(const LivenessPort& port) {
  const std::vector<std::byte> told = port.told({});
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr = address("127.0.0.1");
  place.sin_port =
      htons(static_cast<std::uint16_t>(std::to_integer<unsigned>(told[0]) | std::to_integer<unsigned>(told[1]) << 8));
  return place;
}

// Connects and goes, until nobody is answered.
void fill(const LivenessPort& port) {
  constexpr int kMost = 5000;    // more than its backlog
  constexpr int kLongest = 500;  // milliseconds: far longer than an answer on one machine takes
  const sockaddr_in place = place_of(port);
  const linger none{1, 0};
  bool is_answered = true;
  for (int n = 0; n < kMost && is_answered; ++n) {
    const FileDescriptor one(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    setsockopt(one.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
    connect(one.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place);
    pollfd answer{one.get(), POLLOUT, 0};
    is_answered = poll(&answer, 1, kLongest) == 1;
  }
  EXPECT_FALSE(is_answered);
}

std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

class LivenessTest : public testing::Test {
 protected:
  void add(const LivenessPort& port, std::vector<in_addr> addresses = {address("127.0.0.2")}) {
    watch_.add(port.told(addresses));
    watch_.want(count_++, true);
  }
  // The machine answers where the process does, and only then.
  void add(const FileDescriptor& listener, std::vector<in_addr> addresses) { add(listener, listener, addresses); }
  // `host`: where the machine answers.
  void add(const FileDescriptor& listener, const FileDescriptor& host, std::vector<in_addr> addresses) {
    std::vector<std::byte> told;
    append_little(told, ntohs(place_of(listener).sin_port));
    append_little(told, ntohs(place_of(host).sin_port));
    for (const in_addr each : addresses) append_little(told, static_cast<std::uint32_t>(ntohl(each.s_addr)));
    watch_.add(told);
    watch_.want(count_++, true);
  }
  void look(std::size_t times) {
    for (; times > 0; --times) {
      poll(nullptr, 0, 1);
      watch_.look();
      if (theirs_) theirs_->look();
      if (others_) others_->look();
    }
  }
  // The test's time-out ends what never comes.
  void look_until_ended(std::size_t process) {
    while (!watch_.has_ended(process)) look(1);
  }

  std::optional<LivenessPort> theirs_{std::in_place}, others_{};
  LivenessWatch watch_{{address("127.0.0.1")}};
  std::size_t count_ = 0;
};

TEST_F(LivenessTest, AProcessThatEndsIsNoticed) {
  add(*theirs_);
  watch_.begin();
  look(20);
  EXPECT_FALSE(watch_.has_ended(0));
  theirs_.reset();
  look_until_ended(0);
}

// Nobody has looked before.
TEST_F(LivenessTest, SoIsOneThatEndsAsSoonAsItWasReached) {
  add(*theirs_);
  watch_.begin();
  watch_.await_reached(std::chrono::minutes(1));
  theirs_.reset();
  look_until_ended(0);
}

TEST_F(LivenessTest, WhoCannotBeReachedIsNotWaitedForWithoutEnd) {
  const FileDescriptor silent = listen_at("127.0.0.3", 1);
  const std::vector<FileDescriptor> connections = make_silent(silent);
  add(silent, {address("127.0.0.3")});
  add(*theirs_);
  watch_.begin();
  watch_.await_reached(std::chrono::milliseconds(20));
  theirs_.reset();
  look_until_ended(1);
  EXPECT_FALSE(watch_.has_ended(0));
}

TEST_F(LivenessTest, SoIsOneThatHasEndedBeforeItWasWanted) {
  add(*theirs_);
  watch_.want(0, false);
  watch_.begin();
  look(5);
  theirs_.reset();
  look(5);
  EXPECT_FALSE(watch_.has_ended(0));
  watch_.want(0, true);
  look_until_ended(0);
}

// It computes: nobody looks at its port.
TEST_F(LivenessTest, AProcessThatDoesNothingLives) {
  add(*theirs_);
  watch_.begin();
  for (int turn = 0; turn < 20; ++turn) {
    poll(nullptr, 0, 1);
    watch_.look();
  }
  EXPECT_FALSE(watch_.has_ended(0));
  theirs_.reset();
  look_until_ended(0);
}

// Where nobody was ever let in a refusal tells nothing: neither with one process nor with another one.
TEST_F(LivenessTest, RefusalsOfAMachineThatLetsNobodyInDoNotCount) {
  add(*theirs_);
  others_.emplace();
  add(*others_, {address("127.0.0.3")});
  theirs_.reset();
  watch_.begin();
  look(20);
  EXPECT_FALSE(watch_.has_ended(0));
  EXPECT_FALSE(watch_.has_ended(1));
}

// Two machines may have the same address, behind address translation for instance: what is told there of a process that
// was never reached there is told of nobody.
TEST_F(LivenessTest, ARefusalCountsOnlyWhereThisVeryProcessWasReached) {
  const FileDescriptor elsewhere = listen_at("127.0.0.3");
  add(*theirs_);
  add(elsewhere, {address("127.0.0.2"), address("127.0.0.3")});
  watch_.begin();
  look(20);
  EXPECT_FALSE(watch_.has_ended(1));
}

TEST_F(LivenessTest, WhereItWasReachedARefusalCounts) {
  FileDescriptor elsewhere = listen_at("127.0.0.3");
  add(elsewhere, {address("127.0.0.2"), address("127.0.0.3")});
  watch_.begin();
  look(5);
  elsewhere.reset();
  look_until_ended(0);
}

// It was heard from in between.
TEST_F(LivenessTest, RefusalsBeforeItWasHeardFromDoNotCount) {
  add(*theirs_);
  watch_.begin();
  look(5);
  theirs_.reset();
  for (int turn = 0; turn < 20; ++turn) {
    look(1);
    EXPECT_FALSE(watch_.has_ended(0));
    watch_.want(0, false);
    watch_.want(0, true);
  }
  look_until_ended(0);
}

constexpr unsigned kLooks = 30;  // that a machine may be silent for

TEST_F(LivenessTest, AMachineThatAnswersNothingIsSilentUntilItAnswersAgain) {
  const FileDescriptor theirs = listen_at("127.0.0.2", 1);
  add(theirs, {address("127.0.0.2")});
  watch_.want(0, false);
  watch_.begin();
  look(2);
  std::vector<FileDescriptor> connections = make_silent(theirs);
  watch_.want(0, true);
  look(kLooks - 1);
  EXPECT_FALSE(watch_.is_silent(0, kLooks));
  while (!watch_.is_silent(0, kLooks)) look(1);
  EXPECT_FALSE(watch_.has_ended(0));
  connections.clear();
  while (watch_.is_silent(0, kLooks)) {
    const FileDescriptor taken(accept4(theirs.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    look(1);
  }
}

TEST_F(LivenessTest, AProcessThatDoesNothingIsNotSilent) {
  add(*theirs_);
  watch_.begin();
  for (unsigned n = 0; n < 2 * kLooks; ++n) {
    poll(nullptr, 0, 1);
    watch_.look();
  }
  EXPECT_FALSE(watch_.is_silent(0, kLooks));
}

// So many have connected to it and gone again while it computes that its kernel answers nobody there any more.
TEST_F(LivenessTest, AProcessThatTakesNoConnectionForLongIsNotSilent) {
  add(*theirs_);
  watch_.want(0, false);
  watch_.begin();
  look(5);
  fill(*theirs_);
  watch_.want(0, true);
  for (unsigned n = 0; n < 3 * kLooks; ++n) {
    watch_.look();
    EXPECT_FALSE(watch_.is_silent(0, kLooks)) << "look " << n;
  }
  EXPECT_FALSE(watch_.has_ended(0)) << "its host has refused, not the process";
  theirs_.reset();
  look_until_ended(0);
}

// Somebody else has taken the port at which its machine is asked.
TEST_F(LivenessTest, AMachineThatAcceptsIsNotSilent) {
  const FileDescriptor theirs = listen_at("127.0.0.2", 1);
  const FileDescriptor host = listen_at("127.0.0.2", 4 * kLooks);
  add(theirs, host, {address("127.0.0.2")});
  watch_.want(0, false);
  watch_.begin();
  look(2);
  const std::vector<FileDescriptor> connections = make_silent(theirs);
  watch_.want(0, true);
  for (unsigned n = 0; n < 3 * kLooks; ++n) {
    look(1);
    EXPECT_FALSE(watch_.is_silent(0, kLooks)) << "look " << n;
  }
}

// They are more than there are connections, and all compute: the one that ends is noticed nevertheless.
TEST_F(LivenessTest, ProcessesThatTakeNoConnectionsLeaveOthersTheirTurns) {
  constexpr std::size_t kProcesses = 100;
  const FileDescriptor host = bind_at("127.0.0.2");
  std::vector<FileDescriptor> listeners, connections;
  for (std::size_t n = 0; n < kProcesses; ++n) {
    add(listeners.emplace_back(listen_at("127.0.0.2", 1)), host, {address("127.0.0.2")});
    watch_.want(n, false);
  }
  add(*theirs_);
  watch_.want(kProcesses, false);
  watch_.begin();
  look(2);
  for (const FileDescriptor& listener : listeners) {
    for (FileDescriptor& one : make_silent(listener)) connections.push_back(std::move(one));
  }
  for (std::size_t n = 0; n <= kProcesses; ++n) watch_.want(n, true);
  look(2 * kLooks);
  for (std::size_t n = 0; n <= kProcesses; ++n) {
    EXPECT_FALSE(watch_.has_ended(n));
    EXPECT_FALSE(watch_.is_silent(n, kLooks));
  }
  theirs_.reset();
  look_until_ended(kProcesses);
}

TEST_F(LivenessTest, WhoIsHeardFromIsNotSilent) {
  const FileDescriptor theirs = listen_at("127.0.0.2", 1);
  add(theirs, {address("127.0.0.2")});
  watch_.want(0, false);
  watch_.begin();
  look(2);
  const std::vector<FileDescriptor> connections = make_silent(theirs);
  for (int turn = 0; turn < 5; ++turn) {
    watch_.want(0, true);
    look(kLooks / 2);
    watch_.want(0, false);
  }
  EXPECT_FALSE(watch_.is_silent(0, kLooks));
}

// Nothing says that the address is the process's own.
TEST_F(LivenessTest, WhoWasNeverReachedIsNotSilent) {
  const FileDescriptor theirs = listen_at("127.0.0.2", 1);
  const std::vector<FileDescriptor> connections = make_silent(theirs);
  add(theirs, {address("127.0.0.2")});
  watch_.begin();
  look(2 * kLooks);
  EXPECT_FALSE(watch_.is_silent(0, kLooks));
}

// One of two networks is cut off; whichever is tried first.
TEST_F(LivenessTest, AMachineThatAnswersAtOneOfItsAddressesIsNotSilent) {
  const FileDescriptor silent = listen_at("127.0.0.2", 1);
  FileDescriptor answers(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place = place_of(silent);
  place.sin_addr = address("127.0.0.3");
  ASSERT_EQ(bind(answers.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  ASSERT_EQ(listen(answers.get(), 100), 0);
  add(silent, {address("127.0.0.2"), address("127.0.0.3")});
  watch_.want(0, false);
  watch_.begin();
  look(2);
  const std::vector<FileDescriptor> connections = make_silent(silent);
  watch_.want(0, true);
  for (unsigned n = 0; n < 3 * kLooks; ++n) {
    look(1);
    EXPECT_FALSE(watch_.is_silent(0, 1)) << "the other address has not been tried";
  }
  answers.reset();
  look(1);
  EXPECT_FALSE(watch_.is_silent(0, 1));
}

TEST_F(LivenessTest, WithoutDescriptorsNobodyIsSilent) {
  add(*theirs_);
  watch_.want(0, false);
  watch_.begin();
  look(5);
  watch_.want(0, true);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  look(2 * kLooks);
  EXPECT_FALSE(watch_.is_silent(0, kLooks));
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(LivenessTest, AddressesThatThisMachineHasTooAreLeftOut) {
  add(*theirs_, {address("127.0.0.1")});
  watch_.begin();
  look(5);
  theirs_.reset();
  look(20);
  EXPECT_FALSE(watch_.has_ended(0));
}

TEST_F(LivenessTest, WhatIsNotToldRightIsNotWatched) {
  for (const std::size_t length : {0, 1, 2, 3, 4, 5, 7}) {
    watch_.add(std::vector<std::byte>(length, std::byte{255}));
    watch_.want(count_++, true);
  }
  watch_.begin();
  look(5);
  for (std::size_t process = 0; process < count_; ++process) EXPECT_FALSE(watch_.has_ended(process));
}

// More of them than there are connections: each has its turn, and none is missed.
TEST_F(LivenessTest, ManyProcessesTakeTurns) {
  constexpr std::size_t kProcesses = 150;
  std::vector<LivenessPort> ports(kProcesses);
  for (const LivenessPort& port : ports) add(port);
  watch_.begin();
  look(10);
  for (std::size_t process = 0; process < kProcesses; ++process) EXPECT_FALSE(watch_.has_ended(process));
  ports.clear();
  for (std::size_t process = 0; process < kProcesses; ++process) look_until_ended(process);
}

// Strangers say something, and are more than are kept.
TEST_F(LivenessTest, StrangersDoNoHarm) {
  add(*theirs_);
  watch_.begin();
  look(5);
  const sockaddr_in place = place_of(*theirs_);
  std::vector<FileDescriptor> strangers;
  strangers.reserve(300);
  for (int n = 0; n < 300; ++n) {
    FileDescriptor& stranger = strangers.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(stranger.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    const ssize_t sent = n % 2 == 0 ? send(stranger.get(), "garbage", 7, MSG_NOSIGNAL) : 7;
    EXPECT_EQ(sent, 7);
    if (n == 250) {
      const std::ptrdiff_t before = descriptors();
      theirs_->look();
      EXPECT_LE(descriptors(), before + 48) << "one look takes a few";
    }
  }
  look(20);
  EXPECT_FALSE(watch_.has_ended(0));
  theirs_.reset();
  look_until_ended(0);
}

TEST_F(LivenessTest, WithoutDescriptorsNothingIsWatchedAndNothingFails) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{3, before.rlim_max};
  add(*theirs_);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  watch_.begin();
  look(5);
  const LivenessPort without;
  EXPECT_EQ(without.told({}), std::vector<std::byte>(4));
  EXPECT_FALSE(watch_.has_ended(0));
  setrlimit(RLIMIT_NOFILE, &before);
  look(5);
  theirs_.reset();
  look_until_ended(0);
}

}  // namespace
}  // namespace openlapi
