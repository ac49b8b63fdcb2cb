#include "api/wiring/routes.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/api/two_adapters.h"

namespace openlapi {
namespace {

PublishedAddress some_address() {
  PublishedAddress published;
  published.epoch = 0x060501020304;
  published.tags = true;
  std::memcpy(published.address.bytes.data(), "abcdef", 6);
  published.address.length = 6;
  return published;
}

TEST(PublishedAddress, CarriesEpochAndTagsInFrontOfTheAddress) {
  const std::vector<std::byte> bytes = encode(some_address());
  ASSERT_EQ(bytes.size(), 15u);
  EXPECT_EQ(std::memcmp(bytes.data(), "\4\3\2\1\5\6\0\0\x11\141bcdef", 15), 0);
  PublishedAddress read;
  std::string reason;
  ASSERT_TRUE(decode(bytes, read, reason));
  EXPECT_EQ(read.epoch, 0x060501020304u);
  EXPECT_TRUE(read.tags);
  ASSERT_EQ(read.address.length, 6u);
  EXPECT_EQ(std::memcmp(read.address.bytes.data(), "abcdef", 6), 0);
}

TEST(PublishedAddress, RefusesWhatHoldsNoAddressOrTooLongOne) {
  PublishedAddress read;
  std::string reason;
  for (const std::size_t length : {std::size_t{0}, std::size_t{3}, PeerAddress::kCapacity + 10}) {
    reason.clear();
    EXPECT_FALSE(decode(std::vector<std::byte>(length), read, reason)) << length;
    EXPECT_NE(reason.find(std::to_string(length) + " bytes"), std::string::npos) << reason;
  }
  EXPECT_TRUE(decode(std::vector<std::byte>(PeerAddress::kCapacity + 9), read, reason));
  EXPECT_EQ(read.address.length, PeerAddress::kCapacity);
}

TEST(PublishedAddress, SaysThatTheTaskHasNone) {
  PublishedAddress read;
  std::string reason;
  EXPECT_FALSE(decode(encode({.epoch = 7, .address = {}, .tags = true, .adapters = 3}), read, reason));
  EXPECT_EQ(reason, "the task has none");
  EXPECT_EQ(read.adapters, 3) << "further ones may have an address";
}

TEST(ContextRoutes, SaysOnceThatThereIsNoWay) {
  const std::map<std::string, const char*> environment{{"MP_CHILD", "0"}, {"MP_PROCS", "2"}, {"MP_PARTITION", "7"}};
  const auto read = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second;
  };
  std::string error;
  bool missing = false;
  const std::shared_ptr<Bootstrap> task = open_standalone_bootstrap(read, std::nullopt, error, missing);
  ASSERT_TRUE(task) << error;
  testing::internal::CaptureStderr();
  {
    ContextRoutes routes(task, {}, {}, {}, 0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(routes.resolve(1).count, 0u);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "openlapi: task 0 has no way to task 1: the task is on another node and no network transport is open\n");
}

PeerAddress address_of(const std::string& text) {
  PeerAddress address;
  std::memcpy(address.bytes.data(), text.data(), text.size());
  address.length = static_cast<std::uint32_t>(text.size());
  return address;
}

TEST(ContextRoutes, AnAddressThatHasChangedIsKnownByThatWhichWasPublished) {
  TwoAdapters adapters;
  adapters.publish({"first", "second"}, false);
  ContextRoutes routes(adapters.tasks, {}, {}, adapters.networks, 0);
  EXPECT_FALSE(routes.address_changed(1, address_of("second"), address_of("third"))) << "it was not talked to";
  EXPECT_EQ(routes.resolve(1).count, 2u);
  for (const std::string present : {"third", "fourth", "second", "fifth"}) {
    EXPECT_TRUE(routes.address_changed(1, address_of("second"), address_of(present)));
    EXPECT_EQ(adapters.transports[1].addresses[1], present);
  }
  EXPECT_FALSE(routes.address_changed(1, address_of("fourth"), address_of("sixth")));
  EXPECT_EQ(adapters.transports[0].addresses[1], "first");
  EXPECT_EQ(routes.resolve(1).count, 2u);
  EXPECT_EQ(adapters.transports[1].addresses[1], "second") << "as it is published";
  EXPECT_TRUE(routes.address_changed(1, address_of("second"), address_of("third")));
}

// The transports of this task's adapters on the networks 10.0.0 and 10.0.1, after it has looked for task 1, whose first
// adapter is on 10.0.1 and whose second one on 10.0.2.
std::array<RecordingTransport, 2> resolved(bool other_has_chosen) {
  TwoAdapters adapters;
  adapters.publish({"first", "second"}, other_has_chosen);
  if (other_has_chosen) {
    adapters.tasks->published[places_key(address_keys(1, 0))] =
        encode(std::vector{chosen("10.0.1.2"), chosen("10.0.2.2")});
  }
  adapters.networks[0].chosen = chosen("10.0.0.1");
  adapters.networks[1].chosen = chosen("10.0.1.1");
  const Route route = adapters.resolve();
  EXPECT_EQ(route.count, 2u);
  EXPECT_EQ(route.paths[0] == &adapters.transports[0], !other_has_chosen) << "that of one network is the first path";
  EXPECT_EQ(adapters.tasks->waits, 0);
  return adapters.transports;
}

TEST(ContextRoutes, LeadToTheAdapterOfTheSameNetwork) {
  const std::array<RecordingTransport, 2> transports = resolved(true);
  EXPECT_EQ(transports[1].addresses.at(1), "first");
  EXPECT_EQ(transports[0].addresses.at(1), "second");
}

TEST(ContextRoutes, LeadToTheAdapterOfTheSameNumberIfTheOtherTaskHasChosenNone) {
  const std::array<RecordingTransport, 2> transports = resolved(false);
  EXPECT_EQ(transports[0].addresses.at(1), "first");
  EXPECT_EQ(transports[1].addresses.at(1), "second");
}

// A UDP address without a port.
std::string at(const char* address) {
  const in_addr ipv4{inet_addr(address)};
  return {reinterpret_cast<const char*>(&ipv4), sizeof(ipv4)};
}

// Task 0 has two adapters, at these addresses, and so has task 1, which is looked for.
struct Ends {
  std::array<RecordingTransport, 2> transports{};
  std::vector<std::pair<std::size_t, PeerIndex>> others{};  // the adapter here, and the number
};
Ends ends_of(const std::array<const char*, 2>& here, const std::array<const char*, 2>& there) {
  TwoAdapters adapters;
  adapters.publish({at(there[0]), at(there[1])}, false);
  for (std::size_t n = 0; n != 2; ++n) {
    adapters.networks[n].own = chosen(here[n]);
    adapters.networks[n].place_of = place_of_ipv4;
  }
  const Route route = adapters.resolve();
  EXPECT_EQ(route.count, 2u);
  Ends ends{.transports = adapters.transports};
  for (const OtherEnd& end : route.other_ends) {
    ends.others.emplace_back(end.path == &adapters.transports[0] ? 0 : 1, end.number);
  }
  return ends;
}

TEST(ContextRoutes, CanLeadToEachAdapterOfOneNetwork) {
  const Ends ends = ends_of({"10.0.0.1", "10.0.0.2"}, {"10.0.0.3", "10.0.0.4"});
  ASSERT_EQ(ends.others.size(), 2u);
  for (const auto& [adapter, number] : ends.others) {
    EXPECT_GE(number, 2u) << "no task has it";
    EXPECT_EQ(ends.transports[adapter].addresses.at(number), at(adapter == 0 ? "10.0.0.4" : "10.0.0.3"));
    EXPECT_EQ(ends.transports[adapter].addresses.at(1), at(adapter == 0 ? "10.0.0.3" : "10.0.0.4"));
  }
}

// Where the addresses do not tell where adapters are, the other task does.
std::size_t other_ends(bool placed, const std::array<const char*, 2>& there, std::size_t own = 2) {
  TwoAdapters adapters;
  adapters.publish({"first", "second"}, false, placed);
  adapters.tasks->published[places_key(address_keys(1, 0))] = encode(std::vector{chosen(there[0]), chosen(there[1])});
  for (std::size_t n = 0; n != own; ++n) adapters.networks[n].own = chosen(n == 0 ? "10.0.0.1" : "10.0.0.2");
  const Route route = adapters.resolve();
  EXPECT_EQ(route.count, 2u);
  EXPECT_EQ(adapters.transports[0].addresses.at(1), "first") << "whatever else is told";
  return route.other_ends.size();
}

TEST(ContextRoutes, CanLeadToEachAdapterOfWhichThePeerTellsThatItIsNear) {
  EXPECT_EQ(other_ends(true, {"10.0.0.3", "10.0.0.4"}), 2u);
  EXPECT_EQ(other_ends(false, {"10.0.0.3", "10.0.0.4"}), 0u);
  EXPECT_EQ(other_ends(true, {"10.0.0.3", "10.0.0.4"}, 1), 0u) << "the peer is not told where those here are";
}

// Which adapters here can lead to which ones there that are not of their number.
std::set<std::pair<std::size_t, std::size_t>> crossings(const std::array<ChosenAdapter, 2>& here,
                                                        const std::array<ChosenAdapter, 2>& there) {
  TwoAdapters adapters;
  adapters.publish({"first", "second"}, false, true);
  adapters.tasks->published[places_key(address_keys(1, 0))] = encode(there);
  for (std::size_t n = 0; n != 2; ++n) adapters.networks[n].own = here[n];
  std::set<std::pair<std::size_t, std::size_t>> found;
  for (const OtherEnd& end : adapters.resolve().other_ends) {
    found.insert({end.path == &adapters.transports[0] ? 0 : 1, end.number / 2 - 1});
  }
  return found;
}

TEST(ContextRoutes, LeadAcrossForBothTasksOrForNone) {
  const ChosenAdapter unknown{};
  const std::array<ChosenAdapter, 5> places = {unknown, chosen("10.0.0.1"), chosen("10.0.0.2"), chosen("10.0.1.1"),
                                               chosen("10.0.1.2")};
  for (unsigned which = 0; which != 625; ++which) {
    const std::array<ChosenAdapter, 2> here = {places[which % 5], places[which / 5 % 5]};
    const std::array<ChosenAdapter, 2> there = {places[which / 25 % 5], places[which / 125]};
    const auto from_here = crossings(here, there);
    EXPECT_EQ(crossings(there, here).size(), from_here.size()) << which;
    for (const auto& [one, other] : from_here) {
      EXPECT_TRUE(crossings(there, here).contains({other, one})) << which;
    }
  }
  EXPECT_EQ(crossings({places[1], places[3]}, {places[2], places[4]}).size(), 0u);
  EXPECT_EQ(crossings({places[1], unknown}, {unknown, unknown}).size(), 2u);
}

TEST(ContextRoutes, SayToWhichAdapterAPathLeads) {
  TwoAdapters adapters;
  const ContextRoutes routes(adapters.tasks, {}, {}, adapters.networks, 0);
  EXPECT_EQ(routes.name_of(adapters.transports[1], 1), "adapter 1 (recording)");
  EXPECT_EQ(routes.name_of(adapters.transports[1], 1 + 2), "adapter 1 (recording to adapter 0 there)");
}

TEST(ContextRoutes, DoNotLeadIntoAnotherNetwork) {
  EXPECT_TRUE(ends_of({"10.0.0.1", "10.0.1.1"}, {"10.0.0.3", "10.0.1.3"}).others.empty());
}

TEST(ContextRoutes, CanLeadToEachAdapterBehindARouter) {
  EXPECT_EQ(ends_of({"10.0.0.1", "10.0.1.1"}, {"10.0.2.3", "10.0.3.3"}).others.size(), 2u);
}

TEST(ContextRoutes, WaitForNoAdapterThatTheOtherTaskDoesNotHave) {
  for (const bool chosen_here : {false, true}) {
    TwoAdapters adapters;
    adapters.publish({"only"}, false);
    if (chosen_here) {
      adapters.networks[0].chosen = chosen("10.0.0.1");
      adapters.networks[1].chosen = chosen("10.0.1.1");
    }
    EXPECT_EQ(adapters.resolve().count, 1u);
    EXPECT_EQ(adapters.transports[0].addresses.at(1), "only");
    EXPECT_EQ(adapters.tasks->waits, 0);
  }
}

// This task has its second adapter only.
std::string reason_without_first(std::vector<std::byte> published) {
  TwoAdapters adapters;
  adapters.networks.erase(adapters.networks.begin());
  adapters.tasks->published[adapters.networks[0].keys + "0"] = std::move(published);
  const Route route = adapters.resolve();
  EXPECT_EQ(route.count, 0u);
  EXPECT_EQ(adapters.tasks->waits, 0);
  return route.reason;
}

TEST(ContextRoutes, SayWhyNoPairIsFound) {
  EXPECT_EQ(reason_without_first(std::vector<std::byte>(3)), "recording: the task published an address of 3 bytes");
  EXPECT_EQ(reason_without_first(published_address("", false, 1)), "recording: the task has none");
}

// Adapters that a task has opened, of those that it names; the others have failed.
using Opened = std::map<std::size_t, const char*>;
// Which of them lead where, from `task` with the former ones to the other one with the latter. Each has named three.
std::set<std::pair<std::size_t, std::size_t>> pairs_of(const Opened& here, const Opened& there, PeerIndex task = 0) {
  std::array<RecordingTransport, 3> transports{};
  auto tasks = std::make_shared<TwoTasks>(task);
  std::vector<ContextRoutes::Network> networks;
  for (const auto& [number, address] : here) {
    ContextRoutes::Network& network = networks.emplace_back();
    network.transport = &transports[number];
    network.keys = address_keys(1, 0);
    network.number = number;
    network.own = chosen(address);
    network.place_of = place_of_ipv4;
  }
  for (std::size_t number = 0; number != 3; ++number) {
    const auto opened = there.find(number);
    tasks->published[address_keys(1, 0) + std::to_string(number)] =
        published_address(opened != there.end() ? at(opened->second) : "", false, 3);
  }
  const Route route = ContextRoutes(tasks, {}, {}, networks, 0).resolve(1 - task);
  EXPECT_EQ(tasks->waits, 0);
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t number = 0; number != transports.size(); ++number) {
    const auto led = transports[number].addresses.find(1 - task);
    if (led == transports[number].addresses.end()) continue;
    for (const auto& [other, address] : there) {
      if (at(address) == led->second) pairs.insert({number, other});
    }
  }
  EXPECT_EQ(route.count, pairs.size());
  return pairs;
}

TEST(ContextRoutes, PairWhatHasOpenedWhereAtEachEndAnotherOneHasFailed) {
  using Pairs = std::set<std::pair<std::size_t, std::size_t>>;
  const char* const one = "10.0.0.1";
  EXPECT_EQ(pairs_of({{0, one}}, {{1, "10.0.0.2"}}), (Pairs{{0, 1}}));
  EXPECT_EQ(pairs_of({{0, one}}, {{1, "10.0.1.2"}}), (Pairs{{0, 1}})) << "a router may connect them";
  EXPECT_EQ(pairs_of({{2, one}, {1, "10.0.1.1"}}, {{0, "10.0.1.2"}, {2, "10.0.0.2"}}), (Pairs{{2, 2}, {1, 0}}));
  EXPECT_EQ(pairs_of({{2, one}, {1, "10.0.1.1"}}, {{0, "10.0.2.2"}, {2, "10.0.0.2"}}), (Pairs{{2, 2}}))
      << "nothing tells that they would reach each other";
  EXPECT_EQ(pairs_of({{0, one}, {1, "10.0.1.1"}}, {{1, "10.0.1.2"}}), (Pairs{{1, 1}}));
  EXPECT_EQ(pairs_of({{0, one}}, {{0, "10.0.0.2"}, {1, "10.0.0.3"}}), (Pairs{{0, 0}}));
}

// Both are to come to the same pairs, or neither knows who sends.
TEST(ContextRoutes, PairWhatHasOpenedAlikeInBothTasks) {
  const std::array<const char*, 3> places = {"10.0.0.1", "10.0.0.2", "10.0.1.1"};
  const auto opened = [&](unsigned which, unsigned first) {
    Opened some;
    for (std::size_t number = 0; number != 3; ++number) {
      if ((which >> number & 1) != 0) some[number] = places[(number + first) % 3];
    }
    return some;
  };
  for (unsigned which = 0; which != 7 * 7 * 9; ++which) {
    const Opened here = opened(which % 7 + 1, which / 49 % 3), there = opened(which / 7 % 7 + 1, which / 147);
    const auto from_here = pairs_of(here, there);
    EXPECT_FALSE(from_here.empty()) << which;
    std::set<std::pair<std::size_t, std::size_t>> turned;
    for (const auto& [one, other] : pairs_of(there, here, 1)) turned.insert({other, one});
    EXPECT_EQ(turned, from_here) << which;
  }
}

TEST(ContextRoutes, LeadToTheSecondAdapterOfATaskWhoseFirstOneDoesNotOpen) {
  TwoAdapters adapters;
  adapters.publish({"", "second"}, false);
  EXPECT_EQ(adapters.resolve().count, 1u);
  EXPECT_EQ(adapters.transports[1].addresses.at(1), "second");
}

TEST(PublishedAdapters, AreThoseThatHaveOpened) {
  TwoAdapters adapters;
  const std::string keys = address_keys(1, 0);
  EXPECT_EQ(published_adapters(*adapters.tasks, keys, 1), 0u) << "it is not known";
  for (const auto& [first, second, opened] :
       {std::tuple{"first", "second", 2u}, {"first", "", 1u}, {"", "second", 1u}, {"", "", 0u}}) {
    adapters.publish({first, second}, false);
    EXPECT_EQ(published_adapters(*adapters.tasks, keys, 1), opened) << first << second;
  }
}

TEST(ContextRoutes, LeadOverALastResortOnlyWhereNothingElseServes) {
  for (const bool first_serves : {true, false}) {
    TwoAdapters adapters;
    adapters.networks[1].keys = "others";
    adapters.networks[1].number = 0;
    adapters.networks[0].is_last_resort = adapters.networks[1].is_last_resort = true;
    adapters.publish({first_serves ? "first" : ""}, false);
    adapters.tasks->published["others0"] = published_address("resort", false, 1);
    const Route route = adapters.resolve();
    EXPECT_EQ(route.count, 1u);
    EXPECT_EQ(route.paths[0] == &adapters.transports[0], first_serves);
  }
}

}  // namespace
}  // namespace openlapi
