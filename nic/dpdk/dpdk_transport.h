// Packets over Ethernet adapters that this task drives itself through DPDK: UDP over IPv4, one packet per frame
// (ethernet_frame.h), received by polling and without a copy.
//
// A device belongs to one task. Where the driver shares it with the kernel (a bifurcated driver), a flow rule directs
// the frames for this task's UDP port here; without such a rule the device is not used (port_sharing.h). Usually one
// port reaches all peers, through switches. Point-to-point ports (memif) serve one peer each: then a transport has
// several ports, and finds out which of them leads to a peer (path_search.h).
// Unreliable: frames that the task does not take in time are lost. A port whose link is down loses what is sent, except
// in the first seconds, when packets wait for the link. So does one that is reset (ethernet_port.h), and one that is
// gone for good. Reading order: dpdk_datapath.cc, dpdk_upkeep.cc, path_search.h, ethernet_frame.h, ethernet_port.h,
// dpdk_setup.cc, dpdk_environment.h.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/transport/remote_table.h"
#include "dataplane/transport/transport.h"
#include "nic/dpdk/arrival_wake.h"
#include "nic/dpdk/dpdk_address.h"
#include "nic/dpdk/ethernet_frame.h"
#include "nic/dpdk/ethernet_port.h"
#include "nic/dpdk/held_port.h"
#include "nic/dpdk/own_network.h"
#include "nic/dpdk/path_search.h"
#include "nic/dpdk/used_address.h"

namespace openlapi {

struct DpdkConfig {
  std::vector<std::string> devices;  // device_preference.h says how each is named
  std::string eal_arguments;         // further ones, separated by spaces; those of the task's first transport count
  std::uint32_t address = 0;         // IPv4, as a number; 0: a link-local one that follows from the hardware address
  dpdk::OwnNetwork network{};        // of the address
  dpdk::FrameMarks marks{};          // of all frames that leave, and the VLAN of those that are taken
  std::uint16_t port = 0;            // UDP; 0: one that nothing else on this machine uses
  std::uint32_t mtu = 0;             // longest IP packet, bytes, at most what the driver takes; 0: the driver's
  std::uint16_t receive_descriptors = 512;
  std::uint16_t send_descriptors = 512;
  std::uint32_t held_packets = 1024;    // that the engine may hold at a time; a power of two
  bool link_status = false;             // tell soon when links go down or come up
  std::uint32_t tasks = UINT32_MAX;     // of the job; peers with larger numbers are other ends of tasks (OtherEnd)
  std::uint32_t local_tasks = UINT32_MAX;  // of the job on this machine; the largest number: not known
  bool tell = false;                       // on standard error, of ports that are given up
  std::uint32_t renewal_patience = 60'000;  // milliseconds in which a port that is to be reset may fail to be
  std::uint32_t link_patience = 3'000;  // milliseconds to wait for links: when opening, and once more when sending
};

struct DpdkSetupError {
  enum class Kind : std::uint8_t { none, no_environment, no_device, in_use, no_memory, unusable_port, bad_value };
  Kind kind = Kind::none;
  std::string text;  // for the user: what was asked for, what went wrong, what to do
};

struct DpdkCounters {
  std::uint64_t lost_packets = 0;    // taken but not sent: link down, peer not found, longer than the peer accepts
  std::uint64_t pool_exhausted = 0;  // send_burst() calls that found no buffer
  std::uint64_t foreign_frames = 0;  // not for this transport
  std::uint64_t damaged_frames = 0;  // for this transport, but malformed
  std::uint64_t arp_answers = 0;     // that it gave
  std::uint64_t arp_questions = 0;   // that it asked
  std::uint64_t path_questions = 0;  // the same, of peers: path_search.h
  std::uint64_t restarts = 0;        // of ports whose link was down
  std::uint64_t link_losses = 0;
  std::uint64_t renewals = 0;  // of ports whose driver wanted to be reset
};

class DpdkTransport final : public Transport,
                            public PeerLimits,
                            public PacketOrigins,
                            public PeerLiveness,
                            private LinkStatus,
                            private ThreadResources {
 public:
  ~DpdkTransport() override;

  std::string_view name() const override { return "dpdk"; }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override { return dpdk::encode(local_); }
  bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) override;
  std::uint32_t max_packet_to(PeerIndex peer) const override;
  std::uint32_t max_packets_to(PeerIndex) const override { return UINT32_MAX; }
  std::uint64_t origin_of(PeerIndex peer) const override;  // its IPv4 address, the same for all its ports
  // Packets that are longer than max_packet_to(peer) are lost.
  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override;
  std::size_t receive_burst(std::span<IncomingPacket> packets) override;
  void release(std::size_t count) override;
  // The other end of a memif belongs to this peer alone, so its end is the peer's.
  bool peer_gone(PeerIndex peer) override {
    const Remote& remote = *remotes_.find(peer);
    return remote.port != nullptr && remote.port->ethernet.ends() != remote.ends;
  }
  TransportCounters counters() const override { return counters_; }
  TransportCapabilities capabilities() override;

