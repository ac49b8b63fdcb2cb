// A transport that follows what a daemon says of the peers' adapters, with the page and the socket of a daemon.
#include "api/wiring/followed_transport.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "control/client/adapter_watch.h"
#include "nic/udp/udp_transport.h"
#include "tests/unit/control/adapter_page_daemon.h"

namespace openlapi {
namespace {

using daemon::AdapterCause;

constexpr PeerIndex kPeer = 7, kOther = 8;

in_addr address(const char* text) {
  in_addr result{};
  inet_pton(AF_INET, text, &result);
  return result;
}

class FollowedTransportTest : public testing::Test, protected test::AdapterPageDaemon {
 protected:
  // One adapter of a node for each address.
  void write(const std::map<std::string, std::uint8_t>& causes) {
    daemon::NodeAdapters row{1, 0, 1, {}};
    for (const auto& [text, cause] : causes) {
      const in_addr bytes = address(text.c_str());
      const auto* first = reinterpret_cast<const std::uint8_t*>(&bytes);
      row.adapters.push_back({text, daemon::AdapterKind::kInterface, cause, 0, 1, {{{first, first + 4}, 8}}});
    }
    page_.write({{1, row}});
  }
  void open(const char* own = "127.0.0.1", AdapterAddressOf address_of = udp_adapter_address,
            AdapterKind kind = AdapterKind::interface) {
    std::string error;
    std::unique_ptr<AdapterWatch> watch;
    answer([&] { watch = AdapterWatch::open(folder_.path(), error); });
    ASSERT_TRUE(watch) << error;
    UdpConfig config;
    config.address = address(own);
    UdpSetupError reason;
    auto udp = open_udp_transport(config, reason);
    ASSERT_TRUE(udp) << reason.text;
    transport_ = followed(std::move(udp), std::make_shared<PeerAdapters>(std::move(watch), [this] { ++ends_told_; }),
                          true, std::move(address_of), kind);
    link_ = transport_->capabilities().link_status;
    wake_ = transport_->capabilities().wake_source;
    ASSERT_TRUE(link_ && wake_);
    ASSERT_TRUE(transport_->add_peer(kPeer, make_udp_address(address("127.0.0.7"), 9), error)) << error;
    ASSERT_TRUE(transport_->add_peer(kOther, make_udp_address(address("127.0.0.8"), 9), error)) << error;
    link_->look();
  }
  bool is_readable() const { return AdapterPageDaemon::is_readable(wake_->descriptor()); }

