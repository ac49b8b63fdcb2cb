// Buffers that run out: sending is "full", receiving waits, and nothing is lost on a port that loses nothing. And
// frames of strangers, of which a port's queue may be full. Runs in dpdk-ports, whose folder has the sockets of the two
// memif ports; both ends are in this process.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "nic/dpdk/dpdk_transport.h"

namespace openlapi {
namespace {

constexpr PeerIndex kServer = 0, kClient = 1;
constexpr std::size_t kPackets = 10;
constexpr std::size_t kUdpSumAt = 40;      // in a frame
constexpr std::size_t kMostPutAside = 16;  // buffers that a port may have taken before

std::unique_ptr<DpdkTransport> open(PeerIndex self) {
  DpdkConfig config;
  config.eal_arguments = "--no-huge --no-pci";
  config.address = 0x0a4e0001 + self;
  config.link_patience = 0;
  // Two ends in one process must name their socket differently, or the driver takes it for the same end.
  config.devices = {"net_memif_pool" + std::to_string(self) + ",role=" + (self == kServer ? "server" : "client") +
                    ",id=0,socket-abstract=no,socket=" + std::getenv("RUNTIME_DIRECTORY") +
                    (self == kServer ? "/pool" : "/./pool")};
  DpdkSetupError error;
  auto transport = open_dpdk_transport(config, error);
  EXPECT_NE(transport, nullptr) << error.text;
  return transport;
}

// All that a pool has, until it is destroyed.
class Taken {
 public:
  explicit Taken(rte_mempool* pool) : pool_(pool) { take_rest(); }
  ~Taken() { rte_pktmbuf_free_bulk(buffers_.data(), static_cast<unsigned>(buffers_.size())); }
  std::size_t count() const { return buffers_.size(); }
  void take_rest() {
    while (rte_mbuf* buffer = rte_pktmbuf_alloc(pool_)) buffers_.push_back(buffer);
  }

 private:
  rte_mempool* pool_;
  std::vector<rte_mbuf*> buffers_;
};

class DpdkPools : public testing::Test {
 protected:
  void SetUp() override {
    server_ = open(kServer);
    client_ = open(kClient);
    ASSERT_TRUE(server_ != nullptr && client_ != nullptr);
    std::string error;
    ASSERT_TRUE(server_->add_peer(kClient, client_->local_address(), error)) << error;
    ASSERT_TRUE(client_->add_peer(kServer, server_->local_address(), error)) << error;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!(server_->port(0).up() && client_->port(0).up()) && std::chrono::steady_clock::now() < end) {
      receive(*server_);
      receive(*client_);
    }
    ASSERT_TRUE(server_->port(0).up() && client_->port(0).up());
  }

  static std::size_t receive(DpdkTransport& transport) {
    std::array<IncomingPacket, 32> packets;
    const std::size_t count = transport.receive_burst(packets);
    transport.release(count);
    return count;
  }

  std::size_t send() {
    const ConstBuffer piece{"12345678", 8};
    const OutgoingPacket packet{{&piece, 1}, 8};
    return client_->send_burst(kServer, {&packet, 1});
  }

  std::size_t receive_all(std::size_t wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::size_t count = 0;
    while (count < wanted && std::chrono::steady_clock::now() < end) count += receive(*server_);
    return count;
  }

  std::unique_ptr<DpdkTransport> server_, client_;
};

// An adapter that the kernel uses as well would bring the one's packets to the other.
TEST_F(DpdkPools, TheirUdpPortsAreNobodyElses) {
  for (const DpdkTransport* transport : {server_.get(), client_.get()}) {
    const int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in wanted{};
    wanted.sin_family = AF_INET;
    wanted.sin_port = htons(transport->address().end.port);
    EXPECT_NE(bind(other, reinterpret_cast<const sockaddr*>(&wanted), sizeof wanted), 0);
    EXPECT_EQ(errno, EADDRINUSE);
    close(other);
  }
}

TEST_F(DpdkPools, WithoutABufferSendingIsFull) {
  {
    Taken all(client_->port(0).send_pool());
    ASSERT_GT(all.count(), 0u);
    for (std::size_t put_aside = 0; put_aside < kMostPutAside && send() == 1; ++put_aside) all.take_rest();
    EXPECT_EQ(client_->dpdk_counters().pool_exhausted, 1u);
    EXPECT_EQ(client_->counters().send_refused, 1u);
  }
  EXPECT_EQ(send(), 1u);
  const std::uint64_t sent = client_->counters().packets_sent;
  EXPECT_EQ(receive_all(sent), sent);
  EXPECT_EQ(client_->dpdk_counters().lost_packets, 0u);
}

// As virtio does with a frame of a neighbour's on the same host, whose sum no adapter has made.
TEST_F(DpdkPools, WhatNeedsNoSumIsTakenWithAnUnfinishedOne) {
  static std::uint64_t says;
  const auto change = [](std::uint16_t, std::uint16_t, rte_mbuf** frames, std::uint16_t count, std::uint16_t, void*) {
    for (std::uint16_t i = 0; i < count; ++i) {
      std::memset(rte_pktmbuf_mtod_offset(frames[i], char*, kUdpSumAt), 0x12, 2);
      frames[i]->ol_flags |= says;
    }
    return count;
  };
  const std::uint16_t port = server_->port(0).id();
  const rte_eth_rxtx_callback* const changes = rte_eth_add_rx_callback(port, 0, change, nullptr);
  ASSERT_NE(changes, nullptr);
  says = RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN;
  ASSERT_EQ(send(), 1u);
  while (server_->dpdk_counters().damaged_frames == 0) ASSERT_EQ(receive(*server_), 0u);
  says = RTE_MBUF_F_RX_L4_CKSUM_NONE;
  ASSERT_EQ(send(), 1u);
  std::size_t count = 0;
  while (count == 0 && server_->dpdk_counters().damaged_frames == 1) count += receive(*server_);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(rte_eth_remove_rx_callback(port, 0, changes), 0);
}

TEST_F(DpdkPools, WithoutABufferArrivalsWait) {
  const std::string name = "openlapi_in_" + std::to_string(server_->port(0).id()) + "_0";
  rte_mempool* const pool = rte_mempool_lookup(name.c_str());
  ASSERT_NE(pool, nullptr);
  {
    const Taken all(pool);
    ASSERT_GT(all.count(), 0u);
    for (std::size_t i = 0; i < kPackets; ++i) ASSERT_EQ(send(), 1u);
    for (int look = 0; look < 1000; ++look) ASSERT_EQ(receive(*server_), 0u);
  }
  EXPECT_EQ(receive_all(kPackets), kPackets);
}

// One look finds the packet behind four bursts of frames for others.
TEST_F(DpdkPools, StrangersFramesDoNotHideAPacket) {
  constexpr std::size_t kStrangers = 128;
  rte_mempool* const pool = client_->port(0).send_pool();
  for (std::size_t i = 0; i < kStrangers; ++i) {
    rte_mbuf* frame = rte_pktmbuf_alloc(pool);
    ASSERT_NE(frame, nullptr);
    std::memset(rte_pktmbuf_append(frame, 64), 0x22, 64);
    ASSERT_EQ(rte_eth_tx_burst(client_->port(0).id(), 0, &frame, 1), 1);
  }
  ASSERT_EQ(send(), 1u);
  EXPECT_EQ(receive(*server_), 1u);
  EXPECT_GE(server_->dpdk_counters().foreign_frames, kStrangers);
}

}  // namespace
}  // namespace openlapi
