// Packets over the kernel's UDP, one local IPv4 address per transport. datagram_frame.h says what is in a datagram.
//
// Unreliable: packets are lost, duplicated and overtake each other; damaged ones never arrive (UDP's checksum). Needs
// no privilege. Reading order: udp_datapath.cc, send_batch.h, write_socket.h, socket_looks.h, receive_arena.h,
// arrival_switch.h, udp_setup.cc.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "dataplane/transport/transport.h"
#include "nic/udp/arrival_switch.h"
#include "nic/udp/local_links.h"
#include "nic/udp/receive_arena.h"
#include "nic/udp/send_batch.h"
#include "nic/udp/socket_looks.h"
#include "nic/udp/udp_adapters.h"
#include "nic/udp/write_socket.h"

namespace openlapi {

struct UdpConfig {
  in_addr address{};              // a local one, not 0.0.0.0: it is what peers are told
  std::uint16_t port = 0;         // host order; 0: the kernel chooses
  // Longest datagram in bytes (MP_UDP_PACKET_SIZE). Above 65507 means 65507; 0: kDefaultUdpPacketSize, or what fits the
  // MTU, if less, and packets that wait together may share datagrams up to the MTU.
  std::uint32_t packet_size = 0;
  std::uint32_t receive_buffer = 4 << 20;  // bytes of the kernel's buffer; less when the system allows less
  std::uint32_t send_buffer = 256 << 10;   // bytes; below the usual queue limits: a full link refuses, not drops
  bool spare = false;             // receives nothing, and wakes nobody, before the first add_peer()
  // Tells when the adapter's link goes down or comes up, or its address changes; the other transports of the context
  // have the same. Null: nobody tells.
  std::shared_ptr<udp::LocalLinks> links;
  // Of a context with several adapters, whose other transports have the same: packets leave over the one that has their
  // address. Null: there is no other one.
  std::shared_ptr<udp::SocketsOfContext> sockets;
  bool offload = true;  // use segmentation and coalescing where the kernel has them
};

struct UdpSetupError {
  enum class Kind : std::uint8_t { none, address_in_use, no_such_address, too_many_files, bad_packet_size, system };
  Kind kind = Kind::none;
  int system_error = 0;  // errno; 0: none
  std::string text;      // for the user: what was asked for, what went wrong, what to do
};

inline constexpr std::uint32_t kIpAndUdpHeaders = 28;            // bytes
inline constexpr std::uint32_t kSmallestUdpPacketSize = 640;    // bytes of a datagram; the engine needs records of 512
// Bytes of a datagram, where the MTU has room for it: what a jumbo frame of 9000 bytes carries, so that a message of
// 8 KiB is one packet. The guide's 8192 makes it two.
inline constexpr std::uint32_t kDefaultUdpPacketSize = 8968;

class UdpTransport final : public Transport, public PacketOrigins, public PackedDatagrams, private WakeSource {
 public:
  ~UdpTransport() override;

  std::string_view name() const override { return "udp"; }
  // max_packet is the datagram size rounded down to a multiple of 8, less the frame's header of 8 bytes.
  // It holds for every peer (there are no PeerLimits): an address says nothing of a limit, since no receiver has one.
  // Whatever a task sends itself, it takes datagrams of every length.
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override;
  bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) override;
  std::uint64_t origin_of(PeerIndex peer) const override;  // its IPv4 address: senders' ports are any
  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override;
  // May return packets longer than limits().max_packet: the sender's interface may carry longer ones.
  std::size_t receive_burst(std::span<IncomingPacket> packets) override;
  std::size_t receive_rest(std::span<IncomingPacket> packets) override;
  void skip_datagram() override;
  void release(std::size_t count) override { arena_.release(count); }
  TransportCapabilities capabilities() override {
    return {.wake_source = this,
            .packet_origins = this,
            .packed_datagrams = this,
            .link_status = link_ ? &*link_ : nullptr};
  }
  // receive_dropped has what the kernel dropped as well: strangers' datagrams, and all for which there was no room. A
  // system call.
  TransportCounters counters() const override;

