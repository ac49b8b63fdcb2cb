// Which devices of a module a context opens: table 12 of the guide, for user space mode.
#include "api/wiring/device_choice.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace openlapi {
namespace {

using Names = std::vector<std::string>;

ModuleDevice device(const std::string& name, const char* address, std::uint8_t fabric = 3) {
  ModuleDevice made{.name = name, .state = {}, .reason = {}, .eligible = true};
  made.address = ntohl(inet_addr(address));
  made.network[8] = fabric;
  return made;
}

ModuleDevice exclusive(const std::string& name) {
  ModuleDevice made{.name = name, .state = {}, .reason = {}, .eligible = true, .exclusive = true};
  return made;
}

LocalAdapter interface(const char* name, const char* address) {
  return {name, {inet_addr(address)}, 1500, true, {inet_addr("255.255.255.0")}, {}};
}

const std::vector<LocalAdapter> kInterfaces = {interface("r0", "10.0.0.1"), interface("r1", "10.0.0.2"),
                                               interface("r2", "10.0.1.1")};
const std::vector<ModuleDevice> kDevices = {device("rdma0", "10.0.0.1"), device("rdma1", "10.0.0.2"),
                                            device("rdma2", "10.0.1.1")};

Names chosen(const DeviceRequest& request, const std::vector<ModuleDevice>& devices = kDevices) {
  Names names;
  for (const ChosenDevice& one : choose_devices(devices, kInterfaces, request).chosen) names.push_back(one.name);
  return names;
}

TEST(DeviceChoice, GoesByTheKernelsSubnets) {
  EXPECT_EQ(chosen({.instances = 8}), (Names{"rdma0", "rdma1"}));
  EXPECT_EQ(chosen({.all_networks = true}), (Names{"rdma0", "rdma2"}));
  EXPECT_EQ(chosen({.all_networks = true, .instances = 2}), (Names{"rdma0", "rdma2", "rdma1"}));
  const std::vector<ChosenDevice> places = choose_devices(kDevices, kInterfaces, {.all_networks = true}).chosen;
  ASSERT_TRUE(places[1].place);
  EXPECT_EQ(to_text(places[1].place->address), "10.0.1.1");
  EXPECT_EQ(to_text(places[1].place->mask), "255.255.255.0");
}

TEST(DeviceChoice, IsTheFirstNetworkIfNothingIsAskedFor) {
  const std::vector<ModuleDevice> devices = {kDevices[2], kDevices[0], kDevices[1]};
  EXPECT_EQ(chosen({.first_network = true}, devices), Names{"rdma2"});
  EXPECT_EQ(chosen({}, devices), Names{"rdma0"});
  EXPECT_EQ(chosen({.local_number = 1}, devices), Names{"rdma1"});
}

// A task's contexts, like a node's tasks, begin with different ones.
TEST(DeviceChoice, SpreadsTheContextsOfATask) {
  EXPECT_EQ(chosen({.context = 1}), Names{"rdma0"});
  EXPECT_EQ(chosen({.context = 2}), Names{"rdma1"});
  EXPECT_EQ(chosen({.context = 3}), Names{"rdma0"});
  EXPECT_EQ(chosen({.context = 2, .local_number = 1}), Names{"rdma0"});
}

TEST(DeviceChoice, TellsNetworksApartByWhatTheModuleSays) {
  const std::vector<ModuleDevice> devices = {device("infiniband0", "0.0.0.0", 1), device("roce0", "0.0.0.0", 3)};
  EXPECT_EQ(chosen({.all_networks = true}, devices), (Names{"infiniband0", "roce0"}));
  EXPECT_EQ(chosen({.instances = 2}, devices), Names{"infiniband0"});
}

TEST(DeviceChoice, LeavesOutWhatIsNotEligible) {
  std::vector<ModuleDevice> devices = kDevices;
  devices[0].eligible = false;
  EXPECT_EQ(chosen({.all_networks = true, .instances = 2}, devices), (Names{"rdma1", "rdma2"}));
  EXPECT_EQ(chosen({}, {}), Names{""}) << "the module says why there is none";
}

TEST(DeviceChoice, LeavesOneDeviceOfAContextToTheModule) {
  const std::vector<ModuleDevice> devices = {exclusive("net0"), exclusive("net1"), exclusive("net2")};
  EXPECT_EQ(chosen({.local_number = 1}, devices), Names{""});
  EXPECT_EQ(chosen({.instances = 2, .local_number = 1}, devices), (Names{"net0", "net1"}));
  EXPECT_EQ(chosen({.instances = 2, .context = 2}, devices), Names{"net2"});
  EXPECT_EQ(chosen({.instances = 2, .context = 3}, devices), Names{""});
}

}  // namespace
}  // namespace openlapi
