// One Ethernet port of DPDK with one receive and one send queue, and the memory for its packets.
//
// A port is configured and started once, with two exceptions. A memif client never reconnects by itself, and if it
// starts before its server its link stays down: it is started again until the server answers, and again after it has
// lost the server. And a port whose driver asks for a reset is reset, configured and started anew, by a thread of its
// own, as that may take seconds; meanwhile it is away, and what is sent is lost. By such a thread an adapter is given
// back, too, that the kernel wants for somebody else.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "dataplane/base/slow_call.h"
#include "nic/dpdk/client_connection.h"
#include "nic/dpdk/ethernet_frame.h"
#include "nic/dpdk/packet_ring.h"
#include "nic/dpdk/port_events.h"
#include "nic/dpdk/port_sharing.h"
#include "nic/dpdk/renewal_schedule.h"

struct rte_mbuf;
struct rte_mempool;

namespace openlapi::dpdk {

struct PortPreference {
  std::string device;
  std::uint32_t mtu = 0;  // longest IP packet; 0: the port's
  std::uint16_t receive_descriptors = 512;
  std::uint16_t send_descriptors = 512;
  std::uint32_t held = 1024;  // packets that may be held besides
  bool watched = false;       // its link is asked for often, as there are other ways to the peers
  std::uint64_t renewal_patience = 60 * kSecond;  // nanoseconds in which resets may fail before the port is given up
};

enum class PortFault : std::uint8_t { none, no_device, in_use, no_memory, unusable };

class EthernetPort {
 public:
  EthernetPort() = default;
  ~EthernetPort();
  EthernetPort(const EthernetPort&) = delete;
  EthernetPort& operator=(const EthernetPort&) = delete;

  // Bytes of EAL's memory that a port takes.
  static std::uint64_t memory_for(const PortPreference& preference);

  // Finds or makes the device, and starts it. A memif client that finds no server is not started yet: link_check().
  PortFault open(const PortPreference& preference, std::string& reason);

  std::uint16_t id() const { return id_; }
  const std::string& name() const { return name_; }
  const std::string& driver() const { return driver_; }
  const MacAddress& mac() const { return mac_; }
  // Of a port with an interface of the kernel, whose hardware address it has: whether that may change, and has. Ports
  // without one keep the adapter's own, or what the driver has made up.
  bool has_kernels_mac() const { return interface_number_ != 0; }
  bool renew_mac();
  std::uint32_t mtu() const { return mtu_; }
  // The kernel's interface that af_packet works on; empty: it is another driver.
  const std::string& interface() const { return interface_; }
  // The kernel's interface on the same adapter or, of af_packet, below it; empty: there is none.
  const std::string& network_interface() const { return interface_.empty() ? kernel_interface_ : interface_; }
  // Its receive queue was set up to interrupt; whether the driver can is another question.
  bool interrupts() const { return interrupts_; }
  rte_mempool* send_pool() const { return send_pool_; }
  bool started() const { return started_; }
  // Only then it may be asked for frames. A memif that is not connected yet reads what its interrupt thread writes.
  bool pollable() const { return up_ || (service_ == Service::serves && started_ && !in_memory_); }
  // It is being set up anew, or gone: only what open() has found out, its pools and counters may be asked for.
  bool away() const { return service_ != Service::serves; }
  // Its driver has told something that link_check() has not taken in yet, or of which there is no way back.
  bool has_events() const { return events_.any(); }
  // It was taken away or asked back, or cannot be set up anew: nothing touches it any more, in this process, but what
  // gives it back.
  bool gone() const { return service_ == Service::gone; }
  const std::string& why_gone() const { return why_gone_; }  // "was removed, says its driver"
  bool up() const { return up_; }
  bool was_up() const { return was_up_; }
  // Bursts of queue 0. What receive() gives and send() does not take is the caller's.
  // The memif driver unmaps its rings in the interrupt thread as soon as the peer is gone, be it in the middle of a
  // burst. Such a burst ends there: nothing was received, or everything sent (and lost), and the burst's buffers stay
  // with the driver for good.
  std::uint16_t receive(std::span<rte_mbuf*> buffers);
  std::uint16_t send(std::span<rte_mbuf*> buffers);
  // What was sent is on its way only when receive() has been called again, perhaps more than once.
  bool may_hold_frames() const { return !away() && ring_.may_hold_frames(); }
  // Who makes UDP's checksum, which the adapter then checks, too.
  UdpSum udp_sum() const { return in_memory_ ? UdpSum::none : sums_ ? UdpSum::adapter : UdpSum::processor; }
  // Frames never leave this machine's memory, where nothing damages them.
  bool in_memory() const { return in_memory_; }

