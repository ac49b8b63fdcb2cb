#include "nic/dpdk/ethernet_frame.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace openlapi::dpdk {
namespace {

const FrameEnd kFrom{{0x02, 0x0d, 0, 0, 0, 1}, 0x0a4e0001, 50000, 0x11111111};
const FrameEnd kTo{{0x02, 0x0d, 0, 0, 0, 2}, 0x0a4e0002, 50001, 0xa1b2c3d4};

std::vector<std::byte> bytes_of(std::initializer_list<int> numbers) {
  std::vector<std::byte> bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

std::vector<std::byte> make_frame(std::uint32_t packet) {
  std::vector<std::byte> frame(kHeaderLength + packet, std::byte{0x5a});
  FrameHeader(kFrom, kTo).write(frame.data(), packet);
  return frame;
}

TEST(EthernetFrame, HeadersByteByByte) {
  const std::vector<std::byte> expected =
      bytes_of({0x02, 0x0d, 0,    0,    0,    2,    0x02, 0x0d, 0,    0,    0,    1,    0x08, 0x00,  // Ethernet
                0x45, 0,    0,    0x2a, 0,    0,    0x40, 0,    0x40, 0x11, 0x26, 0x25, 10,   78,
                0,    1,    10,   78,   0,    2,              // IPv4, 42 bytes
                0xc3, 0x50, 0xc3, 0x51, 0,    0x16, 0,    0,  // UDP, 22 bytes, no checksum
                0x4c, 0x31, 0xa1, 0xb2, 0xc3, 0xd4,           // mark, token
                0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a});
  EXPECT_EQ(make_frame(8), expected);
}

std::vector<std::byte> make_tagged_frame(std::uint16_t tag, std::uint32_t packet) {
  std::vector<std::byte> frame(kHeaderLength + kTagLength + packet, std::byte{0x5a});
  EXPECT_EQ(FrameHeader(kFrom, kTo, UdpSum::none, {.tag = tag}).write(frame.data(), packet),
            kHeaderLength + kTagLength);
  return frame;
}

TEST(EthernetFrame, ATagFollowsTheHardwareAddresses) {
  std::vector<std::byte> expected = make_frame(8);
  const std::vector<std::byte> tag = bytes_of({0x81, 0x00, 0x60, 0x05});  // priority 3, VLAN 5
  expected.insert(expected.begin() + 12, tag.begin(), tag.end());
  EXPECT_EQ(make_tagged_frame(3 << 13 | 5, 8), expected);
}

TEST(EthernetFrame, TheDscpIsInTheIpHeaderAndItsChecksum) {
  std::vector<std::byte> frame(kHeaderLength + 8);
  FrameHeader(kFrom, kTo, UdpSum::none, {.dscp = 26}).write(frame.data(), 8);
  EXPECT_EQ(frame[15], std::byte{26 << 2}) << "ECN is 0";
  EXPECT_EQ(parse_frame(frame, kTo).kind, FrameKind::packet);
}

TEST(EthernetFrame, PriorityTaggedFramesAndThoseOfTheOwnVlanAreTaken) {
  FrameEnd in_vlan = kTo;
  in_vlan.vlan = 5;
  for (const std::uint16_t priority : {0, 1, 7}) {
    const auto tag = static_cast<std::uint16_t>(priority << 13);
    for (const FrameEnd& end : {kTo, in_vlan}) {
      const FrameView view = parse_frame(make_tagged_frame(tag, 9), end);
      EXPECT_EQ(view.kind, FrameKind::packet) << "VLAN 0 is none";
      EXPECT_EQ(view.length, 9u);
      EXPECT_EQ(view.tag, kTagLength);
    }
    EXPECT_EQ(parse_frame(make_tagged_frame(tag | 5, 9), in_vlan).kind, FrameKind::packet);
    EXPECT_EQ(parse_frame(make_tagged_frame(tag | 5, 9), kTo).kind, FrameKind::foreign);
    EXPECT_EQ(parse_frame(make_tagged_frame(tag | 6, 9), in_vlan).kind, FrameKind::foreign);
    EXPECT_EQ(parse_frame(make_tagged_frame(tag | 0x105, 9), in_vlan).kind, FrameKind::foreign);
  }
  EXPECT_EQ(parse_frame(make_frame(9), in_vlan).kind, FrameKind::packet) << "the switch has taken the tag off";
  EXPECT_EQ(parse_frame(make_frame(9), in_vlan).tag, 0u);
  const std::vector<std::byte> frame = make_tagged_frame(5, 100);
  EXPECT_EQ(origin_of(frame.data() + kTagLength), origin_of(kFrom.address));
  for (std::size_t length = 0; length < frame.size(); ++length) {
    EXPECT_NE(parse_frame(std::span(frame).first(length), in_vlan).kind, FrameKind::packet) << length;
  }
}

TEST(EthernetFrame, ComesFromTheHardwareAddressThatItsEndHasNow) {
  FrameEnd moved = kFrom;
  moved.mac = {0x02, 0x0d, 0, 0, 1, 1};
  std::vector<std::byte> followed(kHeaderLength + 8), made(kHeaderLength + 8);
  FrameHeader header(kFrom, kTo, UdpSum::adapter);
  header.come_from(moved.mac);
  header.write(followed.data(), 8);
  FrameHeader(moved, kTo, UdpSum::adapter).write(made.data(), 8);
  EXPECT_EQ(followed, made);
}

TEST(EthernetFrame, EveryLengthIsFoundAgain) {
  for (std::uint32_t packet = 0; packet <= 9000; packet += packet < 100 ? 1 : 89) {
    const std::vector<std::byte> frame = make_frame(packet);
    const FrameView view = parse_frame(frame, kTo);
    EXPECT_EQ(view.kind, FrameKind::packet) << packet;
    EXPECT_EQ(view.length, packet);
  }
}

TEST(EthernetFrame, PaddingIsNoPacket) {
  std::vector<std::byte> frame = make_frame(3);
  frame.resize(kShortestFrame);
  EXPECT_EQ(parse_frame(frame, kTo).length, 3u);
  EXPECT_EQ(parse_frame(frame, kTo).kind, FrameKind::packet);
}

TEST(EthernetFrame, ShortFramesAreNoPackets) {
  const std::vector<std::byte> frame = make_frame(100);
  for (std::size_t length = 0; length < frame.size(); ++length) {
    EXPECT_NE(parse_frame(std::span(frame).first(length), kTo).kind, FrameKind::packet) << length;
  }
}

// A bit that was damaged in the header is noticed, but in what is not looked at: the sender's hardware address and
// port.
TEST(EthernetFrame, DamagedHeadersAreNoPackets) {
  for (std::size_t bit = 0; bit < 8 * kHeaderLength; ++bit) {
    const std::size_t byte = bit / 8;
    std::vector<std::byte> frame = make_frame(20);
    frame[byte] ^= static_cast<std::byte>(1u << bit % 8);
    const bool looked_at = !(byte >= 6 && byte < 12) && byte != 34 && byte != 35;
    EXPECT_EQ(parse_frame(frame, kTo).kind != FrameKind::packet, looked_at) << "bit " << bit;
  }
}

TEST(EthernetFrame, OthersFramesAreForeign) {
  for (FrameEnd other : {kTo, kTo, kTo, kTo}) {
    static int which = 0;
    switch (which++) {
      case 0:
        other.mac[5] = 9;
        break;
      case 1:
        other.address += 1;
        break;
      case 2:
        other.port += 1;
        break;
      default:
        other.token += 1;
    }
    EXPECT_EQ(parse_frame(make_frame(64), other).kind, FrameKind::foreign);
  }
}

TEST(EthernetFrame, AUdpChecksumIsCheckedUnlessTheAdapterHas) {
  std::vector<std::byte> frame = make_frame(9);
  // Of the pseudo header, UDP's header and its content.
  std::uint64_t sum = sum_words(std::span(frame).subspan(26, 8)) + 17 + (frame.size() - 34);
  sum += sum_words(std::span(frame).subspan(34));
  const auto checksum = static_cast<std::uint16_t>(~fold(sum));
  frame[40] = static_cast<std::byte>(checksum >> 8);
  frame[41] = static_cast<std::byte>(checksum);
  EXPECT_EQ(parse_frame(frame, kTo).kind, FrameKind::packet);
  frame[50] ^= std::byte{4};
  EXPECT_EQ(parse_frame(frame, kTo).kind, FrameKind::damaged);
  EXPECT_EQ(parse_frame(frame, kTo, {.udp_good = true}).kind, FrameKind::packet);
}

// A frame with a packet of random bytes whose checksum the processor makes.
std::vector<std::byte> summed_frame(std::uint32_t packet, const FrameMarks& marks = {}) {
  std::minstd_rand random(packet + 1);
  std::vector<std::byte> frame(kHeaderLength + (marks.tag ? kTagLength : 0) + packet);
  for (std::byte& byte : frame) byte = static_cast<std::byte>(random());
  const FrameHeader header(kFrom, kTo, UdpSum::processor, marks);
  header.write(frame.data(), packet);
  header.add_sum(frame.data(), packet);
  return frame;
}

TEST(EthernetFrame, TheProcessorMakesTheChecksumThatIsExpected) {
  for (std::uint32_t packet : {0u, 1u, 2u, 3u, 7u, 8u, 9u, 64u, 1451u, 8952u}) {
    for (const FrameMarks& marks : {FrameMarks{}, FrameMarks{.tag = 3 << 13}}) {
      std::vector<std::byte> frame = summed_frame(packet, marks);
      const FrameView view = parse_frame(frame, kTo);
      EXPECT_EQ(view.kind, FrameKind::packet) << packet;
      EXPECT_EQ(view.length, packet);
      frame.back() ^= std::byte{64};
      EXPECT_EQ(parse_frame(frame, kTo).kind, packet != 0 ? FrameKind::damaged : FrameKind::foreign) << packet;
    }
  }
}

// As the checksum of a frame whose sum is 0 is written, so that it does not say that there is none.
TEST(EthernetFrame, ASumOfZeroIsNoMissingSum) {
  std::vector<std::byte> frame(kHeaderLength + 2);
  const FrameHeader header(kFrom, kTo, UdpSum::processor);
  header.write(frame.data(), 2);
  header.add_sum(frame.data(), 2);
  std::memcpy(frame.data() + kHeaderLength, frame.data() + 40, 2);  // what brings the sum to 0
  frame[40] = frame[41] = std::byte{0};
  header.add_sum(frame.data(), 2);
  EXPECT_EQ(frame[40], std::byte{0xff});
  EXPECT_EQ(frame[41], std::byte{0xff});
  EXPECT_EQ(parse_frame(frame, kTo).kind, FrameKind::packet);
  frame[49] ^= std::byte{1};
  EXPECT_EQ(parse_frame(frame, kTo).kind, FrameKind::damaged);
}

TEST(EthernetFrame, TheHeadersChecksumIsCheckedUnlessTheAdapterHas) {
  std::vector<std::byte> frame = make_frame(9);
  frame[24] ^= std::byte{4};
  EXPECT_EQ(parse_frame(frame, kTo).kind, FrameKind::damaged);
  EXPECT_EQ(parse_frame(frame, kTo, {.udp_good = true}).kind, FrameKind::damaged);
  EXPECT_EQ(parse_frame(frame, kTo, {.ip_good = true}).kind, FrameKind::packet);
}

TEST(EthernetFrame, TheAdapterGetsThePseudoHeadersSum) {
  std::vector<std::byte> frame(kHeaderLength + 8);
  FrameHeader(kFrom, kTo, UdpSum::adapter).write(frame.data(), 8);
  const std::uint16_t expected = fold(sum_words(std::span(frame).subspan(26, 8)) + 17 + 22);
  EXPECT_EQ(std::to_integer<unsigned>(frame[40]) << 8 | std::to_integer<unsigned>(frame[41]), expected);
}

}  // namespace
}  // namespace openlapi::dpdk
