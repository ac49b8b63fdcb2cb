#include "control/daemon/adapters/own_adapters.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "nic/links/kernel_links.h"
#include "tests/unit/control/temporary_folder.h"

namespace openlapi::daemon {
namespace {

constexpr std::uint64_t kHour = 3'600'000;

SeenAdapter seen(const std::string& name, bool enabled = true, bool running = true) {
  SeenAdapter adapter{name, AdapterKind::kInterface, enabled, running};
  adapter.speed = 1000;
  adapter.addresses = {{{10, 0, 0, 1}, 24}};
  return adapter;
}

std::uint8_t cause_after(const SeenAdapter& now) {
  const auto after = updated(updated({}, {seen("e")}, 1), {now}, 2);
  return after.size() == 1 ? after[0].cause : 0xff;
}

TEST(OwnAdapters, SaysWhySomethingIsDown) {
  EXPECT_EQ(cause_after(seen("e")), AdapterCause::kUp);
  EXPECT_EQ(cause_after(seen("e", false, false)), AdapterCause::kTakenDown);
  EXPECT_EQ(cause_after(seen("e", true, false)), AdapterCause::kNoCarrier);
  SeenAdapter bare = seen("e");
  bare.addresses.clear();
  EXPECT_EQ(cause_after(bare), AdapterCause::kNoAddress);
  const auto gone = updated(updated({}, {seen("e")}, 1), {}, 2);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].cause, AdapterCause::kRemoved);
  EXPECT_EQ(gone[0].addresses, seen("e").addresses) << "the last ones stay";
}

TEST(OwnAdapters, SaysSinceWhen) {
  auto adapters = updated({}, {seen("e")}, 1);
  adapters = updated(adapters, {seen("e")}, 2);
  EXPECT_EQ(adapters[0].since, 1U);
  adapters = updated(adapters, {seen("e", true, false)}, 3);
  adapters = updated(adapters, {seen("e", true, false)}, 4);
  EXPECT_EQ(adapters[0].since, 3U);
  adapters = updated(adapters, {seen("e")}, 5);
  EXPECT_EQ(adapters[0].since, 5U);
}

TEST(OwnAdapters, NobodyAnswersUntilSomebodyDoes) {
  const auto unreachable = marked(updated({}, {seen("e")}, 1), "e", false, 2);
  EXPECT_EQ(unreachable[0].cause, AdapterCause::kUnreachable);
  EXPECT_EQ(unreachable[0].since, 2U);
  EXPECT_EQ(updated(unreachable, {seen("e")}, 3), unreachable) << "the kernel knows nothing of it";
  EXPECT_EQ(marked(unreachable, "e", false, 3), unreachable);
  EXPECT_EQ(marked(unreachable, "other", true, 3), unreachable);
  EXPECT_TRUE(marked(unreachable, "e", true, 3)[0].is_up());
  const auto down = updated(unreachable, {seen("e", true, false)}, 4);
  EXPECT_EQ(down[0].cause, AdapterCause::kNoCarrier);
  EXPECT_EQ(marked(down, "e", true, 5), down) << "the kernel knows better";
  EXPECT_EQ(marked(down, "e", false, 5), down);
  EXPECT_TRUE(updated(down, {seen("e")}, 6)[0].is_up());
}

TEST(OwnAdapters, TakesNewAddressesAndSpeeds) {
  SeenAdapter other = seen("e");
  other.addresses = {{{10, 0, 0, 2}, 24}};
  other.speed = 0;
  const auto adapters = updated(updated({}, {seen("e")}, 1), {other}, 2);
  EXPECT_EQ(adapters[0].addresses, other.addresses);
  EXPECT_EQ(adapters[0].speed, 1000U) << "the last one that was known";
}

TEST(OwnAdapters, WhatCountsAsOne) {
  SeenAdapter bare = seen("bare");
  bare.addresses.clear();
  SeenAdapter unused_bridge = seen("docker0", true, false);
  SeenAdapter bridge = seen("bridge");
  unused_bridge.is_bridge = bridge.is_bridge = true;
  SeenAdapter port{"rxe0:1", AdapterKind::kPort, true, false};
  const auto adapters = updated({}, {bare, unused_bridge, bridge, seen("unplugged", true, false), port}, 1);
  ASSERT_EQ(adapters.size(), 3U);
  EXPECT_EQ(adapters[0].name, "bridge");
  EXPECT_EQ(adapters[1].name, "unplugged");
  EXPECT_EQ(adapters[1].cause, AdapterCause::kNoCarrier);
  EXPECT_EQ(adapters[2].cause, AdapterCause::kPortDown);
  bridge.running = false;
  EXPECT_EQ(updated(adapters, {bridge}, 2)[0].cause, AdapterCause::kNoCarrier) << "it was up once";
}

TEST(OwnAdapters, AnAddressThatMovesTakesTheAdapterAlong) {
  SeenAdapter bare = seen("e");
  bare.addresses.clear();
  const auto before = updated({}, {seen("e")}, 1);
  for (const auto& now : {std::vector{seen("renamed")}, std::vector{bare, seen("bridge")}}) {
    const auto after = updated(before, now, 2);
    ASSERT_EQ(after.size(), 1U);
    EXPECT_EQ(after[0].name, now.back().name);
  }
  SeenAdapter other = seen("other");
  other.addresses = {{{10, 0, 0, 2}, 24}};
  EXPECT_EQ(updated(before, {bare, other}, 2).size(), 2U) << "another address";
  EXPECT_EQ(updated(before, {seen("e"), seen("twin")}, 2).size(), 2U) << "it has it, too";
  const auto back = updated(updated(before, {bare, seen("bridge")}, 2), {seen("e")}, 3);
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].name, "e") << "and back";
}