  // Asks the driver for the link, and starts a memif client again whose link is down. `now` in nanoseconds.
  // Takes in what the driver has told by itself: then the port may be away.
  void link_check(std::uint64_t now);
  // Where it is away, begins what is due to have it back, and ends it.
  void renew(std::uint64_t now);
  std::uint64_t renewals() const { return renewals_; }
  // How often a memif's other end has gone that had sent something: for good, whoever takes its place.
  std::uint64_t ends() const { return ends_; }
  std::uint64_t restarts() const { return restarts_; }
  std::uint64_t link_losses() const { return link_losses_; }

  // Flow rules for the end's IPv4 address, UDP port and VLAN where the port is isolated. Before the first packet. A
  // port that refuses them cannot be used: the kernel uses it as well.
  PortFault takes_only(const FrameEnd& end, std::string& reason);
  bool isolated() const { return isolated_; }  // as every port that the kernel uses as well

 private:
  static constexpr std::uint64_t kFirstStartWait = 20'000'000;  // nanoseconds
  enum class Service : std::uint8_t { serves, waits, is_renewed, gone };

  bool find();
  PortFault make(const PortPreference& preference, std::string& reason);
  std::string made_with() const;
  PortFacts facts() const;
  PortFault set_up(const PortPreference& preference, std::string& reason);
  PortFault find_out(std::string& reason);
  PortFault configure(const PortPreference& preference, std::string& reason);
  void take_kernels_mac();
  PortFault add_rules(std::string& reason);
  bool leave_to_kernel(std::string& reason);
  bool make_pools(const PortPreference& preference, std::string& reason);
  void keep_pools() const;  // the next port with its number has others
  void disconnect_stopped();
  void let_connect();
  bool shares_socket() const;
  std::uint64_t pause_of_checks() const;
  bool link_is_up() const;
  int start();
  int start_here();  // by the thread that it belongs to
  void start_again(std::uint64_t now);
  void leave(std::uint64_t now);
  void give_up(std::string why);
  PortFault set_up_anew(std::string& reason);
  bool reset(std::string& reason);
  void give_back();
  std::string device_name() const;
  void stop();
  void close();
  void remove();
  void where_it_belongs(const std::function<void()>& body);

  std::uint16_t id_ = 0;
  bool open_ = false;
  bool made_ = false;        // virtual: removed at the end
  bool given_back_ = false;  // removed already
  bool started_ = false;
  bool up_ = false;
  bool was_up_ = false;
  bool client_ = false;
  bool sums_ = false;
  bool in_memory_ = false;
  bool watched_ = false;
  bool unmaps_ = false;  // in the middle of bursts
  bool isolated_ = false;
  bool shared_ = false;  // with the kernel
  bool interrupts_ = false;
  std::string name_;
  std::string driver_;
  std::string interface_;
  std::string kernel_interface_;  // on the same adapter; empty: none
  MacAddress mac_{};
  std::uint32_t mtu_ = 0;
  int node_ = -1;
  rte_mempool* receive_pool_ = nullptr;
  rte_mempool* send_pool_ = nullptr;
  std::uint64_t next_check_ = 0;
  std::uint64_t next_start_ = 0;
  std::uint64_t waits_since_ = 0;  // a client that was turned away, or has lost its server
  std::uint64_t start_wait_ = kFirstStartWait;
  ClientConnection connection_;
  PacketRing ring_;
  std::uint64_t restarts_ = 0;
  std::uint64_t link_losses_ = 0;
  PortPreference preference_;
  FrameEnd rules_for_;  // takes_only()
  PortEvents events_;
  Service service_ = Service::serves;
  RenewalSchedule schedule_;
  PortFault renewal_fault_ = PortFault::none;  // of the latest attempt, like the reason
  std::string renewal_reason_;
  std::string why_gone_;
  std::atomic<bool> abandoned_ = false;  // it is gone: to a thread that was setting it up anew
  std::uint64_t renewals_ = 0;
  bool heard_ = false;  // frames came over the link that is up
  std::uint64_t ends_ = 0;
  std::uint64_t owner_ = 0;
  unsigned interface_number_ = 0;  // of the interface whose hardware address it has; 0: none
  SlowCall renewal_;               // last: it uses the others
};

}  // namespace openlapi::dpdk
