// Strangers with sockets of their own, beside two tasks that talk over UDP: what they send changes no memory, and the
// tasks go on. Some guess; some know more than strangers can, to show that each of the barriers holds alone.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <ctime>
#include <random>
#include <vector>

#include "dataplane/base/monotonic_clock.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/association.h"
#include "nic/udp/datagram_frame.h"
#include "nic/udp/udp_transport.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

constexpr SipKey kJobKey{0x0123456789abcdef, 0xfedcba9876543210};
constexpr std::uint64_t kEpochs[2] = {0x700000001, 0x700000002};
constexpr in_addr_t kAddresses[2] = {0x7f000101, 0x7f000102};  // 127.0.1.1 and 127.0.1.2
constexpr in_addr_t kElsewhere = 0x7f000103;

using Bytes = std::vector<std::byte>;

// One of the two tasks, over a real socket.
class SocketTask final : public RouteResolver {
 public:
  explicit SocketTask(PeerIndex self) {
    UdpConfig config;
    config.address.s_addr = htonl(kAddresses[self]);
    UdpSetupError error;
    transport = open_udp_transport(config, error);
    EXPECT_TRUE(transport) << error.text;
  }

  void start(PeerIndex self, SocketTask& peer) {
    peer_ = &peer;
    EndpointConfig config;
    config.self = self;
    config.tasks = 2;
    config.job_key = kJobKey;
    config.epoch = kEpochs[self];
    Transport* const path = transport.get();
    endpoint = std::make_unique<Endpoint>(config, std::span(&path, 1), clock_, *this, host);
  }

  Route resolve(PeerIndex peer) override {
    Route route;
    std::string error;
    EXPECT_TRUE(transport->add_peer(peer, peer_->transport->local_address(), error)) << error;
    route.paths[0] = transport.get();
    route.count = 1;
    route.epoch = kEpochs[peer];
    return route;
  }

  std::uint64_t dropped() const { return endpoint->statistics(StatisticsPath::network).ghost_packets; }

  std::unique_ptr<UdpTransport> transport;
  ScriptedHost host;
  std::unique_ptr<Endpoint> endpoint;

 private:
  MonotonicClock clock_;
  SocketTask* peer_ = nullptr;
};

// A socket that is not the job's, at an address of its own choice.
class Forger {
 public:
  Forger(in_addr_t from, const UdpTransport& victim) : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(from);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)), 0);
    victim_ = own;
    victim_.sin_addr.s_addr = htonl(kAddresses[0]);
    victim_.sin_port = htons(victim.port());
  }
  ~Forger() { close(socket_); }
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;

  // One datagram with all packets in it.
  void send(const std::vector<Bytes>& packets) {
    Bytes datagram;
    for (const Bytes& packet : packets) {
      const udp::FrameHeader header = udp::make_frame_header(static_cast<std::uint32_t>(packet.size()));
      const std::size_t begin = datagram.size();
      datagram.resize(begin + udp::frame_size(packet.size()));
      std::memcpy(datagram.data() + begin, &header, sizeof(header));
      std::memcpy(datagram.data() + begin + sizeof(header), packet.data(), packet.size());
    }
    sendto(socket_, datagram.data(), datagram.size(), 0, reinterpret_cast<const sockaddr*>(&victim_), sizeof(victim_));
  }

 private:
  int socket_;
  sockaddr_in victim_{};
};

class ForgedPackets : public testing::Test {
 protected:
  ForgedPackets() {
    for (PeerIndex i = 0; i < 2; ++i) tasks_[i].start(i, tasks_[1 - i]);
    exchange(4);
  }

