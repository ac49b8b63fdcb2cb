#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

#include "nic/udp/datagram_frame.h"
#include "tests/unit/udp/udp_pair.h"

namespace openlapi::test {
namespace {

// A socket of somebody who is not in the job.
class Stranger {
 public:
  explicit Stranger(const UdpTransport& victim) : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    victim_.sin_family = AF_INET;
    victim_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    victim_.sin_port = htons(victim.port());
  }
  ~Stranger() { close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void send(const std::vector<std::byte>& bytes) {
    const ssize_t sent = sendto(socket_, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&victim_),
                                sizeof(victim_));
    EXPECT_EQ(sent, static_cast<ssize_t>(bytes.size()));
  }

 private:
  int socket_;
  sockaddr_in victim_{};
};

std::vector<std::byte> framed(const std::vector<std::byte>& packet) {
  const udp::FrameHeader header = udp::make_frame_header(static_cast<std::uint32_t>(packet.size()));
  std::vector<std::byte> bytes(udp::frame_size(packet.size()));
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (!packet.empty()) std::memcpy(bytes.data() + sizeof(header), packet.data(), packet.size());
  return bytes;
}

TEST(UdpDatapath, EveryLengthArrivesWithAndWithoutOffload) {
  for (const bool offload : {true, false}) {
    UdpConfig config;
    config.packet_size = 65507;
    config.offload = offload;
    const auto sender = open_on_loopback(config);
    const auto receiver = open_on_loopback(config);
    introduce(*sender, 1, *receiver);
    for (std::uint32_t length = 0; length <= sender->limits().max_packet; length += length < 300 ? 1 : 509) {
      const std::vector<std::byte> packet = packet_bytes(length, length);
      ASSERT_TRUE(send_one(*sender, 1, packet));
      const auto arrived = receive_copies(*receiver, 1);
      ASSERT_EQ(arrived.size(), 1u) << length;
      ASSERT_EQ(arrived[0], packet) << length;
    }
    const std::vector<std::byte> longest = packet_bytes(1, 65496);
    ASSERT_TRUE(send_one(*sender, 1, longest));
    ASSERT_EQ(receive_copies(*receiver, 1).at(0), longest);
  }
}

// Runs, mixtures and bundles of packets, all in order on loopback, for all combinations of offload on both sides.
TEST(UdpDatapath, BurstsOfAllKindsArriveInOrder) {
  std::mt19937 random(7);
  for (const unsigned combination : {0U, 1U, 2U, 3U}) {
    for (const std::uint32_t packet_size : {0U, 1472U, 8192U}) {
      UdpConfig from;
      from.offload = (combination & 1) != 0;
      from.packet_size = packet_size;
      UdpConfig to;
      to.offload = (combination & 2) != 0;
      const auto sender = open_on_loopback(from);
      const auto receiver = open_on_loopback(to);
      introduce(*sender, 1, *receiver);
      const std::uint32_t longest = sender->limits().max_packet;
      for (int round = 0; round < 60; ++round) {
        std::vector<std::vector<std::byte>> burst;
        const std::size_t count = 1 + random() % 48;
        const std::uint32_t common = random() % longest;
        for (std::uint32_t i = 0; i < count; ++i) {
          const std::uint32_t lengths[] = {longest, common, static_cast<std::uint32_t>(random() % longest)};
          burst.push_back(packet_bytes(i, lengths[round % 3]));
        }
        ASSERT_TRUE(send_all(*sender, 1, burst));
        ASSERT_EQ(receive_copies(*receiver, count), burst) << "combination " << combination << " round " << round;
      }
    }
  }
}

TEST(UdpDatapath, PacketsStayWhereTheyAreUntilReleased) {
  const auto sender = open_on_loopback();
  const auto receiver = open_on_loopback();
  introduce(*sender, 1, *receiver);
  std::deque<std::pair<IncomingPacket, std::uint32_t>> held;
  std::mt19937 random(3);
  std::uint32_t sent = 0;
  std::uint32_t arrived = 0;
  while (arrived < 20'000) {
    if (sent - arrived < 50) {
      std::vector<std::vector<std::byte>> burst;
      for (int i = 0; i < 10; ++i, ++sent) burst.push_back(packet_bytes(sent, 1 + sent * 37 % 5000));
      ASSERT_TRUE(send_all(*sender, 1, burst));
    }
    std::array<IncomingPacket, 7> packets;
    const std::size_t count = receiver->receive_burst(packets);
    for (std::size_t i = 0; i < count; ++i) held.push_back({packets[i], arrived++});
    const std::size_t give_back = held.size() > 60 || count == 0 ? random() % (held.size() + 1) : 0;
    for (std::size_t i = 0; i < give_back; ++i) {
      const auto& [packet, number] = held[i];
      const std::vector<std::byte> expected = packet_bytes(number, 1 + number * 37 % 5000);
      ASSERT_EQ(packet.length, expected.size());
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), packet.data)) << number;
    }
    receiver->release(give_back);
    held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(give_back));
  }
  receiver->release(held.size());
}

