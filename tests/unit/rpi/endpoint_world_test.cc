// Two or three processes in one, over UDP on this machine's loopback.
#include "api/rpi/lapi/endpoint_world.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "api/rpi/lapi/meeting_bootstrap.h"
#include "api/wiring/open_transports.h"
#include "dataplane/base/monotonic_clock.h"
#include "dataplane/host/handler_host.h"
#include "tests/unit/rpi/posted_messages.h"

namespace openlapi::rpi {
namespace {

constexpr std::size_t kShort = 1000, kLong = 8 << 20;
constexpr Nanoseconds kPatience = 30 * kSecond;

// What a World has told.
struct Told final : WorldListener {
  Landing arriving(const IncomingMessage& message) override {
    lengths.push_back(message.length);
    buffer.resize(message.length);
    return {buffer.data(), {&Told::when_done, this}};
  }
  void lost(Peer peer, const char* reason) override {
    lost_peers.push_back(peer);
    this->reason = reason;
  }
  static void when_done(void* argument, Outcome outcome) { static_cast<Told*>(argument)->outcomes.push_back(outcome); }

  std::vector<std::uint64_t> lengths{};
  std::vector<std::byte> buffer{};
  std::vector<Outcome> outcomes{};
  std::vector<Peer> lost_peers{};
  std::string reason{};
};

// A process opens one endpoint at a time. These open theirs together: one that waits for another lets it.
class TakingTurns final : public PostedMessages {
 public:
  using PostedMessages::PostedMessages;
  bool receive(std::uint32_t from, std::vector<std::byte>& bytes, std::string& error) override {
    opening_turn().unlock();
    const bool received = PostedMessages::receive(from, bytes, error);
    opening_turn().lock();
    return received;
  }
};

int pid_of_one_that_has_ended() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

// Of this process.
std::size_t listening_tcp_sockets() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());
    int listens = 0, domain = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) continue;
    getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    count += listens != 0 && domain == AF_INET ? 1 : 0;
  }
  return count;
}