  // Puts in both directions, each waited for.
  void exchange(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      const int before[2] = {arrived_[0], arrived_[1]};
      const std::time_t end = std::time(nullptr) + 60;
      for (PeerIndex i = 0; i < 2; ++i) {
        values_[i] = ++newest_;
        ASSERT_EQ(
            tasks_[i].endpoint->put({1 - i, address(&sinks_[1 - i]), &values_[i], 8, address(&arrived_[1 - i]), 0, 0}),
            Submit::accepted);
      }
      while (arrived_[0] == before[0] || arrived_[1] == before[1]) {
        for (SocketTask& task : tasks_) task.endpoint->progress();
        ASSERT_LT(std::time(nullptr), end) << "the job hangs";
      }
      ASSERT_EQ(sinks_[0], values_[1]);
      ASSERT_EQ(sinks_[1], values_[0]);
      ++exchanged_;
    }
  }

  // Until so many packets more were dropped, or a minute has passed.
  void expect_dropped(std::uint64_t packets) {
    const std::time_t end = std::time(nullptr) + 60;
    while (tasks_[0].dropped() < dropped_ + packets && std::time(nullptr) < end) tasks_[0].endpoint->progress();
    EXPECT_EQ(tasks_[0].dropped(), dropped_ + packets);
    dropped_ = tasks_[0].dropped();
  }

  wire::PacketHeader header_of_task_1() const {
    wire::PacketHeader header;
    header.flags = wire::kPacketHasData | wire::kPacketShort;
    header.instance = 1;
    header.source = 1;
    header.destination = 0;
    header.source_epoch = kEpochs[1];
    header.destination_epoch = kEpochs[0];
    header.association = wire::association_of(kJobKey, header);
    header.sequence = wire::first_sequence_of(kJobKey, header) + static_cast<std::uint32_t>(exchanged_);
    return header;
  }

  // A packet with a put to the victim's memory.
  Bytes put_packet(const wire::PacketHeader& given) {
    wire::PacketHeader header = given;
    const wire::RecordHeader record{static_cast<std::uint8_t>(wire::RecordKind::put), 0, 0, sizeof(forged_)};
    const wire::PutBody body{address(&secret_), 0, 0};
    Bytes packet(header.size() + sizeof(record) + sizeof(body) + sizeof(forged_));
    header.length = static_cast<std::uint16_t>(packet.size());
    wire::encode(header, packet.data());
    std::byte* at = packet.data() + header.size();
    std::memcpy(at, &record, sizeof(record));
    std::memcpy(at + sizeof(record), &body, sizeof(body));
    std::memcpy(at + sizeof(record) + sizeof(body), &forged_, sizeof(forged_));
    return packet;
  }

  // After task 1's next numbers have been used in its name.
  void forget_the_incarnations() {
    tasks_[1].endpoint->purge(0);
    tasks_[0].endpoint->purge(1);
    tasks_[1].endpoint->resume(0, kEpochs[1] + 10);
    tasks_[0].endpoint->resume(1, kEpochs[0] + 10);
  }

  void TearDown() override {
    EXPECT_EQ(secret_, 0u) << "a stranger has written into the victim's memory";
    exchange(4);
    EXPECT_TRUE(tasks_[0].host.faults.empty());
    EXPECT_TRUE(tasks_[1].host.faults.empty());
  }

  std::array<SocketTask, 2> tasks_{SocketTask(0), SocketTask(1)};
  std::uint64_t sinks_[2] = {}, values_[2] = {}, newest_ = 0;
  int arrived_[2] = {};
  std::uint64_t exchanged_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t secret_ = 0;
  std::uint64_t forged_ = 0xbadbadbadbad;
};

// What a flood of guesses could do if it ever guessed right: the forger's own packets, otherwise exact, do arrive.
TEST_F(ForgedPackets, RightOnesWouldBeTaken) {
  Forger forger(kAddresses[1], *tasks_[0].transport);
  forger.send({put_packet(header_of_task_1())});
  const std::time_t end = std::time(nullptr) + 60;
  while (secret_ == 0 && std::time(nullptr) < end) tasks_[0].endpoint->progress();
  EXPECT_EQ(std::exchange(secret_, 0), forged_) << "the other tests forge what would never have been taken";
  forget_the_incarnations();
}

TEST_F(ForgedPackets, GuessesChangeNothing) {
  Forger forger(kAddresses[1], *tasks_[0].transport);
  std::mt19937_64 random(17);
  constexpr int kDatagrams = 2000, kGuesses = 500;
  for (int datagram = 0; datagram < kDatagrams; ++datagram) {
    std::vector<Bytes> packets;
    wire::PacketHeader header = header_of_task_1();
    for (int guess = 0; guess < kGuesses; ++guess) {
      header.association = random();
      if (guess % 4 == 3) header.flags ^= wire::kPacketShort;
      packets.push_back(put_packet(header));
    }
    forger.send(packets);
    if (datagram % 10 == 0) exchange(1);
    tasks_[0].endpoint->progress();
  }
  EXPECT_GE(tasks_[0].transport->counters().receive_dropped, 100u);
}

