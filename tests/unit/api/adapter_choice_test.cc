// Which adapters a context opens: table 12 of the guide, for IP.
#include "api/wiring/adapter_choice.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/wiring/info_level.h"

namespace openlapi {
namespace {

LocalAdapter adapter(const std::string& name, const std::string& address, const char* mask = "255.255.255.0",
                     bool up = true) {
  return {name, {inet_addr(address.c_str())}, 1500, up, {inet_addr(mask)}, {}};
}

LocalAdapter port(const char* card, const char* name, const char* address) {
  LocalAdapter made = adapter(name, address);
  made.card = card;
  return made;
}

std::vector<std::string> chosen(const std::vector<LocalAdapter>& adapters, bool all_networks, int instances) {
  std::vector<std::string> texts;
  for (const ChosenAdapter& adapter :
       choose_adapters(usable_candidates(adapters), {.all_networks = all_networks, .instances = instances})) {
    texts.push_back(to_text(adapter.address));
  }
  return texts;
}

using Texts = std::vector<std::string>;

// Two networks, one with three adapters, in an order of their own.
const std::vector<LocalAdapter> kNode = {adapter("lo", "127.0.0.1", "255.0.0.0"), adapter("d", "192.168.9.7"),
                                         adapter("b", "10.0.0.20"), adapter("a", "10.0.0.3"),
                                         adapter("c", "10.0.0.100")};

TEST(AdapterChoice, SingleIsTheNetworkWithMostAdapters) {
  EXPECT_EQ(chosen(kNode, false, 1), (Texts{"10.0.0.3"}));
  EXPECT_EQ(chosen(kNode, false, 2), (Texts{"10.0.0.3", "10.0.0.20"}));
  EXPECT_EQ(chosen({adapter("y", "192.168.9.7"), adapter("x", "10.0.0.1")}, false, 1), (Texts{"10.0.0.1"}));
}

TEST(AdapterChoice, SingleIsTheNetworkThatAllHaveAgreedOn) {
  AdapterRequest request{.network = ChosenAdapter{{inet_addr("192.168.9.1")}, {inet_addr("255.255.255.0")}},
                         .instances = 2};
  const std::vector<AdapterCandidate> candidates = usable_candidates(kNode);
  ASSERT_EQ(choose_adapters(candidates, request).size(), 1u);
  EXPECT_EQ(to_text(choose_adapters(candidates, request)[0].address), "192.168.9.7");
  request.network->address.s_addr = inet_addr("192.168.8.1");
  EXPECT_TRUE(choose_adapters(candidates, request).empty());
}

TEST(AdapterChoice, TellsWhichNetworksThereAre) {
  const std::vector<NetworkSize> networks = networks_of(usable_candidates(kNode));
  ASSERT_EQ(networks.size(), 2u);
  EXPECT_EQ(to_text(networks[0].place.address), "10.0.0.3");
  EXPECT_EQ(networks[0].adapters, 3u);
  EXPECT_EQ(networks[1].adapters, 1u);
}

TEST(AdapterChoice, AllIsSoManyOfEachNetwork) {
  EXPECT_EQ(chosen(kNode, true, 1), (Texts{"10.0.0.3", "192.168.9.7"}));
  EXPECT_EQ(chosen(kNode, true, 2), (Texts{"10.0.0.3", "192.168.9.7", "10.0.0.20"}));
}

TEST(AdapterChoice, MoreThanThereAreIsAllThatThereAre) {
  EXPECT_EQ(chosen(kNode, false, 100), (Texts{"10.0.0.3", "10.0.0.20", "10.0.0.100"}));
  EXPECT_EQ(chosen(kNode, true, 100).size(), 4u);
  std::vector<LocalAdapter> many;
  for (int i = 1; i <= 12; ++i) many.push_back(adapter("x" + std::to_string(i), "10.1.0." + std::to_string(i)));
  EXPECT_EQ(chosen(many, false, 100).size(), kMostAdapters);
  EXPECT_EQ(chosen(many, true, 100).back(), "10.1.0.8");
  many.push_back(adapter("z", "10.2.0.1"));
  EXPECT_EQ(chosen(many, true, 100)[1], "10.2.0.1") << "no network is left out";
  EXPECT_EQ(chosen(many, true, 100).size(), kMostAdapters);
}

TEST(AdapterChoice, MoreThanEightAreSaidToBeLeftOut) {
  std::vector<LocalAdapter> many;
  for (int i = 1; i <= 9; ++i) many.push_back(adapter("x" + std::to_string(i), "10." + std::to_string(i) + ".0.1"));
  const auto said = [&](bool all_networks, std::size_t adapters, int level) {
    testing::internal::CaptureStderr();
    const std::vector<AdapterCandidate> candidates = usable_candidates({many.begin(), many.begin() + adapters});
    say_what_is_left_out(count_wanted(candidates, {.all_networks = all_networks}), level);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(true, 9, kLevelWarning),
            "openlapi: MP_EUIDEVICE and MP_INSTANCES ask for 9 adapters of a task on this node, of which 8 are used\n");
  EXPECT_EQ(said(true, 9, kLevelError), "");
  EXPECT_EQ(said(true, 8, kLevelWarning), "");
  EXPECT_EQ(said(false, 9, kLevelWarning), "");
}

TEST(AdapterChoice, MasksTellNetworksApart) {
  const std::vector<LocalAdapter> node = {adapter("a", "10.0.1.1", "255.255.0.0"),
                                          adapter("b", "10.0.2.1", "255.255.0.0"), adapter("c", "10.1.2.1")};
  EXPECT_EQ(chosen(node, true, 1), (Texts{"10.0.1.1", "10.1.2.1"}));
}

TEST(AdapterChoice, CardsComeBeforeTheSecondPortsOfOne) {
  const std::vector<LocalAdapter> node = {port("A", "a0", "10.0.0.1"), port("A", "a1", "10.0.0.2"),
                                          port("B", "b0", "10.0.0.3"), port("B", "b1", "10.0.0.4")};
  EXPECT_EQ(chosen(node, false, 2), (Texts{"10.0.0.1", "10.0.0.3"}));
  EXPECT_EQ(chosen(node, false, 8), (Texts{"10.0.0.1", "10.0.0.3", "10.0.0.2", "10.0.0.4"}));
  const std::vector<LocalAdapter> two_networks = {port("A", "a0", "10.0.0.1"), port("B", "b0", "10.0.0.2"),
                                                  port("A", "a1", "10.0.1.1"), port("B", "b1", "10.0.1.2")};
  EXPECT_EQ(chosen(two_networks, true, 1), (Texts{"10.0.0.1", "10.0.1.2"}));
}

TEST(AdapterChoice, AnAdapterWithSeveralAddressesOfANetworkIsOne) {
  const std::vector<LocalAdapter> node = {adapter("a", "10.0.0.5"), adapter("a", "10.0.0.4"), adapter("b", "10.0.1.1"),
                                          adapter("c", "10.0.1.2")};
  EXPECT_EQ(chosen(node, true, 8), (Texts{"10.0.0.5", "10.0.1.1", "10.0.1.2"}));
  EXPECT_EQ(chosen(node, false, 1), (Texts{"10.0.1.1"}));
  const std::vector<LocalAdapter> labelled = {adapter("a", "10.0.0.5"), adapter("a:1", "10.0.0.2"),
                                              adapter("b", "10.0.0.6"), adapter("a", "10.0.1.1")};
  EXPECT_EQ(chosen(labelled, false, 3), (Texts{"10.0.0.5", "10.0.0.6"}));
  EXPECT_EQ(chosen(labelled, true, 1), (Texts{"10.0.0.5", "10.0.1.1"}));
}

TEST(AdapterChoice, AFurtherAddressIsOfTheSameCard) {
  const std::vector<LocalAdapter> node = {adapter("a", "10.0.0.1"), adapter("a:1", "10.0.1.1"),
                                          adapter("b", "10.0.1.2")};
  EXPECT_EQ(chosen(node, true, 1), (Texts{"10.0.0.1", "10.0.1.2"}));
}

TEST(AdapterChoice, ACardIsKnownByItsPlaceInTheKernel) {
  EXPECT_EQ(card_of("/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1"),
            "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00");
  EXPECT_EQ(card_of("/sys/devices/pci0000:00/0000:00:03.0/virtio1"), "/sys/devices/pci0000:00/0000:00:03.0/virtio1");
  EXPECT_EQ(card_of(""), "");
}

TEST(AdapterChoice, WhatCannotServeIsLeftOut) {
  const std::vector<LocalAdapter> node = {adapter("lo", "127.0.0.1", "255.0.0.0"), adapter("a", "10.0.0.1"),
                                          adapter("b", "10.0.0.2", "255.255.255.0", false)};
  EXPECT_EQ(chosen(node, true, 4), (Texts{"10.0.0.1"}));
  EXPECT_TRUE(chosen({node[0]}, true, 4).empty());
}

AdapterCandidate candidate(const char* name, const char* card = "", bool is_far = false) {
  return {{}, name, *card != '\0' ? card : name, is_far};
}

TEST(AdapterChoice, TasksOfANodeTakeDifferentAdapters) {
  const std::vector<AdapterCandidate> four = {candidate("a"), candidate("b"), candidate("c"), candidate("d")};
  for (unsigned task = 0; task != 8; ++task) {
    EXPECT_EQ(choose_among(four, {.turn = task}), (std::vector<std::size_t>{task % 4}));
    EXPECT_EQ(choose_among(four, {.instances = 9, .turn = task}).size(), 4u);
  }
  EXPECT_EQ(choose_among(four, {.instances = 2, .turn = 3}), (std::vector<std::size_t>{3, 0}));
}

TEST(AdapterChoice, NearAdaptersComeFirst) {
  const std::vector<AdapterCandidate> four = {candidate("a", "", true), candidate("b"), candidate("c", "", true),
                                              candidate("d")};
  EXPECT_EQ(choose_among(four, {}), (std::vector<std::size_t>{1}));
  EXPECT_EQ(choose_among(four, {.turn = 1}), (std::vector<std::size_t>{3}));
  EXPECT_EQ(choose_among(four, {.instances = 4}), (std::vector<std::size_t>{1, 3, 0, 2}));
  const std::vector<AdapterCandidate> ports = {candidate("a", "near"), candidate("b", "near"),
                                               candidate("c", "far", true)};
  EXPECT_EQ(choose_among(ports, {.instances = 2}), (std::vector<std::size_t>{0, 2})) << "another card before its port";
}

TEST(AdapterChoice, EarlierContextsHaveTheFirstOnes) {
  const std::vector<AdapterCandidate> three = {candidate("a"), candidate("b"), candidate("c")};
  EXPECT_EQ(choose_among(three, {.instances = 2, .earlier = 2}), (std::vector<std::size_t>{2}));
  EXPECT_TRUE(choose_among(three, {.instances = 2, .earlier = 4}).empty());
}

}  // namespace
}  // namespace openlapi