// As of RoCE, whose GID is the interface's address.
TEST(OwnAdapters, APortThatIsGoneHasNotMovedToItsInterface) {
  SeenAdapter port = seen("rxe0:1"), renamed = seen("rocep1s0:1");
  port.kind = renamed.kind = AdapterKind::kPort;
  const auto before = updated({}, {seen("e"), port}, 1);
  const auto after = updated(before, {seen("e")}, 2);
  ASSERT_EQ(after.size(), 2U);
  EXPECT_TRUE(after[0].is_up());
  EXPECT_EQ(after[1].name, "rxe0:1");
  EXPECT_EQ(after[1].cause, AdapterCause::kRemoved);
  EXPECT_EQ(updated(before, {seen("e"), renamed}, 2).size(), 2U) << "it was renamed";
  EXPECT_EQ(updated(before, {port}, 2).size(), 2U) << "nor has the interface moved to its port";
}

// Such names are not printed, but the adapters count like others.
TEST(OwnAdapters, OddNamesAreWrittenInOtherLetters) {
  for (const auto& [name, written] : {std::pair{"\xc3\xa9", "%c3%a9"},
                                      {"a\"b", "a%22b"},
                                      {"a\\b", "a%5cb"},
                                      {"\x1b[2J", "%1b[2J"},
                                      {"fifteen\x80letters", "fifteen%80letters"}}) {
    const auto first = updated({}, {seen(name)}, 1);
    ASSERT_EQ(first.size(), 1U) << written;
    EXPECT_EQ(first[0].name, written);
    const auto second = updated(first, {seen(name, false, false)}, 2);
    ASSERT_EQ(second.size(), 1U) << written;
    EXPECT_EQ(second[0].cause, AdapterCause::kTakenDown);
  }
  EXPECT_EQ(updated({}, {seen("\x80"), seen("%80")}, 1).size(), 1U) << "one that has another's name is left out";
}

TEST(OwnAdapters, ForgetsWhatIsLongGone) {
  const auto gone = updated(updated({}, {seen("e")}, 1), {}, 2);
  EXPECT_EQ(updated(gone, {}, 2 + kHour).size(), 1U);
  EXPECT_TRUE(updated(gone, {}, 3 + kHour).empty());
  EXPECT_EQ(updated(gone, {}, 1).size(), 1U) << "a clock that goes back";
}

TEST(OwnAdapters, HasSoManyAndNoMore) {
  std::vector<SeenAdapter> first, second;
  for (std::size_t n = 0; n < kMostAdapters; ++n) {
    first.push_back(seen("a" + std::to_string(n)));
    second.push_back(seen("b" + std::to_string(n)));
  }
  const auto before = updated({}, first, 1);
  ASSERT_EQ(before.size(), kMostAdapters);
  auto after = updated(before, second, 2);
  ASSERT_EQ(after.size(), kMostAdapters);
  for (const AdapterStatus& adapter : after) EXPECT_TRUE(adapter.is_up()) << adapter.name;
  first.insert(first.end(), second.begin(), second.end());
  after = updated(before, first, 2);
  ASSERT_EQ(after.size(), kMostAdapters);
  EXPECT_EQ(after[0].name, "a0");
}

TEST(OwnAdapters, ReadsTheInterfacesOfThisMachine) {
  KernelLinks kernel;
  std::string error;
  ASSERT_TRUE(kernel.open(error)) << error;
  for (const SeenAdapter& adapter : read_interfaces(kernel.table())) {
    EXPECT_NE(adapter.name, "lo");
    EXPECT_TRUE(adapter.enabled || !adapter.running) << adapter.name;
    for (const AdapterAddress& address : adapter.addresses) EXPECT_LE(address.prefix, 8 * address.bytes.size());
  }
}

void write_port(const std::filesystem::path& port, const std::string& state) {
  std::filesystem::create_directories(port / "gids");
  std::ofstream(port / "state") << state << "\n";
  std::ofstream(port / "rate") << "2.5 Gb/sec (1X SDR)\n";
  std::ofstream(port / "gids/0") << "fe80:0000:0000:0000:0077:00ff:fe00:0001\n";
  std::ofstream(port / "gids/1") << "0000:0000:0000:0000:0000:ffff:0a4d:0001\n";
  std::ofstream(port / "gids/2") << "0000:0000:0000:0000:0000:0000:0000:0000\n";
}

TEST(OwnAdapters, ReadsThePortsOfDevices) {
  const test::TemporaryFolder folder;
  write_port(folder.path("rxe0/ports/1"), "4: ACTIVE");
  write_port(folder.path("rxe1/ports/1"), "1: DOWN");
  SeenAdapter ethernet = seen("rdma0");
  ethernet.addresses = {{{10, 77, 0, 1}, 24}};
  const auto ports = read_ports(folder.path(), {ethernet});
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0].name, "rxe0:1");
  EXPECT_EQ(ports[0].speed, 2500U);
  EXPECT_TRUE(ports[0].running);
  EXPECT_FALSE(ports[1].running);
  ASSERT_EQ(ports[0].addresses.size(), 2U);
  EXPECT_EQ(ports[0].addresses[0].prefix, 64);
  EXPECT_EQ(ports[0].addresses[1], ethernet.addresses[0]);
  EXPECT_TRUE(read_ports(folder.path("none"), {}).empty());
}

}  // namespace
}  // namespace openlapi::daemon