TEST_F(ForgedPackets, ADatagramOfGuessesCostsOneLook) {
  Forger forger(kAddresses[1], *tasks_[0].transport);
  wire::PacketHeader wrong = header_of_task_1();
  wrong.association ^= 1;
  forger.send(std::vector<Bytes>(600, put_packet(wrong)));
  expect_dropped(tuning::kReceiveBurst);
  for (int step = 0; step < 100; ++step) tasks_[0].endpoint->progress();
  expect_dropped(0);
}

TEST_F(ForgedPackets, NoPartOfAnAssociationIsLeftOut) {
  Forger forger(kAddresses[1], *tasks_[0].transport);
  wire::PacketHeader header = header_of_task_1();
  for (const std::uint8_t form : {wire::kPacketShort, std::uint8_t{0}}) {
    header.flags = wire::kPacketHasData | form;
    for (unsigned bit = 0; bit < 64; ++bit) {
      wire::PacketHeader wrong = header;
      wrong.association ^= std::uint64_t{1} << bit;
      forger.send({put_packet(wrong)});
      expect_dropped(1);
    }
  }
}

TEST_F(ForgedPackets, TheRightAssociationFromAnotherAddressIsDropped) {
  Forger forger(kElsewhere, *tasks_[0].transport);
  wire::PacketHeader header = header_of_task_1();
  forger.send({put_packet(header)});
  expect_dropped(1);
  header.flags = wire::kPacketHasData;
  forger.send({put_packet(header)});
  expect_dropped(1);
}

TEST_F(ForgedPackets, NoSkipGoesBeyondAWindow) {
  Forger forger(kAddresses[1], *tasks_[0].transport);
  const wire::PacketHeader right = header_of_task_1();
  for (const std::uint32_t far : {100'000u, 1u << 20, 1u << 30, (1u << 31) - 1}) {
    wire::PacketHeader header = right;
    header.sequence += far;
    forger.send({put_packet(header)});
    expect_dropped(1);
  }
}

TEST_F(ForgedPackets, OneWrongPacketSpoilsItsDatagram) {
  Forger forger(kAddresses[1], *tasks_[0].transport);
  const wire::PacketHeader right = header_of_task_1();
  wire::PacketHeader wrong = right;
  wrong.association ^= 1;
  wrong.sequence += 1;
  forger.send({put_packet(right), put_packet(wrong)});
  expect_dropped(2);
  forger.send({put_packet(wrong), put_packet(right)});
  expect_dropped(2);
}

// The burst has room for its first packet alone.
TEST_F(ForgedPackets, ADatagramAtTheEndOfABurstIsLookedAtAsAWhole) {
  Forger forger(kAddresses[1], *tasks_[0].transport);
  const wire::PacketHeader right = header_of_task_1();
  wire::PacketHeader wrong = right;
  wrong.association ^= 1;
  for (std::size_t n = 1; n < tuning::kReceiveBurst; ++n) forger.send({put_packet(wrong)});
  forger.send({put_packet(right), put_packet(wrong)});
  expect_dropped(tuning::kReceiveBurst + 1);
}

// Two bursts of right ones, as the look goes, stand in front of it.
TEST_F(ForgedPackets, AWrongPacketFarBehindSpoilsItsDatagram) {
  constexpr std::size_t kPackets = 40;
  Forger forger(kAddresses[1], *tasks_[0].transport);
  std::vector<Bytes> packets;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    wire::PacketHeader header = header_of_task_1();
    header.sequence += i;
    if (i == 32) header.association ^= 1;
    packets.push_back(put_packet(header));
  }
  forger.send(packets);
  expect_dropped(kPackets);
}

// Also where nothing is wrong: all of it is taken, in order.
TEST_F(ForgedPackets, ALongDatagramIsTakenWhole) {
  constexpr std::uint32_t kPackets = 500;
  Forger forger(kAddresses[1], *tasks_[0].transport);
  std::vector<Bytes> packets;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    wire::PacketHeader header = header_of_task_1();
    header.sequence += i;
    forged_ = i + 1;
    packets.push_back(put_packet(header));
  }
  forger.send(packets);
  const std::time_t end = std::time(nullptr) + 60;
  while (secret_ != kPackets && std::time(nullptr) < end) tasks_[0].endpoint->progress();
  EXPECT_EQ(std::exchange(secret_, 0), kPackets);
  forget_the_incarnations();
}

}  // namespace
}  // namespace openlapi
