// Which port of a transport leads to which peer, and over which router.
//
// Where both ends have one port nothing has to be found out. Otherwise each of the ports that are up asks the peer, by
// datagrams (path_message.h) to all hardware addresses that it has published, or to everybody where these did not fit:
// the first answer tells the way. A question tells one, too: who asks has none, or had to leave it. So it is asked
// anew when a port goes down or gets another hardware address, and peers whose ways ended there follow.
// ARP finds routers alone; it is answered, so that switches, bridges and tools know this end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/transport/remote_table.h"
#include "nic/dpdk/arp_message.h"
#include "nic/dpdk/dpdk_address.h"
#include "nic/dpdk/ethernet_frame.h"
#include "nic/dpdk/ethernet_port.h"
#include "nic/dpdk/own_network.h"

namespace openlapi::dpdk {

struct Port {
  static constexpr std::uint32_t kSpareBuffers = 4;

  EthernetPort ethernet;
  FrameEnd own;
  bool full = false;                             // it had no room at the last attempt to send
  std::array<rte_mbuf*, kSpareBuffers> spare{};  // from the port's send pool, for the next packets
  std::uint32_t spares = 0;
};

struct Remote {
  bool added = false;
  Address address;
  std::uint32_t next_hop = 0;      // IPv4: itself, or the router before it
  MacAddress next_mac{};           // of it, when `port` is known
  Port* port = nullptr;            // null: not known yet which port leads there
  bool sought = false;             // it is asked which way leads there, also where one is known
  std::uint64_t sought_since = 0;  // ns
  FrameHeader header{};
  std::uint32_t max_packet = 0;
  std::uint64_t lost_from = 0;  // time in ns; until then packets wait for `port` to be found; 0: none has waited yet
  std::uint64_t ends = 0;       // EthernetPort::ends() of `port` when it was found

  bool is_waited_for(std::uint64_t now) const { return now < lost_from; }
  bool is_behind_router() const { return next_hop != address.end.address; }
};

class PathSearch {
 public:
  struct Counters {
    std::uint64_t arp_answers = 0;     // that it gave
    std::uint64_t arp_questions = 0;   // that it asked
    std::uint64_t path_questions = 0;  // the same, of peers
  };

  // All must outlive it.
  PathSearch(const FrameMarks& marks, const OwnNetwork& network, const std::vector<std::unique_ptr<Port>>& ports,
             RemoteTable<Remote>& remotes)
      : marks_(marks), network_(network), ports_(ports), remotes_(remotes) {}

  // `remote` is `present`: new, or at another address, and without a port. Where it is behind a router, or it or this
  // end has several ports, the way is looked for.
  void add(Remote& remote, Remote present);
  // Packets wait for a way to `remote`, until it is lost_from; those of routers are looked for at once.
  void hurry(std::uint64_t now);
  // What is due.
  void go_on(std::uint64_t now);
  // The port has come up, or has another hardware address: switches are told, and whoever may be behind it asked.
  void greet(Port& port);
  // It is not up any more. Ways over it are left where another port is up, and those whose ways end there learn it from
  // being asked.
  void port_went_down(const Port& port);
  // A port has another hardware address, which peers learn in the same way.
  void ask_all();

  // False: it is none. ARP is without its tag.
  bool take_arp(Port& port, std::span<const std::byte> frame);
  bool take_message(Port& port, std::span<const std::byte> frame, const FrameView& view);

  const Counters& counters() const { return counters_; }

 private:
  enum class Source : std::uint8_t { answer, hearsay };

  bool is_only_way(const Remote& remote) const { return ports_.size() == 1 && remote.address.ports == 1; }
  void seek(Remote& remote);
  void leave_dead_ways();
  void set_port(Remote& remote, Port& port, const MacAddress& mac);
  void ask_for_peers();
  void ask(const Remote& remote);
  void ask_for_router();
  void found_router(std::uint32_t address, Port& port, const MacAddress& mac, Source source);
  void send(Port& port, std::span<const std::byte> frame) const;

  const FrameMarks& marks_;
  const OwnNetwork& network_;
  const std::vector<std::unique_ptr<Port>>& ports_;
  RemoteTable<Remote>& remotes_;
  std::uint64_t now_ = 0;   // nanoseconds, of the latest go_on()
  std::size_t sought_ = 0;  // peers
  std::uint64_t question_at_ = 0;
  struct RouterQuestions {
    bool wanted = false;   // there are peers behind it
    std::uint64_t at = 0;  // the next one
  } router_questions_;
  Counters counters_;
};

}  // namespace openlapi::dpdk
