#include "api/wiring/unlisted_adapter.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/transport/link_status.h"
#include "tests/support/socket_task.h"

namespace openlapi {
namespace {

constexpr PeerIndex kPeer = 1;

class UnlistedAdapterTest : public testing::Test {
 protected:
  void SetUp() override {
    std::unique_ptr<Transport> inner = open_at(INADDR_LOOPBACK);
    real_address_ = inner->local_address();
    adapter_ = unlisted(std::move(inner), 3);
    link_ = adapter_->capabilities().link_status;
    ASSERT_NE(link_, nullptr);
  }
  bool add(const PeerAddress& address) {
    std::string error;
    const bool added = adapter_->add_peer(kPeer, address, error);
    EXPECT_TRUE(added) << error;
    return added;
  }
  // How many of the packet are taken.
  std::size_t send() {
    const std::array<std::byte, 64> bytes{};
    const ConstBuffer piece{bytes.data(), bytes.size()};
    const OutgoingPacket packet{{&piece, 1}, bytes.size()};
    return adapter_->send_burst(kPeer, {&packet, 1});
  }

  PeerAddress real_address_{};
  std::unique_ptr<Transport> adapter_{};
  LinkStatus* link_ = nullptr;
};

TEST_F(UnlistedAdapterTest, HasItsOwnAddressOnceOthersCanBeTold) {
  EXPECT_EQ(adapter_->local_address(), unlisted_address(3));
  const std::uint32_t before = link_->changes();
  link_->look();
  EXPECT_EQ(adapter_->local_address(), real_address_);
  EXPECT_NE(link_->changes(), before) << "nobody would look at the address";
  const std::uint32_t told = link_->changes();
  link_->look();
  EXPECT_EQ(link_->changes(), told);
}

TEST_F(UnlistedAdapterTest, LeadsToAPeerThatHasToldItsAddress) {
  const std::unique_ptr<Transport> peer = open_at(INADDR_LOOPBACK);
  ASSERT_TRUE(add(unlisted_address(3)));
  EXPECT_FALSE(link_->reaches(kPeer));
  EXPECT_NE(link_->told_by(kPeer), nullptr);
  link_->path_failed(kPeer);
  EXPECT_EQ(send(), 1u) << "as to a peer that is not there";
  EXPECT_EQ(adapter_->counters().packets_sent, 0u);
  const std::uint32_t before = link_->changes();
  ASSERT_TRUE(add(peer->local_address()));
  EXPECT_TRUE(link_->reaches(kPeer));
  EXPECT_EQ(link_->told_by(kPeer), nullptr);
  EXPECT_NE(link_->changes(), before);
  EXPECT_EQ(send(), 1u);
  EXPECT_EQ(adapter_->counters().packets_sent, 1u);
}

TEST_F(UnlistedAdapterTest, ForgetsWhereAPeerWasThatStartsAnew) {
  const std::unique_ptr<Transport> peer = open_at(INADDR_LOOPBACK);
  ASSERT_TRUE(add(peer->local_address()));
  ASSERT_TRUE(add(unlisted_address(3)));
  EXPECT_FALSE(link_->reaches(kPeer));
}

TEST_F(UnlistedAdapterTest, RefusesWhatIsNoAddress) {
  std::string error;
  PeerAddress port_zero = real_address_;
  port_zero.bytes[4] = port_zero.bytes[5] = std::byte{0};
  EXPECT_FALSE(adapter_->add_peer(kPeer, port_zero, error));
  EXPECT_NE(error.find("cannot be a task's UDP address"), std::string::npos) << error;
}

TEST(UnlistedAddress, IsNotTakenForOneThatAnAdapterHas) {
  EXPECT_NE(unlisted_address(1), unlisted_address(2));
  EXPECT_EQ(listed_address_text(unlisted_address(1)), "none in the list");
  EXPECT_EQ(unlisted_adapter(unlisted_address(7)), 7u);
  in_addr ip{};
  inet_pton(AF_INET, "10.78.0.2", &ip);
  EXPECT_EQ(listed_address_text(make_udp_address(ip, 40001)), "10.78.0.2 port 40001");
  EXPECT_FALSE(unlisted_adapter(make_udp_address(ip, 40001)));
}

}  // namespace
}  // namespace openlapi
