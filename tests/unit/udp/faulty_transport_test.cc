// The decorator over real sockets on loopback, where nothing else loses or reorders.
#include "tests/support/faulty_transport.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "tests/unit/udp/udp_pair.h"

namespace openlapi::test {
namespace {

constexpr std::uint32_t kPackets = 4000;

struct Outcome {
  std::vector<std::uint32_t> numbers;  // as they arrived; damaged ones are left out
  std::uint32_t damaged = 0;
  FaultCounters faults;

  std::map<std::uint32_t, unsigned> copies() const {
    std::map<std::uint32_t, unsigned> counted;
    for (const std::uint32_t number : numbers) ++counted[number];
    return counted;
  }
};

std::vector<std::byte> numbered(std::uint32_t number) {
  std::vector<std::byte> bytes = packet_bytes(number, 64);
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

Outcome run(const FaultPlan& plan, std::uint64_t seed) {
  auto receiver = open_on_loopback();
  FaultyTransport sender(open_on_loopback(), plan, seed);
  std::string error;
  EXPECT_TRUE(sender.add_peer(1, receiver->local_address(), error)) << error;
  Outcome outcome;
  const auto drain = [&] {
    std::array<IncomingPacket, 16> packets;
    const std::size_t count = receiver->receive_burst(packets);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t number = 0;
      std::memcpy(&number, packets[i].data, sizeof(number));
      const std::vector<std::byte> expected = numbered(number);
      const bool whole = std::equal(expected.begin(), expected.end(), packets[i].data);
      whole ? outcome.numbers.push_back(number) : void(++outcome.damaged);
    }
    receiver->release(count);
    return count;
  };
  for (std::uint32_t number = 0; number < kPackets; ++number) {
    const std::vector<std::byte> bytes = numbered(number);
    const ConstBuffer piece{bytes.data(), bytes.size()};
    const OutgoingPacket packet{{&piece, 1}, 64};
    EXPECT_TRUE(poll_until([&] { return sender.send_burst(1, {&packet, 1}) == 1; }));
    drain();
  }
  IncomingPacket none;
  for (std::uint32_t i = 0; i <= plan.longest_delay; ++i) EXPECT_EQ(sender.receive_burst({&none, 1}), 0u);
  outcome.faults = sender.faults();
  const std::uint64_t expected = kPackets + outcome.faults.duplicated - outcome.faults.lost;
  EXPECT_TRUE(poll_until([&] { return drain() == 0 && outcome.numbers.size() + outcome.damaged >= expected; }));
  EXPECT_EQ(outcome.numbers.size() + outcome.damaged, expected);
  return outcome;
}

TEST(FaultyTransport, WithoutFaultsItIsTransparent) {
  const Outcome outcome = run({}, 1);
  ASSERT_EQ(outcome.numbers.size(), kPackets);
  EXPECT_TRUE(std::is_sorted(outcome.numbers.begin(), outcome.numbers.end()));
}

TEST(FaultyTransport, LosesItsShare) {
  const Outcome outcome = run({.loss = 0.2}, 2);
  EXPECT_NEAR(static_cast<double>(outcome.faults.lost), 0.2 * kPackets, 0.03 * kPackets);
  EXPECT_EQ(outcome.copies().size(), kPackets - outcome.faults.lost);
}

TEST(FaultyTransport, DoublesItsShare) {
  const Outcome outcome = run({.duplication = 0.2}, 3);
  EXPECT_NEAR(static_cast<double>(outcome.faults.duplicated), 0.2 * kPackets, 0.03 * kPackets);
  EXPECT_EQ(outcome.copies().size(), kPackets);
}

TEST(FaultyTransport, DelaysWithinItsBound) {
  const Outcome outcome = run({.delay = 0.3, .longest_delay = 10}, 4);
  EXPECT_NEAR(static_cast<double>(outcome.faults.delayed), 0.3 * kPackets, 0.03 * kPackets);
  EXPECT_EQ(outcome.copies().size(), kPackets);
  EXPECT_FALSE(std::is_sorted(outcome.numbers.begin(), outcome.numbers.end()));
  for (std::uint32_t i = 0; i < outcome.numbers.size(); ++i) {
    EXPECT_LE(std::abs(static_cast<long>(outcome.numbers[i]) - static_cast<long>(i)), 10);
  }
}

TEST(FaultyTransport, DamagesItsShare) {
  const Outcome outcome = run({.corruption = 0.1}, 5);
  EXPECT_EQ(outcome.damaged, outcome.faults.corrupted);
  EXPECT_NEAR(static_cast<double>(outcome.damaged), 0.1 * kPackets, 0.03 * kPackets);
}

TEST(FaultyTransport, LimitsTellTheTruth) {
  const FaultyTransport harmless(open_on_loopback(), {}, 1);
  EXPECT_TRUE(harmless.limits().checked);
  const FaultyTransport damaging(open_on_loopback(), {.corruption = 0.1}, 1);
  EXPECT_FALSE(damaging.limits().checked);
}

TEST(FaultyTransport, ASeedIsReplayed) {
  const FaultPlan everything{.loss = 0.2, .duplication = 0.2, .delay = 0.2, .corruption = 0.05};
  const Outcome first = run(everything, 77);
  const Outcome again = run(everything, 77);
  const Outcome other = run(everything, 78);
  EXPECT_EQ(first.numbers, again.numbers);
  EXPECT_NE(first.numbers, other.numbers);
}

}  // namespace
}  // namespace openlapi::test
