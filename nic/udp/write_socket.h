// A socket that only sends. Apart from the socket that receives, because a socket connected to one peer sends 0.34 us
// (of 2.4) faster than sendto() - the route is looked up once - but would receive from that peer only; and because
// errors that ICMP brings stay off the receiving side. A transport keeps a few of them, chosen by the peer's number;
// each connects to the peer that it serves most. Its port is any free one: receivers do not look at it.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/transport/packet.h"

namespace openlapi::udp {

enum class Sent : std::uint8_t {
  accepted,
  full,             // the kernel has no room now
  lost,             // cannot be sent at all (no route, forbidden by a filter): counts as lost on the way
  segment_refused,  // offload with these segments does not work on this path; nothing was sent
};

class WriteSocket {
 public:
  WriteSocket() = default;
  ~WriteSocket();
  WriteSocket(const WriteSocket&) = delete;
  WriteSocket& operator=(const WriteSocket&) = delete;

  // Opens it, bound to `local` and a free port. False: errno says why.
  bool open(in_addr local, int send_buffer);
  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  bool connected_to(PeerIndex peer) const { return peer_ == peer; }
  std::uint32_t path_mtu() const { return path_mtu_; }  // of the connected peer, bytes of an IP packet

  // `peer` is about to be sent to although another one (or none) is connected. Connects to it at once when nobody is
  // connected, else when it comes twice in a row. False: not connected, name the destination with each send.
  bool consider(PeerIndex peer, const sockaddr_in& destination);
  void used_by_connected_peer() { candidate_ = kUnknownPeer; }
  void forget(PeerIndex peer);

  // Sends one datagram, or with `segment` > 0 one for each `segment` bytes. `destination` null: the connected peer.
  Sent send(std::span<const std::byte> bytes, std::uint32_t segment, const sockaddr_in* destination);

  // Asks the kernel again how long a packet to the connected peer may be.
  void refresh_path_mtu();

 private:
  long send_once(std::span<const std::byte> bytes, std::uint32_t segment, const sockaddr_in* destination);

  int descriptor_ = -1;
  PeerIndex peer_ = kUnknownPeer;
  PeerIndex candidate_ = kUnknownPeer;
  std::uint32_t path_mtu_ = 0;
};

}  // namespace openlapi::udp
