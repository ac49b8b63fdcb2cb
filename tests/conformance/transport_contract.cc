// Cases with all tasks in this process.
#include "tests/conformance/transport_contract.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace openlapi::test {

std::vector<std::byte> make_packet(PeerIndex source, std::uint32_t number, std::uint32_t length) {
  std::vector<std::byte> bytes(length);
  std::uint32_t state = number * 2654435761u + source * 40503u + length;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  if (length >= 8) {
    std::memcpy(bytes.data(), &source, 4);
    std::memcpy(bytes.data() + 4, &number, 4);
  }
  return bytes;
}

PeerIndex packet_source(const IncomingPacket& packet) {
  PeerIndex source = kUnknownPeer;
  if (packet.length >= 8) std::memcpy(&source, packet.data, 4);
  return source;
}

std::uint32_t check_packet(const IncomingPacket& packet, PeerIndex source) {
  std::uint32_t number = 0;
  EXPECT_GE(packet.length, 8u);
  if (packet.length < 8) return UINT32_MAX;
  std::memcpy(&number, packet.data + 4, 4);
  const std::vector<std::byte> expected = make_packet(source, number, packet.length);
  EXPECT_EQ(std::memcmp(packet.data, expected.data(), packet.length), 0)
      << "number " << number << " length " << packet.length;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packet.data) % 8, 0u);
  EXPECT_TRUE(packet.source == source || packet.source == kUnknownPeer);
  return number;
}

bool send_one(Transport& transport, PeerIndex peer, const std::vector<std::byte>& bytes) {
  const ConstBuffer piece{bytes.data(), bytes.size()};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes.size())};
  return wait_for([&] { return transport.send_burst(peer, {&packet, 1}) == 1; });
}

bool receive_one(Transport& transport, IncomingPacket& packet, unsigned seconds) {
  return wait_for([&] { return transport.receive_burst({&packet, 1}) == 1; }, seconds);
}

namespace {

TEST_P(TransportContract, LimitsAndAddressAreUsable) {
  const auto tasks = open_in_this_process(GetParam(), 2);
  ASSERT_EQ(tasks.size(), 2u);
  const TransportLimits& limits = tasks[0]->limits();
  EXPECT_GE(limits.max_packet, 512u);
  EXPECT_GE(limits.max_burst, 1u);
  EXPECT_FALSE(tasks[0]->name().empty());
  const PeerAddress address = tasks[0]->local_address();
  EXPECT_GT(address.length, 0u);
  EXPECT_LE(address.length, PeerAddress::kCapacity);
}

// Nothing else would tell the engine what becomes of its packets, and of the peers.
TEST_P(TransportContract, HasWhatTheEngineAsksOfReliableOnes) {
  const auto tasks = open_in_this_process(GetParam(), 2);
  ASSERT_EQ(tasks.size(), 2u);
  const TransportCapabilities has = tasks[0]->capabilities();
  if (tasks[0]->limits().reliable) {
    EXPECT_NE(has.peer_liveness, nullptr);
    EXPECT_NE(has.reliable_delivery, nullptr);
    EXPECT_NE(has.peer_eras, nullptr);
  }
  if (GetParam().tells_death) {
    EXPECT_NE(has.peer_liveness, nullptr);
  }
}

// Who receives compares the two for every packet.
TEST_P(TransportContract, SaysOfAPacketThatItComesFromItsSendersAddress) {
  const auto tasks = open_in_this_process(GetParam(), 2);
  ASSERT_EQ(tasks.size(), 2u);
  ASSERT_TRUE(send_one(*tasks[0], 1, make_packet(0, 1, 64)));
  IncomingPacket packet;
  ASSERT_TRUE(receive_one(*tasks[1], packet, 30));
  const PacketOrigins* const origins = tasks[1]->capabilities().packet_origins;
  EXPECT_EQ(packet.origin, origins != nullptr ? origins->origin_of(0) : 0);
  EXPECT_FALSE(packet.same_datagram) << "it came alone";
  tasks[1]->release(1);
}

TEST_P(TransportContract, RefusesAnAddressThatIsNone) {
  const auto tasks = open_in_this_process(GetParam(), 2);
  ASSERT_EQ(tasks.size(), 2u);
  PeerAddress cut = tasks[1]->local_address();
  cut.length = 1;
  std::string error;
  EXPECT_FALSE(tasks[0]->add_peer(1, cut, error));
  EXPECT_FALSE(error.empty());
  // The good address still works afterwards.
  EXPECT_TRUE(added(*tasks[0], 1, tasks[1]->local_address(), error)) << error;
}

TEST_P(TransportContract, EveryLengthArrivesIntactFromOneToFourPieces) {
  const auto tasks = open_in_this_process(GetParam(), 2);
  ASSERT_EQ(tasks.size(), 2u);
  const std::uint32_t longest = tasks[0]->limits().max_packet;
  for (std::uint32_t length = 0; length <= longest; ++length) {
    // All lengths where copies are cut differently, then a sample, and the last ones.
    if (length > 600 && length % 61 != 0 && length + 8 < longest) continue;
    std::vector<std::byte> storage = make_packet(0, length, length);
    storage.insert(storage.begin(), length % 9, std::byte{0});  // unaligned sources
    const std::byte* bytes = storage.data() + length % 9;
    const std::size_t count = 1 + length % 4;
    std::vector<ConstBuffer> pieces;
    std::size_t from = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t to = i + 1 == count ? length : std::min<std::size_t>(length, from + (length / count) + i);
      pieces.push_back({bytes + from, to - from});
      from = to;
    }
    const OutgoingPacket packet{pieces, length};
    ASSERT_TRUE(wait_for([&] { return tasks[0]->send_burst(1, {&packet, 1}) == 1; }));
    const std::vector<std::byte> sent(bytes, bytes + length);
    std::fill(storage.begin(), storage.end(), std::byte{0xee});  // ours again as soon as it was taken
    IncomingPacket received;
    ASSERT_TRUE(receive_one(*tasks[1], received)) << "length " << length;
    ASSERT_EQ(received.length, length);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(received.data) % 8, 0u);
    ASSERT_TRUE(std::equal(sent.begin(), sent.end(), received.data)) << "length " << length;
    std::fill_n(received.data, length, std::byte{0x55});  // writable until released
    tasks[1]->release(1);
  }
}

