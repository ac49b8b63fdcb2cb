#include "api/wiring/networks.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/wiring/network_agreement.h"
#include "api/wiring/unlisted_adapter.h"
#include "nic/udp/udp_transport.h"

namespace openlapi {
namespace {

// Task 0 of two, without a launcher, at nine addresses of the loopback.
class NamedAdapters : public testing::Test, protected AddressSource {
 protected:
  NamedAdapters() {
    const std::map<std::string, const char*> environment{{"MP_CHILD", "0"}, {"MP_PROCS", "2"}, {"MP_PARTITION", "7"}};
    std::string error;
    bool missing = false;
    task_ = open_standalone_bootstrap(
        [&](const char* name) {
          const auto found = environment.find(name);
          return found == environment.end() ? nullptr : found->second;
        },
        std::nullopt, error, missing);
    settings_.info_level = kLevelWarning;
    for (int n = 1; n != 10; ++n) settings_.inet_addresses.push_back({"127.0.0." + std::to_string(n), "lo"});
  }
  bool for_each_adapter(std::uint32_t, std::size_t adapters) const override { return has_all_ && adapters == entries_; }
  bool list(const LocalPlace& place, std::vector<UdpAddress>& tasks, OpenFailure&) override {
    EXPECT_EQ(place.adapters, entries_) << "so many entries a task has in the program's list";
    asked_.push_back(place.adapter);
    for (std::uint32_t task = 0; task != place.tasks; ++task) {
      tasks.push_back({{inet_addr(task == 1 ? other_task_ : "127.0.0.1")}, port()});
    }
    return true;
  }
  static std::uint16_t port() { return static_cast<std::uint16_t>(20'000 + getpid() % 10'000); }
  NetworkRequest request() {
    return {.settings = settings_,
            .bootstrap = *task_,
            .instance = 1,
            .generation = 0,
            .epoch = 1,
            .addresses = this,
            .tell = tell_};
  }
  std::string said_when_opened() {
    OpenFailure failure;
    testing::internal::CaptureStderr();
    const bool opened = open_udp_networks(request(), opened_, failure);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(opened) << failure.text;
    return said;
  }