  std::uint16_t port() const { return ntohs(local_.sin_port); }
  bool segments() const { return segmentation_; }         // segmentation offload is in use
  bool coalesces() const { return coalescing_; }          // the kernel coalesces for us
  std::uint64_t looks() const { return looks_.count(); }  // of receive_burst() at the socket, a system call each
  // Packets that were taken but that the system refused to send at all (no route, a filter).
  std::uint64_t unsendable_packets() const { return unsendable_packets_; }

 private:
  friend std::unique_ptr<UdpTransport> open_udp_transport(const UdpConfig&, UdpSetupError&);
  // Eight connected sockets serve eight peers without looking up routes; more peers share them.
  static constexpr std::size_t kWriteSockets = 8;
  static constexpr std::uint32_t kMaxBurst = 64;

  explicit UdpTransport(const UdpConfig& config) : config_(config), asleep_(config.spare), looks_(config.sockets) {
    if (config.links != nullptr)
      link_.emplace(config.links, config.address, [this](in_addr now) { return move_to(now); });
  }

  // udp_setup.cc
  bool open(UdpSetupError& error);
  bool bind_receiver(UdpSetupError& error);
  bool move_to(in_addr address);
  void read_mtu();
  bool choose_packet_size(UdpSetupError& error);
  void size_receive_buffer();
  void turn_strangers_away();
  void coalesce();
  void probe_offload();

  // udp_datapath.cc
  [[gnu::noinline, gnu::cold]] void look_at_network();
  udp::WriteSocket& write_socket(PeerIndex peer);
  udp::BatchLimits batch_limits(const udp::WriteSocket& socket, bool connected) const;
  void segment_refused(udp::WriteSocket& socket, bool connected);
  bool read_datagram();
  std::size_t take_frames(std::span<IncomingPacket> packets);

  int descriptor() const override { return arrival_.descriptor(); }
  bool immediate() const override { return true; }
  bool arm() override;
  void disarm() override {
    if (!asleep_) arrival_.switch_off();
  }

  UdpConfig config_;
  TransportLimits limits_{};
  bool asleep_;  // as UdpConfig::spare has it
  sockaddr_in local_{};
  int receiver_ = -1;
  udp::SocketLooks looks_;
  udp::ArrivalSwitch arrival_;
  std::optional<udp::AdapterLink> link_;
  bool segmentation_ = false;
  bool coalescing_ = false;
  std::uint32_t interface_mtu_ = 0;
  std::optional<CrowdedNetwork> crowded_;  // if the context has several adapters and somebody tells of changes
  unsigned busy_polls_ = 0;  // receive_burst() calls in a row that found packets
  std::array<udp::WriteSocket, kWriteSockets> writers_;
  std::unordered_map<PeerIndex, sockaddr_in> peers_;
  TransportCounters counters_;
  std::uint64_t unsendable_packets_ = 0;
  udp::ReceiveArena arena_;
  std::uint64_t origin_ = 0;     // of the datagram that is being parsed,
  bool datagram_begun_ = false;  // and whether a packet of it has been handed out
  udp::SendBatch batch_;
};

// Null: `error` says why. Blocks no longer than a few system calls.
std::unique_ptr<UdpTransport> open_udp_transport(const UdpConfig& config, UdpSetupError& error);

// {ip, port}, 6 bytes in network order: what local_address() gives and add_peer() takes. For peers that are known by
// the user's own means (standalone mode).
PeerAddress make_udp_address(in_addr address, std::uint16_t port);

// Whether an interface that is up has the transport's address, or the loopback of its network.
bool udp_adapter_has_link(const Transport& transport);

// "10.0.0.1 port 40000", for an address that add_peer() has taken.
std::string udp_address_text(const PeerAddress& address);

// "10.0.0.1"
std::string udp_host_text(const PeerAddress& address);

}  // namespace openlapi