class EndpointWorldTest : public testing::Test {
 protected:
  // `second_pid`: of the process at Peer 1, as all are told.
  void open(int second_pid = 0, Nanoseconds timeout = 900 * kSecond, std::uint32_t count = 2) {
    setenv("LAPI_USE_SHM", "no", 1);
    const std::array all{WorldProcess{0, 0}, WorldProcess{1, second_pid}, WorldProcess{2, 0}};
    const std::span processes = std::span(all).first(count);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      threads.emplace_back([&, rank] {
        jobs_[rank].bootstrap = open_meeting_bootstrap(std::make_unique<TakingTurns>(post_, rank, count));
        jobs_[rank].has_launcher = true;
        worlds_[rank] = open_endpoint_world(jobs_[rank], processes, {timeout}, told_[rank], reasons_[rank]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::uint32_t rank = 0; rank < count; ++rank) ASSERT_NE(worlds_[rank], nullptr) << reasons_[rank];
  }

  void step(std::uint32_t rank) {
    if (!worlds_[rank]->step(Step::first)) worlds_[rank]->look();
  }
  // Steps of the first two, or of these, until it holds.
  template <class Condition>
  bool until(Condition&& condition, std::vector<std::uint32_t> moving = {0, 1}) {
    const MonotonicClock clock;
    for (const Nanoseconds begin = clock.now(); clock.now() - begin < kPatience;) {
      if (condition()) return true;
      for (const std::uint32_t rank : moving) step(rank);
    }
    return false;
  }
  // The last message of a process to another one.
  void leave(std::uint32_t from, Peer to) {
    worlds_[from]->send_message(to, std::array<std::byte, 4>{}, {}, {});
    worlds_[from]->expect_no_more(to);
  }
  void send(std::uint32_t from, std::size_t length) {
    const std::array header{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    worlds_[from]->send_message(1 - from, header, std::span(data_).first(length), {&Told::when_done, &sent_[from]});
  }
  // The first process finds that a message of the second one was more than it has memory for.
  void report_fault() { dynamic_cast<HandlerHost&>(*worlds_[0]).report_fault(Fault::out_of_memory, 1); }

  Post post_;
  std::array<JoinedJob, 3> jobs_{};
  std::array<Told, 3> told_{}, sent_{};
  std::array<std::string, 3> reasons_{};
  std::array<std::unique_ptr<PolledWorld>, 3> worlds_{};
  std::vector<std::byte> data_ = std::vector<std::byte>(kLong);
};

TEST_F(EndpointWorldTest, HasAPortForProcessesOfOtherNodes) {
  open();
  EXPECT_EQ(listening_tcp_sockets(), 2u);
}

// The first process knows the second one's number, as on one node; the second one has another node's before it.
TEST_F(EndpointWorldTest, HasNoneWhereAllAreOnItsNode) {
  open(getpid());
  EXPECT_EQ(listening_tcp_sockets(), 1u);
}

TEST_F(EndpointWorldTest, BringsMessagesAndReadsWhatAPeerHas) {
  open();
  send(0, kShort);
  send(0, kLong);
  ASSERT_TRUE(until([&] { return told_[1].outcomes.size() == 2 && sent_[0].outcomes.size() == 2; }));
  std::vector<std::byte> here(kLong);
  data_.back() = std::byte{7};
  worlds_[1]->get(0, reinterpret_cast<std::uintptr_t>(data_.data()), here, {&Told::when_done, &sent_[1]});
  ASSERT_TRUE(until([&] { return sent_[1].outcomes.size() == 1; }));
  EXPECT_EQ(here, data_);
  EXPECT_FALSE(worlds_[1]->is_bringing(0));
  EXPECT_TRUE(until([&] { return worlds_[0]->drained() && worlds_[1]->drained(); }));
}

TEST_F(EndpointWorldTest, NothingIsTakenFromAPeerThatIsLostThoughItLives) {
  open();
  send(1, kLong);
  ASSERT_TRUE(until([&] { return told_[0].lengths.size() == 1; }));
  ASSERT_TRUE(told_[0].outcomes.empty()) << "it has begun to come";
  EXPECT_TRUE(worlds_[0]->is_bringing(1));
  send(0, kLong);
  report_fault();
  step(0);
  EXPECT_EQ(told_[0].outcomes, std::vector{Outcome::peer_lost});
  EXPECT_EQ(sent_[0].outcomes, std::vector{Outcome::peer_lost});
  EXPECT_EQ(told_[0].lost_peers, std::vector<Peer>{1});
  EXPECT_FALSE(worlds_[0]->is_bringing(1));
  EXPECT_TRUE(worlds_[0]->drained());
  send(1, kShort);
  const MonotonicClock clock;
  for (const Nanoseconds begin = clock.now(); clock.now() - begin < kSecond / 2;) {
    step(0);
    step(1);
  }
  EXPECT_EQ(told_[0].lengths.size(), 1U);
  EXPECT_EQ(told_[0].outcomes.size(), 1U);
  send(0, kShort);
  EXPECT_EQ(sent_[0].outcomes.size(), 2U) << "at once";
}

TEST_F(EndpointWorldTest, TakesWhatAPeerSentBeforeItEnded) {
  open(pid_of_one_that_has_ended());
  step(0);  // finds that it has ended
  send(1, kLong);
  ASSERT_TRUE(until([&] { return !told_[0].outcomes.empty(); }));
  EXPECT_EQ(told_[0].outcomes, std::vector{Outcome::done});
  ASSERT_TRUE(until([&] { return !told_[0].lost_peers.empty(); }));
  EXPECT_EQ(told_[0].reason, "it has ended");
}

TEST_F(EndpointWorldTest, APeerThatDoesNotAnswerIsLostAfterTheTimeout) {
  open(0, 2 * kSecond);
  const MonotonicClock clock;
  const Nanoseconds begin = clock.now();
  send(0, kLong);
  while (told_[0].lost_peers.empty() && clock.now() - begin < kPatience) step(0);
  EXPECT_EQ(told_[0].reason, "it has not answered within the time-out");
  EXPECT_GE(clock.now() - begin, 19 * kSecond / 10);
  EXPECT_EQ(sent_[0].outcomes, std::vector{Outcome::peer_lost});
}

TEST_F(EndpointWorldTest, APeerIsGivenUpForWhoKnowsThatItIsDead) {
  open();
  send(0, kLong);
  worlds_[0]->give_up(1, "somebody knows");
  EXPECT_FALSE(worlds_[0]->drained());
  step(0);
  EXPECT_EQ(told_[0].reason, "somebody knows");
  EXPECT_EQ(sent_[0].outcomes, std::vector{Outcome::peer_lost});
  EXPECT_TRUE(worlds_[0]->drained());
}

TEST_F(EndpointWorldTest, WhoHasLeftIsGivenUpInTheEnd) {
  open(pid_of_one_that_has_ended());
  send(0, kShort);
  worlds_[0]->has_left(1);
  ASSERT_TRUE(until([&] { return !told_[0].lost_peers.empty(); }));
  EXPECT_EQ(told_[0].lost_peers, std::vector<Peer>{1});
  EXPECT_EQ(told_[0].reason, "it has called MPI_Finalize");
  EXPECT_TRUE(worlds_[0]->drained());
}

// One takes its last message at once and gives it up, the other computes for longer than the silent are left alone.
TEST_F(EndpointWorldTest, WhoLeavesEarlyWaitsOnlyUntilItsLastMessagesAreTaken) {
  open(0, 900 * kSecond, 3);
  leave(0, 1);
  leave(0, 2);
  ASSERT_TRUE(until([&] { return told_[2].lengths.size() == 1; }, {0, 2}));
  worlds_[2]->has_left(0);
  ASSERT_TRUE(until([&] { return !told_[2].lost_peers.empty(); }, {0, 2}));
  const MonotonicClock clock;
  const Nanoseconds given_up = clock.now();
  ASSERT_TRUE(until([&] { return clock.now() - given_up > 3 * kSecond; }, {0, 2}));
  EXPECT_FALSE(worlds_[0]->drained()) << "one has not taken its last message";
  EXPECT_TRUE(until([&] { return worlds_[0]->drained(); }, {0, 1, 2}));
  EXPECT_TRUE(told_[0].lost_peers.empty());
}

}  // namespace
}  // namespace openlapi::rpi
