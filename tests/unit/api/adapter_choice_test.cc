// Which adapters a context opens: table 12 of the guide, for IP.
#include "api/wiring/adapter_choice.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace openlapi {
namespace {

LocalAdapter adapter(const char* name, const char* address, const char* mask = "255.255.255.0", bool up = true) {
  return {name, {inet_addr(address)}, 1500, up, {inet_addr(mask)}};
}

std::vector<std::string> chosen(const std::vector<LocalAdapter>& adapters, bool all_networks, int instances) {
  std::vector<std::string> texts;
  for (const in_addr address : choose_adapters(adapters, {.all_networks = all_networks, .instances = instances})) {
    texts.push_back(to_text(address));
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

TEST(AdapterChoice, AllIsSoManyOfEachNetwork) {
  EXPECT_EQ(chosen(kNode, true, 1), (Texts{"10.0.0.3", "192.168.9.7"}));
  EXPECT_EQ(chosen(kNode, true, 2), (Texts{"10.0.0.3", "10.0.0.20", "192.168.9.7"}));
}

TEST(AdapterChoice, MoreThanThereAreIsAllThatThereAre) {
  EXPECT_EQ(chosen(kNode, false, 100), (Texts{"10.0.0.3", "10.0.0.20", "10.0.0.100"}));
  EXPECT_EQ(chosen(kNode, true, 100).size(), 4u);
  std::vector<LocalAdapter> many;
  for (int i = 1; i <= 12; ++i) many.push_back(adapter("x", ("10.1.0." + std::to_string(i)).c_str()));
  EXPECT_EQ(chosen(many, false, 100).size(), kMostAdapters);
  EXPECT_EQ(chosen(many, true, 100).back(), "10.1.0.8");
}

TEST(AdapterChoice, MasksTellNetworksApart) {
  const std::vector<LocalAdapter> node = {adapter("a", "10.0.1.1", "255.255.0.0"),
                                          adapter("b", "10.0.2.1", "255.255.0.0"), adapter("c", "10.1.2.1")};
  EXPECT_EQ(chosen(node, true, 1), (Texts{"10.0.1.1", "10.1.2.1"}));
}

TEST(AdapterChoice, WhatCannotServeIsLeftOut) {
  const std::vector<LocalAdapter> node = {adapter("lo", "127.0.0.1", "255.0.0.0"), adapter("a", "10.0.0.1"),
                                          adapter("b", "10.0.0.2", "255.255.255.0", false)};
  EXPECT_EQ(chosen(node, true, 4), (Texts{"10.0.0.1"}));
  EXPECT_TRUE(chosen({node[0]}, true, 4).empty());
}

}  // namespace
}  // namespace openlapi