  std::shared_ptr<Bootstrap> task_{};
  Settings settings_{};
  bool has_all_ = true;      // the program's list, for each adapter
  std::size_t entries_ = 9;  // of each task there
  const char* other_task_ = "127.0.0.1";  // where the list has it
  TellNotice tell_ = nullptr;
  std::vector<std::uint32_t> asked_{};
  OpenNetworks opened_{};
};

TEST_F(NamedAdapters, OfAStandaloneTaskTheFirstEightAreUsed) {
  const std::string said = said_when_opened();
  EXPECT_NE(said.find("MP_LAPI_INET_ADDR names 9 adapters, of which the first 8 are used"), std::string::npos) << said;
  EXPECT_EQ(opened_.networks.size(), 8u);
  EXPECT_EQ(asked_, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

std::string noticed;

TEST_F(NamedAdapters, WhatDoesNotOpenIsToldAndTheOthersAreUsed) {
  noticed.clear();
  settings_.inet_addresses[0].address = settings_.inet_addresses[4].address = "192.0.2.1";  // no machine has it
  tell_ = [](Notice notice, int, const std::string& text) {
    if (notice == Notice::failover_without_adapters) noticed += text + "\n";
  };
  static_cast<void>(said_when_opened());
  ASSERT_EQ(opened_.networks.size(), 6u);
  EXPECT_EQ(opened_.networks[0].number, 1u) << "they keep their numbers";
  EXPECT_EQ(opened_.networks[5].number, 7u);
  EXPECT_EQ(noticed.find("Task 0 has 6 of the 8 adapters that were asked for ("), 0u) << noticed;
  EXPECT_NE(noticed.find("192.0.2.1"), std::string::npos) << noticed;
}

TEST_F(NamedAdapters, WhereNoneOpensItIsAnError) {
  settings_.inet_addresses = {{"192.0.2.1", "lo"}, {"192.0.2.1", "lo"}};
  entries_ = 2;
  OpenFailure failure;
  EXPECT_FALSE(open_udp_networks(request(), opened_, failure));
  EXPECT_EQ(failure.kind, FailureKind::socket);
  EXPECT_NE(failure.text.find("192.0.2.1"), std::string::npos) << failure.text;
}

TEST_F(NamedAdapters, WhatTheProgramHasNoAddressesForIsAtThePortOfTheFirst) {
  has_all_ = false;
  const std::string said = said_when_opened();
  EXPECT_NE(said.find("names 9 adapters, of which the first 8 are used"), std::string::npos) << said;
  ASSERT_EQ(opened_.networks.size(), 8u);
  const PeerAddress first = opened_.transports[0]->local_address();
  for (std::size_t adapter = 1; adapter != 8; ++adapter) {
    Transport& transport = *opened_.transports[adapter];
    EXPECT_EQ(opened_.networks[adapter].transport, &transport);
    EXPECT_EQ(opened_.networks[adapter].addresses, std::vector(2, unlisted_address(adapter)));
    EXPECT_EQ(transport.local_address(), unlisted_address(adapter)) << "what others know it by at first";
    transport.capabilities().link_status->look();
    const PeerAddress own = transport.local_address();
    EXPECT_TRUE(std::ranges::equal(own.view().subspan(4), first.view().subspan(4))) << "its port";
    EXPECT_EQ(own.bytes[3], static_cast<std::byte>(adapter + 1)) << "of its own address";
  }
}

bool is_free(const char* address, std::uint16_t port) {
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = inet_addr(address);
  place.sin_port = htons(port);
  const bool bound = bind(descriptor, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
  close(descriptor);
  return bound;
}

TEST_F(NamedAdapters, WhatIsAnotherTasksPlaceInTheListIsLeftToIt) {
  has_all_ = false;
  other_task_ = "127.0.0.2";
  static_cast<void>(said_when_opened());
  ASSERT_EQ(opened_.networks.size(), 8u);
  EXPECT_FALSE(is_free("127.0.0.1", port())) << "its own";
  EXPECT_TRUE(is_free("127.0.0.2", port())) << "the other task comes here";
  EXPECT_FALSE(is_free("127.0.0.3", port())) << "nobody else's";
}

TEST_F(NamedAdapters, WhatTheProgramHasNoAddressesForTakesAnotherPortWhereThatOfTheFirstIsInUse) {
  has_all_ = false;
  UdpConfig config;
  config.address.s_addr = inet_addr("127.0.0.2");
  config.port = port();
  UdpSetupError reason;
  const std::unique_ptr<Transport> program = open_udp_transport(config, reason);
  ASSERT_TRUE(program) << reason.text;
  static_cast<void>(said_when_opened());
  ASSERT_EQ(opened_.networks.size(), 8u);
  opened_.transports[1]->capabilities().link_status->look();
  const PeerAddress own = opened_.transports[1]->local_address();
  EXPECT_EQ(own.bytes[3], std::byte{2}) << "of its own address";
  EXPECT_NE(own, program->local_address());
}

TEST_F(NamedAdapters, WhereTheProgramHasAddressesOfTheFirstAloneThatOneHasToOpen) {
  has_all_ = false;
  settings_.inet_addresses[0].address = "192.0.2.1";
  OpenFailure failure;
  EXPECT_FALSE(open_udp_networks(request(), opened_, failure));
  EXPECT_NE(failure.text.find("192.0.2.1"), std::string::npos) << failure.text;
}

// Task 0 of two on two nodes, under a launcher.
class OnTwoNodes final : public Bootstrap {
 public:
  std::string_view name() const override { return "pmix"; }
  std::uint32_t task() const override { return 0; }
  std::uint32_t size() const override { return 2; }
  const std::vector<std::uint32_t>& local_tasks() const override { return near_; }
  std::uint64_t job_cookie() const override { return 1; }
  bool can_exchange() const override { return true; }
  bool put(std::string_view key, std::span<const std::byte>, std::string&) override {
    keys.emplace_back(key);
    return true;
  }
  bool exchange(std::string&) override { return true; }
  bool get(std::uint32_t, std::string_view, unsigned, std::vector<std::byte>& value, std::string&) override {
    ++asked;
    value = encode(NodeNetworks{{}, {0, 1}});
    return true;
  }
  bool barrier(std::string&) override { return true; }
  void abort(int, std::string_view) override {}

  std::vector<std::string> keys{};
  unsigned asked = 0;

 private:
  std::vector<std::uint32_t> near_{0};
};

TEST(NetworksOfOneTask, AreExchangedOnceWhateverItAsksFor) {
  std::string interface;  // none but the loopback: the machine has no network
  for (const LocalAdapter& adapter : list_adapters()) {
    if (adapter.up && ntohl(adapter.address.s_addr) >> 24 != 127) interface = adapter.name;
  }
  std::vector<Settings> all(3);
  all[1].instances = 2;
  all[2].device = "sn_single";
  if (!interface.empty()) {
    all.push_back(all[1]);
    all.back().device = interface;
  }
  for (const Settings& settings : all) {
    for (const bool user_space : {false, true}) {
      OnTwoNodes bootstrap;
      unsigned exchanges = 0;
      const NetworkRequest request{.settings = settings,
                                   .bootstrap = bootstrap,
                                   .instance = 2,
                                   .generation = 0,
                                   .epoch = 1,
                                   .exchange =
                                       [&] {
                                         EXPECT_FALSE(bootstrap.keys.empty());
                                         return ++exchanges != 0;
                                       },
                                   .agreement = 4};
      OpenNetworks opened;
      OpenFailure failure;
      // Where this machine has no such adapter it fails, after the exchange.
      static_cast<void>((user_space ? open_user_space_networks : open_udp_networks)(request, opened, failure));
      EXPECT_EQ(exchanges, 1u) << settings.device << " " << settings.instances << " " << failure.text;
      ASSERT_FALSE(bootstrap.keys.empty());
      EXPECT_EQ(bootstrap.keys.front(), user_space ? "openlapi.networks.4.verbs" : "openlapi.networks.4.udp");
      const bool asks = settings.device == "sn_single" || (settings.device.empty() && settings.instances > 1);
      EXPECT_EQ(bootstrap.asked != 0, asks) << settings.device << " " << settings.instances;
    }
  }
}

}  // namespace
}  // namespace openlapi
