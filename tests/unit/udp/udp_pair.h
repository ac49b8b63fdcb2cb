// Two UDP transports of one process that know each other, for the tests of the data path.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nic/udp/udp_transport.h"

namespace openlapi::test {

inline std::vector<std::byte> packet_bytes(std::uint32_t number, std::size_t length) {
  std::vector<std::byte> bytes(length);
  std::uint32_t state = number * 2654435761u + 12345;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

inline bool poll_until(const auto& done, int seconds = 20) {
  const std::time_t end = std::time(nullptr) + seconds + 1;
  while (!done()) {
    if (std::time(nullptr) >= end) return false;
  }
  return true;
}

inline std::unique_ptr<UdpTransport> open_at(in_addr address, UdpConfig config = {}) {
  config.address = address;
  UdpSetupError error;
  auto transport = open_udp_transport(config, error);
  EXPECT_TRUE(transport) << error.text;
  return transport;
}

inline std::unique_ptr<UdpTransport> open_on_loopback(const UdpConfig& config = {}) {
  return open_at({.s_addr = htonl(INADDR_LOOPBACK)}, config);
}

inline void introduce(UdpTransport& to, PeerIndex peer, const Transport& whom) {
  std::string error;
  ASSERT_TRUE(to.add_peer(peer, whom.local_address(), error)) << error;
}

// Offers all packets until they are taken, in bursts as large as allowed.
inline bool send_all(UdpTransport& from, PeerIndex peer, const std::vector<std::vector<std::byte>>& packets) {
  std::vector<ConstBuffer> pieces;
  for (const auto& packet : packets) pieces.push_back({packet.data(), packet.size()});
  std::vector<OutgoingPacket> offered;
  for (const ConstBuffer& piece : pieces) offered.push_back({{&piece, 1}, static_cast<std::uint32_t>(piece.length)});
  std::size_t taken = 0;
  return poll_until([&] {
    taken += from.send_burst(peer, std::span(offered).subspan(taken));
    return taken == offered.size();
  });
}

inline bool send_one(UdpTransport& from, PeerIndex peer, const std::vector<std::byte>& packet) {
  return send_all(from, peer, {packet});
}

// Copies of the next `count` packets, released at once; fewer after `seconds`.
inline std::vector<std::vector<std::byte>> receive_copies(UdpTransport& at, std::size_t count, int seconds = 20) {
  std::vector<std::vector<std::byte>> copies;
  poll_until(
      [&] {
        std::array<IncomingPacket, 16> packets;
        const std::size_t got = at.receive_burst({packets.data(), std::min(packets.size(), count - copies.size())});
        for (std::size_t i = 0; i < got; ++i) {
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packets[i].data) % 8, 0u);
          EXPECT_EQ(packets[i].source, kUnknownPeer);
          copies.emplace_back(packets[i].data, packets[i].data + packets[i].length);
        }
        at.release(got);
        return copies.size() >= count;
      },
      seconds);
  return copies;
}

}  // namespace openlapi::test