  DpdkCounters dpdk_counters() const;
  const dpdk::Address& address() const { return local_; }
  bool has_link() const;  // as of the latest look; that of an interface of the kernel is asked for
  std::size_t ports() const { return ports_.size(); }
  bool wakes_at_once() const { return wake_->immediate(); }  // otherwise by sleeps that grow
  const dpdk::EthernetPort& port(std::size_t which) const { return ports_[which]->ethernet; }

 private:
  friend std::unique_ptr<DpdkTransport> open_dpdk_transport(const DpdkConfig&, DpdkSetupError&);
  static constexpr std::uint32_t kMaxBurst = 32;   // frames; some drivers give none to whoever asks for fewer
  static constexpr std::size_t kMostReleased = 8;  // buffers that may wait before they go back to their pool
  using Port = dpdk::Port;
  using Remote = dpdk::Remote;
  struct Arrival {
    rte_mbuf* buffer;
    std::byte* data;
    std::uint32_t length;
    std::uint64_t origin;
  };

  explicit DpdkTransport(const DpdkConfig& config) : config_(config), remotes_(config.tasks) {}

  // dpdk_setup.cc
  // A thread for which there is no memory yet neither sends nor receives until there is.
  void enter_thread() override;
  bool open(DpdkSetupError& error);
  bool check_values(DpdkSetupError& error) const;
  bool open_ports(DpdkSetupError& error);
  bool choose_address(DpdkSetupError& error);
  void wait_for_links();
  bool make_wake(DpdkSetupError& error);

  // dpdk_datapath.cc
  std::size_t send_on(Port& port, const Remote& remote, std::span<const OutgoingPacket> packets);
  bool take_buffers(Port& port, std::span<rte_mbuf*> buffers);
  void fill(rte_mbuf& buffer, const OutgoingPacket& packet, const Remote& remote) const;
  bool take_arrivals();
  void sort(Port& port, rte_mbuf* buffer);
  std::size_t hand_out(std::span<IncomingPacket> packets);
  [[gnu::noinline]] void give_back();
  [[gnu::noinline]] void tidy_up();

  // dpdk_upkeep.cc
  const std::atomic<std::uint32_t>& changes() const override { return link_changes_; }
  void look() override;
  std::uint32_t words_against(PeerIndex peer) const override;
  const char* told_by(PeerIndex peer) const override {
    const Port* const port = remotes_.find(peer)->port;
    return port != nullptr && port->ethernet.gone() ? "its driver: the adapter has failed" : nullptr;
  }
  void path_failed(PeerIndex) override {}  // its link is looked at anyway
  std::size_t send_hindered(Remote& remote, std::span<const OutgoingPacket> packets);
  std::size_t refuse() {
    ++counters_.send_refused;
    return 0;
  }
  std::size_t lose(std::size_t packets) {
    own_counters_.lost_packets += packets;
    counters_.packets_sent += packets;
    return packets;
  }
  void upkeep();
  void look_after(Port& port);
  bool may_move() const;
  void follow_interfaces();
  void take_mac(Port& port);
  void publish_macs();
  void greet(Port& port);

  DpdkConfig config_;
  TransportLimits limits_{};
  dpdk::Address local_;
  dpdk::UsedAddress used_address_;
  dpdk::HeldPort held_port_;  // the UDP port of local_, held as long as the transport exists
  std::vector<std::unique_ptr<Port>> ports_;
  RemoteTable<Remote> remotes_;  // by peer
  dpdk::PathSearch paths_{config_.marks, config_.network, ports_, remotes_};
  std::size_t next_port_ = 0;    // the next one to poll
  std::uint64_t upkeep_at_ = 0;  // ticks of the processor's clock
  std::uint64_t now_ = 0;        // nanoseconds, of the latest upkeep
  std::uint64_t next_follow_ = 0;
  std::uint64_t next_timers_ = 0;
  std::uint64_t patience_ends_ = 0;

  std::array<Arrival, kMaxBurst> arrivals_{};  // received but not handed to the engine yet
  std::uint32_t first_arrival_ = 0;
  std::uint32_t arrivals_end_ = 0;
  std::vector<rte_mbuf*> held_;  // a ring, oldest at first_held_
  std::size_t first_held_ = 0;
  std::size_t held_count_ = 0;
  std::size_t released_ = 0;  // of held_: the first so many are no longer held by the engine
  bool untidy_ = true;        // there are buffers to give back or to put aside
  std::unique_ptr<dpdk::ArrivalWake> wake_;
  std::atomic<std::uint32_t> link_changes_ = 0;
  TransportCounters counters_;
  DpdkCounters own_counters_;
};

// Null: `error` says why. Takes tenths of a second the first time in a process; waits for links (link_patience).
std::unique_ptr<DpdkTransport> open_dpdk_transport(const DpdkConfig& config, DpdkSetupError& error);

}  // namespace openlapi
