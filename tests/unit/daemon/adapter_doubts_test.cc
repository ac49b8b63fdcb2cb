#include "control/daemon/adapters/adapter_doubts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/network_namespaces.h"
#include "tests/unit/daemon/adapter_rows.h"

namespace openlapi::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The own address is the loopback's, which has the whole network: so 127.0.0.2 answers, and what is beyond does not.
const MessageBytes kHere{127, 0, 0, 1}, kAnswers{127, 0, 0, 2}, kSilent{203, 0, 113, 1};
constexpr std::uint8_t kAll = 0, kLoopback = 8;  // bits of networks

class AdapterDoubtsTest : public testing::Test {
 protected:
  static AdapterStatus adapter(const MessageBytes& address, std::uint8_t prefix,
                               std::uint8_t cause = AdapterCause::kUp) {
    return {"lo", AdapterKind::kInterface, cause, 0, 1, {{address, prefix}}};
  }
  // With the adapter of the other node.
  void set(const MessageBytes& other, std::uint8_t prefix, std::uint8_t own_cause = AdapterCause::kUp) {
    table_.set_own({adapter(kHere, prefix, own_cause)});
    table_.apply({1, 0, ++generation_, {adapter(other, prefix)}});
  }
  void pass(milliseconds time) {
    PollSet poll_set;
    doubts_.watch(poll_set);
    poll_set.wait(0);
    doubts_.tick(now_ += time);
  }
  void mark(bool is_reachable) {
    table_.set_own({adapter(kHere, kAll, is_reachable ? AdapterCause::kUp : AdapterCause::kUnreachable)});
  }

  UniverseTable universe_{members(2), 0, 0};
  AdapterTable table_{universe_, [] { return std::uint64_t{1}; }};
  std::vector<bool> told_{};
  AdapterDoubts doubts_{universe_, table_, [this](const std::string& name, bool is_reachable) {
                          EXPECT_EQ(name, "lo");
                          told_.push_back(is_reachable);
                        }};
  AdapterDoubts::Time now_ = std::chrono::steady_clock::now();
  std::uint64_t generation_ = 0;
};

TEST_F(AdapterDoubtsTest, WhoeverRefusesAConnectionIsThere) {
  set(kAnswers, kLoopback);
  doubts_.doubt(kHere, kAnswers, now_);
  pass(milliseconds(1));
  EXPECT_EQ(told_, std::vector{true});
  pass(milliseconds(200));
  EXPECT_FALSE(doubts_.deadline()) << "there is no doubt any more";
}

TEST_F(AdapterDoubtsTest, SomebodyElseMayAnswer) {
  set(kAnswers, kLoopback);
  doubts_.doubt(kHere, kSilent, now_);
  pass(milliseconds(1));
  EXPECT_EQ(told_, std::vector{true});
}

TEST_F(AdapterDoubtsTest, NobodyAnswersInTime) {
  set(kSilent, kAll);
  doubts_.doubt(kHere, kSilent, now_);
  pass(milliseconds(1));
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(doubts_.deadline(), now_ - milliseconds(1) + kReachProbeAgain);
  pass(kReachProbeAgain);
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(doubts_.deadline(), now_ - milliseconds(1) - kReachProbeAgain + kReachProbeTime);
  pass(kReachProbeTime);
  EXPECT_EQ(told_, std::vector{false});
}