  int ends_told_ = 0;  // of the daemon
  std::unique_ptr<Transport> transport_{};
  LinkStatus* link_ = nullptr;
  WakeSource* wake_ = nullptr;
};

TEST_F(FollowedTransportTest, APeerWhoseAdapterIsDownIsNotReached) {
  write({{"127.0.0.7", AdapterCause::kUp}});
  open();
  EXPECT_TRUE(link_->reaches(kPeer) && link_->reaches(kOther));
  const std::uint32_t before = link_->changes();
  link_->look();
  EXPECT_EQ(link_->changes(), before) << "nothing has changed";
  write({{"127.0.0.7", AdapterCause::kNoCarrier}});
  link_->look();
  EXPECT_NE(link_->changes(), before);
  EXPECT_FALSE(link_->reaches(kPeer));
  EXPECT_TRUE(link_->reaches(kOther)) << "nobody has said anything of it";
  write({{"127.0.0.7", AdapterCause::kUp}});
  link_->look();
  EXPECT_TRUE(link_->reaches(kPeer));
}

// As of an RDMA device: its GID is what the daemons know.
TEST_F(FollowedTransportTest, AnAdapterMayBeKnownByItsGid) {
  const daemon::MessageBytes gid{0xfe, 0x80, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  daemon::NodeAdapters row{1, 0, 1, {}};
  row.adapters.push_back({"rdma", daemon::AdapterKind::kPort, AdapterCause::kPortDown, 0, 1, {{gid, 64}}});
  page_.write({{1, row}});
  const auto gid_of = [&](const PeerAddress& peer, PacketAddress& found) {
    std::copy(gid.begin(), gid.end(), found.begin());
    found[15] = std::to_integer<std::uint8_t>(peer.bytes[3]) == 7 ? std::uint8_t{9} : std::uint8_t{10};
    return true;
  };
  open("127.0.0.1", gid_of);
  EXPECT_FALSE(link_->reaches(kPeer));
  EXPECT_TRUE(link_->reaches(kOther));
}

// As RoCE has it; and each may be down while the other one serves.
TEST_F(FollowedTransportTest, AnInterfaceAndAPortMayHaveOneAddress) {
  const auto expect = [&](std::uint8_t interface, std::uint8_t port, AdapterKind kind, bool is_reached) {
    daemon::NodeAdapters row{1, 0, 1, {}};
    const std::vector<daemon::AdapterAddress> both{{{127, 0, 0, 7}, 8}};
    row.adapters.push_back({"eth0", daemon::AdapterKind::kInterface, interface, 0, 1, both});
    row.adapters.push_back({"rdma0:1", daemon::AdapterKind::kPort, port, 0, 1, both});
    page_.write({{1, row}});
    open("127.0.0.1", udp_adapter_address, kind);
    EXPECT_EQ(link_->reaches(kPeer), is_reached) << int{interface} << ' ' << int{port};
  };
  for (const AdapterKind kind : {AdapterKind::interface, AdapterKind::port}) {
    const bool is_port = kind == AdapterKind::port;
    expect(AdapterCause::kUp, AdapterCause::kUp, kind, true);
    expect(AdapterCause::kTakenDown, AdapterCause::kUp, kind, is_port);
    expect(AdapterCause::kUp, AdapterCause::kPortDown, kind, !is_port);
    expect(AdapterCause::kUp, AdapterCause::kRemoved, kind, !is_port);
    expect(AdapterCause::kTakenDown, AdapterCause::kPortDown, kind, false);
  }
}

TEST_F(FollowedTransportTest, APortIsWhatItsInterfaceIsWhereNobodyKnowsMore) {
  write({{"127.0.0.7", AdapterCause::kNoCarrier}, {"127.0.0.8", AdapterCause::kUp}});
  open("127.0.0.1", udp_adapter_address, AdapterKind::port);
  EXPECT_FALSE(link_->reaches(kPeer));
  EXPECT_TRUE(link_->reaches(kOther));
}

TEST_F(FollowedTransportTest, WhatTheDaemonsCannotKnowIsNotFollowed) {
  std::string error;
  std::unique_ptr<AdapterWatch> watch;
  answer([&] { watch = AdapterWatch::open(folder_.path(), error); });
  ASSERT_TRUE(watch) << error;
  UdpConfig config;
  config.address = address("127.0.0.1");
  UdpSetupError reason;
  auto udp = open_udp_transport(config, reason);
  const Transport* const itself = udp.get();
  const auto nothing = [](const PeerAddress&, PacketAddress&) { return false; };
  EXPECT_EQ(followed(std::move(udp), std::make_shared<PeerAdapters>(std::move(watch)), true, nothing).get(), itself);
}

TEST_F(FollowedTransportTest, WhatWasDownBeforeIsKnown) {
  write({{"127.0.0.7", AdapterCause::kTakenDown}});
  open();
  EXPECT_FALSE(link_->reaches(kPeer));
}

TEST_F(FollowedTransportTest, NobodyIsReachedOverAnAdapterThatIsDownHere) {
  write({{"127.0.0.1", AdapterCause::kUnreachable}});
  open();
  EXPECT_FALSE(link_->reaches(kPeer) || link_->reaches(kOther));
}

TEST_F(FollowedTransportTest, APeerThatHasMovedHasAnotherAdapter) {
  write({{"127.0.0.7", AdapterCause::kNoCarrier}});
  open();
  std::string error;
  ASSERT_TRUE(transport_->add_peer(kPeer, make_udp_address(address("127.0.0.9"), 9), error)) << error;
  EXPECT_TRUE(link_->reaches(kPeer));
}

TEST_F(FollowedTransportTest, NewsWakeWhoeverSleeps) {
  open();
  EXPECT_TRUE(wake_->arm() || wake_->arm());
  EXPECT_FALSE(is_readable());
  write({{"127.0.0.7", AdapterCause::kNoCarrier}});
  tell(task_);
  EXPECT_TRUE(is_readable());
  wake_->disarm();
  EXPECT_FALSE(wake_->arm()) << "look again";
  EXPECT_TRUE(wake_->arm());
  EXPECT_FALSE(is_readable());
}

TEST_F(FollowedTransportTest, TheDaemonHearsOfAPathThatFailed) {
  open("127.0.0.3");
  link_->path_failed(kPeer);
  const daemon::MessageBytes here{127, 0, 0, 3}, there{127, 0, 0, 7};
  EXPECT_EQ(next_message(task_), daemon::DaemonMessage(daemon::PathReport{here, there}));
}

TEST_F(FollowedTransportTest, ADaemonThatHasEndedKnowsNothing) {
  write({{"127.0.0.7", AdapterCause::kNoCarrier}});
  open();
  EXPECT_FALSE(link_->reaches(kPeer));
  EXPECT_EQ(ends_told_, 0);
  task_.close();
  EXPECT_FALSE(wake_->arm());
  EXPECT_EQ(ends_told_, 1);
  link_->look();
  EXPECT_TRUE(link_->reaches(kPeer));
  EXPECT_TRUE(wake_->arm());
  EXPECT_FALSE(is_readable()) << "its end wakes once";
}

TEST_F(FollowedTransportTest, WhoNeverSleepsHearsOfTheDaemonsEnd) {
  write({{"127.0.0.7", AdapterCause::kNoCarrier}});
  open();
  for (int n = 0; n < 1000; ++n) link_->look();
  EXPECT_FALSE(link_->reaches(kPeer)) << "it lives";
  const std::uint32_t before = link_->changes();
  task_.close();
  for (int n = 0; n < 1000; ++n) link_->look();
  EXPECT_EQ(ends_told_, 1);
  EXPECT_TRUE(link_->reaches(kPeer));
  EXPECT_NE(link_->changes(), before);
  EXPECT_TRUE(wake_->arm());
  EXPECT_FALSE(is_readable()) << "whoever sleeps after all is not woken by it for ever";
}

// Of whom others hear what it is told, and the other way round.
class TwoWaySource final : public AdapterSource {
 public:
  const char* name() const override { return "somebody"; }
  bool knows_all() const override { return false; }
  const std::atomic<std::uint32_t>& changes() const override { return changes_; }
  bool read(std::vector<AdapterPlace>& places, std::uint32_t& seen) const override {
    places = down_;
    seen = changes_;
    return true;
  }
  int descriptor() const override { return -1; }
  bool drain() override { return true; }
  void report(std::span<const std::uint8_t>, std::span<const std::uint8_t>) override {}
  void set_own(std::span<const std::uint8_t, 16> address, bool is_up) override {
    told.emplace_back(address.back(), is_up);
  }
  void say_down(PacketAddress address) {
    AdapterPlace place;
    place.length = 16;
    place.address = address;
    down_.push_back(place);
    ++changes_;
  }

  std::vector<std::pair<int, bool>> told{};  // last byte of the address, and whether it is up

 private:
  std::vector<AdapterPlace> down_{};
  std::atomic<std::uint32_t> changes_ = 0;
};

// Whose link can be taken away; nothing is sent.
class LinkedTransport final : public Transport, private LinkStatus {
 public:
  std::string_view name() const override { return "linked"; }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override { return make_udp_address(address("127.0.0.1"), 9); }
  TransportCapabilities capabilities() override { return {.link_status = this}; }
  TransportCounters counters() const override { return {}; }
  void release(std::size_t) override {}
  bool add_peer(PeerIndex, const PeerAddress&, std::string&) override { return true; }
  std::size_t send_burst(PeerIndex, std::span<const OutgoingPacket>) override { return 0; }
  std::size_t receive_burst(std::span<IncomingPacket>) override { return 0; }
  void set_up(bool is_up) {
    is_up_ = is_up;
    ++changes_;
  }

 private:
  const std::atomic<std::uint32_t>& changes() const override { return changes_; }
  void look() override {}
  std::uint32_t words_against(PeerIndex) const override { return is_up_ ? 0 : 1; }
  const char* told_by(PeerIndex) const override { return nullptr; }
  void path_failed(PeerIndex) override {}

  TransportLimits limits_{};
  bool is_up_ = true;
  std::atomic<std::uint32_t> changes_ = 0;
};

class TwoWayTransportTest : public testing::Test {
 protected:
  TwoWayTransportTest() {
    auto source = std::make_unique<TwoWaySource>();
    auto linked = std::make_unique<LinkedTransport>();
    source_ = source.get();
    linked_ = linked.get();
    transport_ = followed(std::move(linked), std::make_shared<PeerAdapters>(std::move(source)), false);
    link_ = transport_->capabilities().link_status;
  }
  void add_peer() {
    std::string error;
    ASSERT_TRUE(transport_->add_peer(kPeer, make_udp_address(address("127.0.0.7"), 9), error)) << error;
  }

  TwoWaySource* source_ = nullptr;
  LinkedTransport* linked_ = nullptr;
  std::unique_ptr<Transport> transport_{};
  LinkStatus* link_ = nullptr;
};

TEST_F(TwoWayTransportTest, OthersAreToldOfTheAdapterHere) {
  using Told = std::vector<std::pair<int, bool>>;
  linked_->set_up(false);
  link_->look();
  EXPECT_EQ(source_->told, Told{}) << "there is nobody yet";
  add_peer();
  link_->look();
  link_->look();
  EXPECT_EQ(source_->told, (Told{{1, false}})) << "once";
  linked_->set_up(true);
  link_->look();
  EXPECT_EQ(source_->told, (Told{{1, false}, {1, true}}));
}

TEST_F(TwoWayTransportTest, WhoSaysThatALinkIsDownIsKnown) {
  add_peer();
  link_->look();
  EXPECT_EQ(link_->told_by(kPeer), nullptr);
  source_->say_down({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 7});
  link_->look();
  EXPECT_FALSE(link_->reaches(kPeer));
  EXPECT_STREQ(link_->told_by(kPeer), "somebody");
  const std::uint32_t told = link_->words_against(kPeer);
  EXPECT_NE(told, 0u);
  linked_->set_up(false);
  EXPECT_EQ(link_->told_by(kPeer), nullptr) << "it is seen here";
  const std::uint32_t both = link_->words_against(kPeer);
  EXPECT_EQ(both & told, told);
  EXPECT_NE(both, told) << "which is news of its own";
}

TEST_F(FollowedTransportTest, WithoutADaemonItIsTheTransportItself) {
  UdpConfig config;
  config.address = address("127.0.0.1");
  UdpSetupError reason;
  auto udp = open_udp_transport(config, reason);
  const Transport* before = udp.get();
  EXPECT_EQ(followed(std::move(udp), nullptr, true).get(), before);
}

}  // namespace
}  // namespace openlapi