TEST(UdpDatapath, WhatIsNoPacketIsCountedAndDropped) {
  const auto receiver = open_on_loopback();
  Stranger stranger(*receiver);
  const std::vector<std::byte> good = packet_bytes(1, 100);
  std::vector<std::byte> cut = framed(good);
  cut.erase(cut.end() - 8, cut.end());
  std::vector<std::byte> good_then_garbage = framed(good);
  good_then_garbage.insert(good_then_garbage.end(), 24, std::byte{0x77});
  stranger.send({});
  stranger.send(packet_bytes(9, 1));
  stranger.send(packet_bytes(9, 1000));
  stranger.send(packet_bytes(9, 65507));
  stranger.send(cut);
  stranger.send(good_then_garbage);
  stranger.send(framed(good));
  const auto arrived = receive_copies(*receiver, 1);
  EXPECT_EQ(arrived, (std::vector<std::vector<std::byte>>{good})) << "nothing of a datagram that is wrong in part";
  EXPECT_EQ(receiver->counters().receive_dropped, 6u);
  EXPECT_EQ(receiver->counters().packets_received, 1u);
}

TEST(UdpDatapath, SaysWherePacketsComeFromAndWhichCameTogether) {
  const auto receiver = open_on_loopback();
  const auto here = open_on_loopback();
  const auto there = open_at({.s_addr = htonl(INADDR_LOOPBACK + 1)});
  introduce(*receiver, 1, *here);
  introduce(*receiver, 2, *there);
  EXPECT_NE(receiver->origin_of(1), 0u);
  EXPECT_NE(receiver->origin_of(1), receiver->origin_of(2));
  EXPECT_EQ(receiver->origin_of(3), 0u);
  for (UdpTransport* sender : {here.get(), there.get()}) {
    introduce(*sender, 0, *receiver);
    const PeerIndex peer = sender == here.get() ? 1 : 2;
    ASSERT_TRUE(send_all(*sender, 0, {packet_bytes(1, 64), packet_bytes(2, 64), packet_bytes(3, 64)}));
    std::array<IncomingPacket, 2> packets;  // a burst ends inside the datagram
    ASSERT_TRUE(poll_until([&] { return receiver->receive_burst(packets) == 2; }));
    EXPECT_FALSE(packets[0].same_datagram);
    EXPECT_TRUE(packets[1].same_datagram);
    EXPECT_EQ(packets[0].origin, receiver->origin_of(peer));
    EXPECT_EQ(packets[1].origin, receiver->origin_of(peer));
    ASSERT_EQ(receiver->receive_burst(packets), 1u);
    EXPECT_TRUE(packets[0].same_datagram);
    EXPECT_EQ(packets[0].origin, receiver->origin_of(peer));
    receiver->release(3);
  }
  std::string error;
  ASSERT_TRUE(receiver->add_peer(1, there->local_address(), error)) << error;
  EXPECT_EQ(receiver->origin_of(1), receiver->origin_of(2)) << "it has moved";
}

std::vector<std::byte> hundred_frames() {
  std::vector<std::byte> many;
  for (std::uint32_t number = 0; number < 100; ++number) {
    const std::vector<std::byte> frame = framed(packet_bytes(number, 40));
    many.insert(many.end(), frame.begin(), frame.end());
  }
  return many;
}