// In two network namespaces: at first packets to the other one go to a hardware address that nobody has.
TEST_F(AdapterDoubtsTest, ALostQuestionIsNoSilence) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  test::NetworkNamespaces hosts;
  std::string error;
  ASSERT_TRUE(hosts.create(1500, error)) << error;
  const MessageBytes here{10, 77, 0, 1}, there{10, 77, 0, 2};
  const std::string neighbour = "10.77.0.2 dev veth0";
  ASSERT_TRUE(hosts.command(0, "ip neigh replace " + neighbour + " lladdr 02:00:00:00:00:09 nud permanent"));
  table_.set_own({{"veth0", AdapterKind::kInterface, AdapterCause::kUp, 0, 1, {{here, 24}}}});
  table_.apply({1, 0, ++generation_, {adapter(there, 24)}});
  AdapterDoubts doubts(universe_, table_, [this](const std::string&, bool reachable) { told_.push_back(reachable); });
  ASSERT_TRUE(hosts.run_in(0, [&] { doubts.doubt(here, there, now_); }));
  ASSERT_TRUE(hosts.run_in(0, [&] { doubts.tick(now_ += kReachProbeAgain); }));
  EXPECT_TRUE(hosts.command(0, "test $(ss -Htn state syn-sent | wc -l) -eq 2")) << "it is asked a second time";
  ASSERT_TRUE(hosts.command(0, "ip neigh del " + neighbour));
  PollSet poll_set;
  doubts.watch(poll_set);
  poll_set.wait(20'000);  // the kernel repeats both
  doubts.tick(now_ += milliseconds(1));
  EXPECT_EQ(told_, std::vector{true});
}

TEST_F(AdapterDoubtsTest, TriesAgainUntilSomebodyAnswers) {
  set(kSilent, kAll);
  doubts_.doubt(kHere, kSilent, now_);
  for (int tries = 1; tries <= 3; ++tries) {
    pass(kReachProbeTime);
    ASSERT_EQ(told_.size(), static_cast<std::size_t>(tries));
    mark(false);
    pass(seconds(1));
  }
  table_.apply({1, 0, ++generation_, {adapter(kAnswers, kAll)}});
  pass(kReachProbeTime);
  pass(seconds(1));
  pass(milliseconds(1));
  EXPECT_TRUE(told_.back());
}

TEST_F(AdapterDoubtsTest, OneTestAtATime) {
  set(kSilent, kAll);
  for (int n = 0; n < 10; ++n) doubts_.doubt(kHere, kSilent, now_);
  pass(kReachProbeTime);
  EXPECT_EQ(told_.size(), 1U);
  doubts_.doubt(kHere, kSilent, now_);
  pass(milliseconds(1));
  EXPECT_EQ(told_.size(), 1U) << "not at once again";
}

TEST_F(AdapterDoubtsTest, WhatTheKernelKnowsIsNoDoubt) {
  set(kSilent, kAll, AdapterCause::kNoCarrier);
  doubts_.doubt(kHere, kSilent, now_);
  doubts_.doubt(kAnswers, kSilent, now_);  // nobody's address
  EXPECT_FALSE(doubts_.deadline());
}

TEST_F(AdapterDoubtsTest, OneThatIsAloneIsNotBlamed) {
  set(kSilent, kLoopback);  // on another network
  doubts_.doubt(kHere, kSilent, now_);
  EXPECT_EQ(told_, std::vector{true});
}

TEST_F(AdapterDoubtsTest, AnAddressThatNoDaemonHasProvesNothing) {
  table_.set_own({adapter(kHere, kAll)});
  doubts_.doubt(kHere, kSilent, now_);
  pass(kReachProbeTime);
  EXPECT_EQ(told_, std::vector{true});
}

// With several adapters: the one behind it is looked at in the row as it is then (address sanitizer).
TEST_F(AdapterDoubtsTest, WhatIsToldMayChangeTheRow) {
  AdapterStatus second = adapter(kHere, kLoopback);
  second.name = "second";
  table_.set_own({adapter(kHere, kLoopback, AdapterCause::kUnreachable), second});
  std::vector<std::string> told;
  AdapterDoubts doubts(universe_, table_, [&](const std::string& name, bool) {
    told.push_back(name);
    auto adapters = table_.own_row().adapters;
    for (AdapterStatus& adapter : adapters) adapter.since = told.size() + 1;
    adapters.resize(1);
    table_.set_own(std::move(adapters));
  });
  doubts.doubt(kHere, kSilent, now_);
  EXPECT_EQ(told, std::vector<std::string>{"lo"}) << "the other one has gone";
}

TEST_F(AdapterDoubtsTest, ThisMachineDoesNotAskItself) {
  set(kHere, kLoopback);
  doubts_.doubt(kHere, kHere, now_);
  EXPECT_EQ(told_, std::vector{true}) << "and is alone";
}

}  // namespace
}  // namespace openlapi::daemon
