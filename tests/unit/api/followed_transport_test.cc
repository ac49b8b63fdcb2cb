// A UDP transport that follows what a daemon says of the peers' adapters, with the page and the socket of a daemon.
#include "api/wiring/followed_transport.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <map>
#include <thread>

#include "control/daemon/adapters/adapter_page_writer.h"
#include "control/daemon/session/session_folder.h"
#include "nic/udp/udp_transport.h"
#include "tests/unit/control/temporary_folder.h"

namespace openlapi {
namespace {

using daemon::AdapterCause;

constexpr PeerIndex kPeer = 7, kOther = 8;

in_addr address(const char* text) {
  in_addr result{};
  inet_pton(AF_INET, text, &result);
  return result;
}

void await(int descriptor) {
  pollfd wait{descriptor, POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 30'000), 1);
}

class FollowedTransportTest : public testing::Test {
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
  void tell() {
    task_.send(daemon::AdaptersChanged{});
    EXPECT_TRUE(task_.flush());
  }
  void open(const char* own = "127.0.0.1") {
    std::thread daemon([this] {
      await(listener_.get());
      task_ = {FileDescriptor(accept(listener_.get(), nullptr, nullptr)), std::make_unique<daemon::MessageStream>()};
      tell();
    });
    std::string error;
    auto watch = AdapterWatch::open(folder_.path(), error);
    daemon.join();
    ASSERT_TRUE(watch) << error;
    UdpConfig config;
    config.address = address(own);
    UdpSetupError reason;
    auto udp = open_udp_transport(config, reason);
    ASSERT_TRUE(udp) << reason.text;
    transport_ = followed(std::move(udp), std::make_shared<PeerAdapters>(std::move(watch)), true);
    link_ = transport_->capabilities().link_status;
    wake_ = transport_->capabilities().wake_source;
    ASSERT_TRUE(link_ && wake_);
    ASSERT_TRUE(transport_->add_peer(kPeer, make_udp_address(address("127.0.0.7"), 9), error)) << error;
    ASSERT_TRUE(transport_->add_peer(kOther, make_udp_address(address("127.0.0.8"), 9), error)) << error;
    link_->look();
  }
  bool is_readable() const {
    pollfd wait{wake_->descriptor(), POLLIN, 0};
    return poll(&wait, 1, 0) == 1;
  }

  test::TemporaryFolder parent_{};
  daemon::SessionFolder folder_{parent_.path("session")};
  FileDescriptor listener_ = folder_.listen_to_tools();
  daemon::AdapterPageWriter page_{daemon::adapter_page(folder_.path())};
  daemon::Connection task_{FileDescriptor(), nullptr};
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
  tell();
  EXPECT_TRUE(is_readable());
  wake_->disarm();
  EXPECT_FALSE(wake_->arm()) << "look again";
  EXPECT_TRUE(wake_->arm());
  EXPECT_FALSE(is_readable());
}

TEST_F(FollowedTransportTest, TheDaemonHearsOfAPathThatFailed) {
  open("127.0.0.3");
  link_->path_failed(kPeer);
  std::optional<daemon::MessageBytes> bytes;
  for (int message = 0; message != 2; ++message) {  // the first one says that it follows
    while (!(bytes = task_.stream().next())) {
      await(task_.fd());
      ASSERT_TRUE(task_.serve());
    }
  }
  const daemon::MessageBytes here{127, 0, 0, 3}, there{127, 0, 0, 7};
  EXPECT_EQ(daemon::decode(*bytes), daemon::DaemonMessage(daemon::PathReport{here, there}));
}

TEST_F(FollowedTransportTest, ADaemonThatHasEndedKnowsNothing) {
  write({{"127.0.0.7", AdapterCause::kNoCarrier}});
  open();
  EXPECT_FALSE(link_->reaches(kPeer));
  task_.close();
  EXPECT_FALSE(wake_->arm());
  link_->look();
  EXPECT_TRUE(link_->reaches(kPeer));
  EXPECT_TRUE(wake_->arm());
  EXPECT_FALSE(is_readable()) << "its end wakes once";
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