TEST_P(TransportContract, NothingArrivesWhenNothingWasSent) {
  const auto tasks = open_in_this_process(GetParam(), 2);
  ASSERT_EQ(tasks.size(), 2u);
  IncomingPacket packets[4];
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ(tasks[1]->receive_burst(packets), 0u);
  EXPECT_EQ(tasks[0]->send_burst(1, {}), 0u);
  EXPECT_EQ(tasks[1]->receive_burst({}), 0u);
}

// Offers far more than any queue holds while nobody receives; once that is cleared away, packets arrive as before.
void flood_then_use(Transport& sender, Transport& receiver) {
  IncomingPacket received[16];
  for (int i = 0; i < 3; ++i) {  // a transport that connects has done so then
    ASSERT_TRUE(send_one(sender, 1, make_packet(0, 0, 64)));
    ASSERT_TRUE(receive_one(receiver, received[0]));
    receiver.release(1);
    ASSERT_TRUE(send_one(receiver, 0, make_packet(1, 0, 64)));
    ASSERT_TRUE(receive_one(sender, received[0]));
    sender.release(1);
  }
  for (std::uint32_t number = 0; number < 100'000; ++number) {
    const std::vector<std::byte> bytes = make_packet(0, number, 8 + number % 1000);
    const ConstBuffer piece{bytes.data(), bytes.size()};
    const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes.size())};
    ASSERT_LE(sender.send_burst(1, {&packet, 1}), 1u);
  }
  for (std::size_t count; (count = receiver.receive_burst(received)) != 0;) {
    for (std::size_t i = 0; i < count; ++i) check_packet(received[i], 0);
    receiver.release(count);
  }
  ASSERT_TRUE(send_one(sender, 1, make_packet(0, 200'000, 64)));
  std::uint32_t number = 0;
  while (number != 200'000) {  // what an adapter still has of the flood comes first
    ASSERT_TRUE(receive_one(receiver, received[0]));
    number = check_packet(received[0], 0);
    receiver.release(1);
  }
}

TEST_P(TransportContract, AFullQueueTakesLessAndLosesNothing) {
  const auto tasks = open_in_this_process(GetParam(), 2);
  ASSERT_EQ(tasks.size(), 2u);
  if (!tasks[0]->limits().reliable) {  // it may lose instead of pushing back, but never stops working
    flood_then_use(*tasks[0], *tasks[1]);
    return;
  }
  std::uint32_t expected = 0;
  std::uint32_t next = 0;
  for (int lap = 0; lap < 50; ++lap) {
    const std::uint64_t refused = tasks[0]->counters().send_refused;
    for (std::uint32_t length = 8;; ++length) {
      const std::vector<std::byte> bytes = make_packet(0, next, length);
      const ConstBuffer piece{bytes.data(), bytes.size()};
      const OutgoingPacket packet{{&piece, 1}, length};
      if (tasks[0]->send_burst(1, {&packet, 1}) == 0) break;
      ASSERT_LT(++next, 1'000'000u) << "never full";
    }
    EXPECT_EQ(tasks[0]->counters().send_refused, refused + 1);
    IncomingPacket packets[7];
    for (std::size_t count; (count = tasks[1]->receive_burst(packets)) != 0;) {
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(check_packet(packets[i], 0), expected++);
      tasks[1]->release(count);
    }
    ASSERT_EQ(expected, next);
  }
}

TEST_P(TransportContract, ABurstIsTakenFromItsFrontInOrder) {
  const auto tasks = open_in_this_process(GetParam(), 2);
  ASSERT_EQ(tasks.size(), 2u);
  const std::size_t burst = tasks[0]->limits().max_burst;
  std::vector<std::vector<std::byte>> bytes;
  for (std::uint32_t i = 0; i < 2 * burst; ++i) bytes.push_back(make_packet(0, i, 8 + i % 100));
  std::vector<ConstBuffer> pieces;
  for (const auto& packet : bytes) pieces.push_back({packet.data(), packet.size()});
  std::vector<OutgoingPacket> packets;
  for (const ConstBuffer& piece : pieces) packets.push_back({{&piece, 1}, static_cast<std::uint32_t>(piece.length)});
  const std::size_t taken = tasks[0]->send_burst(1, packets);
  ASSERT_GE(taken, 1u);
  ASSERT_LE(taken, burst);
  EXPECT_EQ(tasks[0]->counters().packets_sent, taken);
  std::vector<std::uint32_t> numbers;
  IncomingPacket received;
  while (numbers.size() < taken && receive_one(*tasks[1], received, 5)) {
    numbers.push_back(check_packet(received, 0));
    EXPECT_TRUE(!received.same_datagram || tasks[1]->capabilities().packed_datagrams != nullptr)
        << "none to be skipped";
    tasks[1]->release(1);
  }
  std::vector<std::uint32_t> expected(taken);
  std::iota(expected.begin(), expected.end(), 0u);
  if (!tasks[0]->limits().reliable) std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, expected);
  EXPECT_EQ(tasks[1]->counters().packets_received, taken);
}

TEST_P(TransportContract, HeldPacketsStayIntactAndPushBack) {
  const auto tasks = open_in_this_process(GetParam(), 2);
  ASSERT_EQ(tasks.size(), 2u);
  const bool reliable = tasks[0]->limits().reliable;
  IncomingPacket early;
  for (int i = 0; i < 3; ++i) {  // some room was given back before
    ASSERT_TRUE(send_one(*tasks[0], 1, make_packet(0, 0, 64)));
    ASSERT_TRUE(receive_one(*tasks[1], early));
    tasks[1]->release(1);
  }
  std::vector<IncomingPacket> held;
  std::uint32_t next = 0;
  for (std::uint32_t tries = 0; tries < 300; ++tries) {
    const std::vector<std::byte> bytes = make_packet(0, next, 8 + next % 500);
    const ConstBuffer piece{bytes.data(), bytes.size()};
    const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes.size())};
    next += static_cast<std::uint32_t>(tasks[0]->send_burst(1, {&packet, 1}));
    IncomingPacket received;
    if (tasks[1]->receive_burst({&received, 1}) == 1) held.push_back(received);
  }
  if (reliable) {
    ASSERT_LT(next, 300u) << "held packets must push back";
    ASSERT_EQ(held.size(), next);
  }
  for (const IncomingPacket& packet : held) check_packet(packet, 0);
  tasks[1]->release(held.size() / 2);
  for (std::size_t i = held.size() / 2; i < held.size(); ++i) check_packet(held[i], 0);
  tasks[1]->release(held.size() - held.size() / 2);
  ASSERT_TRUE(send_one(*tasks[0], 1, make_packet(0, 100'000, 64)));
  IncomingPacket received;
  do {
    ASSERT_TRUE(receive_one(*tasks[1], received));
    tasks[1]->release(1);
  } while (check_packet(received, 0) != 100'000);
}

TEST_P(TransportContract, ArmingIsRefusedWhilePacketsWait) {
  const auto tasks = open_in_this_process(GetParam(), 2);
  ASSERT_EQ(tasks.size(), 2u);
  WakeSource* wake = tasks[1]->capabilities().wake_source;
  ASSERT_NE(wake, nullptr);
  ASSERT_GE(wake->descriptor(), 0);
  ASSERT_TRUE(wake->arm());
  wake->disarm();
  ASSERT_TRUE(send_one(*tasks[0], 1, make_packet(0, 1, 40)));
  ASSERT_TRUE(wait_for([&] {
    if (!wake->arm()) return true;
    wake->disarm();
    return false;
  }));
  IncomingPacket received;
  ASSERT_TRUE(receive_one(*tasks[1], received));
  tasks[1]->release(1);
  EXPECT_TRUE(wake->arm());
  wake->disarm();
}

}  // namespace
}  // namespace openlapi::test