TEST(UdpDatapath, HandsOutTheRestOfADatagramAndNothingOfTheNext) {
  const auto receiver = open_on_loopback();
  Stranger stranger(*receiver);
  const std::vector<std::byte> many = hundred_frames();
  for (int round = 0; round < 1000; ++round) {
    stranger.send(many);
    stranger.send(framed(packet_bytes(100, 40)));
    std::array<IncomingPacket, 200> packets;
    const std::span<IncomingPacket> burst = std::span(packets).first(16);
    ASSERT_TRUE(poll_until([&] { return receiver->receive_burst(burst) == burst.size(); }));
    const std::size_t rest = receiver->receive_rest(std::span(packets).subspan(burst.size()));
    ASSERT_EQ(rest, 84u);
    for (std::uint32_t number = 0; number < 100; ++number) {
      EXPECT_EQ(packets[number].same_datagram, number != 0);
      const std::vector<std::byte> expected = packet_bytes(number, 40);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), packets[number].data)) << number;
    }
    EXPECT_EQ(receiver->receive_rest(packets), 0u);
    receiver->release(100);
    ASSERT_EQ(receive_copies(*receiver, 1).at(0), packet_bytes(100, 40));
  }
  EXPECT_EQ(receiver->counters().packets_received, 101'000u);
}

TEST(UdpDatapath, OfASkippedDatagramNothingMoreIsHandedOut) {
  const auto receiver = open_on_loopback();
  Stranger stranger(*receiver);
  const std::vector<std::byte> many = hundred_frames();
  for (int round = 0; round < 1000; ++round) {  // the memory of what was skipped is used again
    stranger.send(many);
    std::array<IncomingPacket, 16> packets;
    ASSERT_TRUE(poll_until([&] { return receiver->receive_burst(packets) == packets.size(); }));
    receiver->skip_datagram();
    receiver->release(packets.size());
    stranger.send(framed(packet_bytes(7, 100)));
    const std::vector<std::vector<std::byte>> next = receive_copies(*receiver, 1);
    ASSERT_EQ(next, (std::vector<std::vector<std::byte>>{packet_bytes(7, 100)}));
    receiver->skip_datagram();  // there is nothing more of it
  }
  EXPECT_EQ(receiver->counters().receive_dropped, 1000u);
}

// 64 bytes that begin like a frame of a packet which is longer than they are.
std::vector<std::byte> cut_frame(std::uint32_t number) {
  std::vector<std::byte> bytes = framed(packet_bytes(number, 1000));
  bytes.resize(64);
  return bytes;
}

// A flood keeps the socket's buffer full: whoever reads one of these datagrams a poll never comes to the packets.
TEST(UdpDatapath, OnePollReadsPastAHundredDatagramsOfAStranger) {
  constexpr unsigned kStrangers = 100;
  const auto sender = open_on_loopback();
  const auto receiver = open_on_loopback();
  introduce(*sender, 1, *receiver);
  Stranger stranger(*receiver);
  for (std::uint32_t round = 0; round < 50; ++round) {
    for (unsigned i = 0; i < kStrangers; ++i) stranger.send(cut_frame(i));
    ASSERT_TRUE(send_one(*sender, 1, packet_bytes(round, 40)));
    IncomingPacket packet;
    ASSERT_EQ(receiver->receive_burst({&packet, 1}), 1u) << "round " << round;
    receiver->release(1);
  }
  EXPECT_EQ(receiver->counters().receive_dropped, 50u * kStrangers);
}

// Nor does a poll go on for as long as somebody sends.
TEST(UdpDatapath, OnePollReadsABoundedNumberOfDatagramsOfAStranger) {
  UdpConfig large;
  large.receive_buffer = 16 << 20;
  const auto receiver = open_on_loopback(large);
  Stranger stranger(*receiver);
  IncomingPacket packet;
  for (unsigned i = 0; i < 1000; ++i) stranger.send(cut_frame(i));
  const std::uint64_t no_room = receiver->counters().receive_dropped;
  EXPECT_EQ(receiver->receive_burst({&packet, 1}), 0u);
  const std::uint64_t read = receiver->counters().receive_dropped - no_room;
  EXPECT_GT(read, 100u);
  EXPECT_LT(read, 300u);
  ASSERT_GT(1000 - no_room, 300u) << "the buffer is too small to tell";
}

