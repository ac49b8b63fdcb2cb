// The TCP connections of a daemon to its neighbours in the tree: sealed, and one for each. Those of strangers are kept
// few.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>

#include "control/base/poll_set.h"
#include "control/daemon/membership/membership.h"
#include "control/daemon/messages/connection.h"
#include "control/daemon/messages/sealed_stream.h"

namespace openlapi::daemon {

// Takes what neighbours say that is not about the links themselves.
class NeighbourMessages {
 public:
  virtual ~NeighbourMessages() = default;
  virtual void from_neighbour(const JobMessage& message) = 0;
  virtual void from_neighbour(const NetworkMessage& message) = 0;
  virtual void from_neighbour(std::uint32_t neighbour, const AdaptersMessage& message) = 0;
  virtual void from_neighbour(const DoubtMessage& message) = 0;
  virtual void adapters_taken(std::uint32_t neighbour) = 0;
  // There is a link to it now.
  virtual void neighbour_linked(std::uint32_t neighbour) = 0;
};

class PeerLinks {
 public:
  // Links that come and go, and what is said about them, are told to `membership`, all else to `messages`.
  // `promiscuous`: connections are taken from addresses that are no node's, too.
  PeerLinks(const BootKey& key, UniverseTable& table, FileDescriptor listener, bool promiscuous, Membership& membership,
            NeighbourMessages& messages);

  void connect(std::uint32_t node);
  void send(std::uint32_t node, const DaemonMessage& message);
  void close(std::uint32_t node);
  bool is_linked(std::uint32_t node) const;

  void watch(PollSet& poll_set);
  std::optional<Time> deadline() const;
  // Drops connections that were silent for too long; frees those that are over.
  void tick(Time now);
  // Something waits to be written to a neighbour.
  bool has_outgoing() const;

 private:
  // Of connections that this daemon makes. kConnects: connect() has not ended; kPauses: strangers have taken the place,
  // it tries again soon.
  enum class Stage : std::uint8_t { kTalks, kConnects, kPauses };
  struct Peer {
    Connection connection;
    std::optional<std::uint32_t> node{};  // who it is: known of those that we connect to, said by the others
    std::uint32_t from = 0;               // of those that connected: their address; else 0
    Time deadline{};                      // until it is linked
    Stage stage = Stage::kTalks;
    Time next_try{}, reach_until{};  // of those that we connect to
    std::chrono::milliseconds try_time{}, pause{};
    bool linked = false;
    bool closing = false;  // over when all is written
    bool over = false;
    bool takes_messages() const { return linked && !closing && !over; }
  };

  void try_to_connect(Peer& peer, Time now);
  void come_again(Peer& peer);
  void go_on(Peer& peer, Time now);
  void accept_peers();
  bool make_place(std::uint32_t newcomer, std::size_t places);
  void serve_peer(Peer& peer);
  void take(Peer& peer, const MessageBytes& bytes);
  void take_link(Peer& peer, const LinkMessage& message);
  bool finish_connect(Peer& peer);
  void end_connection(Peer& peer);
  void end(Peer& peer, const char* why);
  void report(std::uint32_t address, const char* why);
  bool is_from_node(std::uint32_t address) const;
  DaemonMessage own_link() const { return LinkMessage{table_.here(), table_.changes()}; }
  FileDescriptor open_socket(std::uint32_t node) const;

  BootKey key_;
  UniverseTable& table_;
  FileDescriptor listener_;
  bool promiscuous_;
  Membership& membership_;
  NeighbourMessages& messages_;
  std::size_t places_;       // of those that have connected and proved nothing
  std::list<Peer> peers_{};  // the oldest first
  Time accept_again_{};      // after a shortage of descriptors
  std::set<std::uint32_t> reported_{};
};

// Listens on a free port of this address (in host byte order). Throws std::runtime_error.
FileDescriptor listen_to_peers(std::uint32_t address, std::uint32_t* port);

}  // namespace openlapi::daemon