// What does not begin as a frame does is the kernel's to drop.
TEST(UdpDatapath, AStrangersBytesTakeNoRoomAndWakeNobody) {
  UdpConfig small;
  small.receive_buffer = 16 * 1024;
  const auto sender = open_on_loopback();
  const auto receiver = open_on_loopback(small);
  introduce(*sender, 1, *receiver);
  Stranger stranger(*receiver);
  WakeSource& wake = *receiver->capabilities().wake_source;
  ASSERT_TRUE(wake.arm());
  std::vector<std::byte> wrong_mark = framed(packet_bytes(1, 56));
  wrong_mark[4] ^= std::byte{1};
  for (unsigned i = 0; i < 1000; ++i) {
    stranger.send(packet_bytes(i, 64));
    stranger.send(packet_bytes(i, i % 8));
    stranger.send(wrong_mark);
  }
  pollfd entry{wake.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 0), 0);
  ASSERT_TRUE(send_one(*sender, 1, packet_bytes(5000, 64)));
  EXPECT_EQ(receive_copies(*receiver, 1).at(0), packet_bytes(5000, 64));
  EXPECT_EQ(receiver->counters().receive_dropped, 3000u);
}

// More than one read takes: what is whole is used, the rest is counted.
TEST(UdpDatapath, LongerPacketsThanOwnOnesAreReceived) {
  UdpConfig longer;
  longer.packet_size = 65507;
  const auto sender = open_on_loopback(longer);
  UdpConfig shorter;
  shorter.packet_size = 1472;
  const auto receiver = open_on_loopback(shorter);
  introduce(*sender, 1, *receiver);
  const std::vector<std::byte> packet = packet_bytes(1, 65496);
  ASSERT_TRUE(send_one(*sender, 1, packet));
  EXPECT_EQ(receive_copies(*receiver, 1).at(0), packet);
}

TEST(UdpDatapath, ARefusedPeerDisturbsNobody) {
  const auto sender = open_on_loopback();
  const auto good = open_on_loopback();
  auto gone = open_at({.s_addr = htonl(0x7f4d0103)});  // 127.77.1.3: another test may be given its port elsewhere
  introduce(*sender, 1, *gone);
  introduce(*sender, 9, *good);  // shares the write socket of peer 1
  introduce(*sender, 2, *good);
  gone.reset();
  for (std::uint32_t i = 0; i < 500; ++i) {
    const std::vector<std::byte> packet = packet_bytes(i, 40);
    ASSERT_TRUE(send_one(*sender, 1, packet));
    ASSERT_TRUE(send_one(*sender, i % 2 == 0 ? 9 : 2, packet));
    ASSERT_EQ(receive_copies(*good, 1).at(0), packet) << i;
  }
  EXPECT_EQ(sender->counters().packets_sent, 1000u);
  IncomingPacket none;
  EXPECT_EQ(sender->receive_burst({&none, 1}), 0u);
}

TEST(UdpDatapath, APeerThatComesBackElsewhereIsReached) {
  const auto sender = open_on_loopback();
  auto old_home = open_on_loopback();
  const auto new_home = open_on_loopback();
  introduce(*sender, 1, *old_home);
  ASSERT_TRUE(send_one(*sender, 1, packet_bytes(1, 64)));
  ASSERT_EQ(receive_copies(*old_home, 1).size(), 1u);
  introduce(*sender, 1, *new_home);
  ASSERT_TRUE(send_one(*sender, 1, packet_bytes(2, 64)));
  EXPECT_EQ(receive_copies(*new_home, 1).at(0), packet_bytes(2, 64));
}

TEST(UdpDatapath, SixtyFourPeersEachWay) {
  constexpr std::uint32_t kPeers = 64;
  const auto centre = open_on_loopback();
  std::vector<std::unique_ptr<UdpTransport>> peers;
  for (std::uint32_t i = 0; i < kPeers; ++i) {
    peers.push_back(open_on_loopback());
    introduce(*centre, i, *peers[i]);
    introduce(*peers[i], 1000, *centre);
  }
  std::mt19937 random(11);
  for (std::uint32_t round = 0; round < 3000; ++round) {
    const std::uint32_t peer = random() % kPeers;
    const std::vector<std::byte> there = packet_bytes(round, 8 + round % 3000);
    ASSERT_TRUE(send_one(*centre, peer, there));
    ASSERT_EQ(receive_copies(*peers[peer], 1).at(0), there);
    ASSERT_TRUE(send_one(*peers[peer], 1000, packet_bytes(round + 1, 50)));
    ASSERT_EQ(receive_copies(*centre, 1).at(0), packet_bytes(round + 1, 50));
  }
}

TEST(UdpDatapath, AFullReceiverLosesAndGoesOn) {
  UdpConfig small;
  small.receive_buffer = 16 * 1024;
  const auto sender = open_on_loopback();
  const auto receiver = open_on_loopback(small);
  introduce(*sender, 1, *receiver);
  for (std::uint32_t i = 0; i < 2000; ++i) ASSERT_TRUE(send_one(*sender, 1, packet_bytes(i, 4000)));
  const auto arrived = receive_copies(*receiver, 2000, 0);
  EXPECT_GT(arrived.size(), 0u);
  EXPECT_LT(arrived.size(), 2000u);
  ASSERT_TRUE(send_one(*sender, 1, packet_bytes(5000, 64)));
  EXPECT_EQ(receive_copies(*receiver, 1).at(0), packet_bytes(5000, 64));
}

TEST(UdpDatapath, ReceivesNoMoreWhenAllRoomIsHeld) {
  const auto sender = open_on_loopback();
  const auto receiver = open_on_loopback();
  introduce(*sender, 1, *receiver);
  std::size_t held = 0;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    ASSERT_TRUE(send_one(*sender, 1, packet_bytes(i, 8)));
    IncomingPacket packet;
    held += receiver->receive_burst({&packet, 1});
  }
  EXPECT_GT(held, 500u);
  EXPECT_LT(held, 3000u);
  receiver->release(held);
  EXPECT_EQ(receive_copies(*receiver, 3000 - held).size(), 3000 - held);
}

TEST(UdpDatapath, DescriptorsRunningOutSlowsButDoesNotStop) {
  const auto sender = open_on_loopback();
  const auto receiver = open_on_loopback();
  introduce(*sender, 5, *receiver);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool sent = send_one(*sender, 5, packet_bytes(1, 64)) && send_one(*sender, 5, packet_bytes(2, 64));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(sent);
  EXPECT_EQ(receive_copies(*receiver, 2).size(), 2u);
}

TEST(UdpDatapath, WakesWhenAndOnlyWhenSomethingWaits) {
  const auto sender = open_on_loopback();
  const auto receiver = open_on_loopback();
  introduce(*sender, 1, *receiver);
  WakeSource& wake = *receiver->capabilities().wake_source;
  EXPECT_TRUE(wake.arm());
  pollfd entry{wake.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 0), 0);
  ASSERT_TRUE(send_all(*sender, 1, {packet_bytes(1, 64), packet_bytes(2, 64)}));  // they share a datagram
  EXPECT_EQ(poll(&entry, 1, 10'000), 1);
  wake.disarm();
  EXPECT_FALSE(wake.arm());
  IncomingPacket packet;
  ASSERT_EQ(receiver->receive_burst({&packet, 1}), 1u);
  EXPECT_FALSE(wake.arm()) << "the datagram's second packet waits here, the socket knows nothing of it";
  ASSERT_EQ(receiver->receive_burst({&packet, 1}), 1u);
  EXPECT_TRUE(wake.arm());
  receiver->release(2);
}

TEST(UdpDatapath, NobodyIsWokenOnceTheSourceIsDisarmed) {
  const auto sender = open_on_loopback();
  const auto receiver = open_on_loopback();
  introduce(*sender, 1, *receiver);
  WakeSource& wake = *receiver->capabilities().wake_source;
  ASSERT_TRUE(wake.arm());
  wake.disarm();
  ASSERT_TRUE(send_all(*sender, 1, {packet_bytes(1, 64)}));
  pollfd entry{wake.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 100), 0);
  EXPECT_FALSE(wake.arm()) << "what came meanwhile is not forgotten";
  EXPECT_EQ(receive_copies(*receiver, 1).size(), 1u);
}

}  // namespace
}  // namespace openlapi::test
