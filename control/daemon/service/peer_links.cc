#include "control/daemon/service/peer_links.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <variant>
#include <vector>

#include "control/base/sockets.h"
#include "control/sealing/unproved_places.h"

namespace openlapi::daemon {
namespace {

constexpr std::chrono::seconds kConnectTime{60};  // the parent takes nobody before it has the universe
constexpr std::chrono::seconds kReachTime{11};    // as a machine that has died is noticed: kUniverseSilence
constexpr std::chrono::seconds kGreetingTime{10};
// A parent whose queue strangers have filled hears a first try only when the kernel repeats it, after a second; one
// that strangers left no place closes the connection before it has proved anything. Either is tried again soon.
constexpr std::chrono::seconds kComeAgainTime{5};  // a parent that closes all of them takes this daemon for lost
constexpr std::chrono::milliseconds kFirstTry{25};
constexpr std::chrono::milliseconds kFirstPause{5}, kLongestPause{160};
constexpr std::size_t kMostReported = 1024;  // addresses
constexpr int kAcceptedAtOnce = 8;           // then those who are there have their turn
constexpr int kBacklog = 128;  // all children of a lost daemon come at once; whoever finds it full tries again soon

}  // namespace

FileDescriptor listen_to_peers(std::uint32_t address, std::uint32_t* port) {
  sockaddr_in here = ipv4_address(address, 0);
  FileDescriptor socket = listen_on(here, kBacklog);
  if (!socket.is_open()) {
    throw std::runtime_error("cannot listen on " + address_text(here.sin_addr) + ": " + std::strerror(errno));
  }
  *port = ntohs(here.sin_port);
  return socket;
}

PeerLinks::PeerLinks(const BootKey& key, UniverseTable& table, FileDescriptor listener, bool promiscuous,
                     Membership& membership, NeighbourMessages& messages)
    : key_(key),
      table_(table),
      listener_(std::move(listener)),
      promiscuous_(promiscuous),
      membership_(membership),
      messages_(messages),
      places_(sealing::unproved_places()) {}

FileDescriptor PeerLinks::open_socket(std::uint32_t node) const {
  FileDescriptor socket = make_tcp_socket();
  if (!socket.is_open()) return socket;
  watch_silence(socket.get());
  // From the address that the others know as this node's.
  const sockaddr_in here = ipv4_address(table_.nodes()[table_.here()].address, 0);
  if (!promiscuous_) bind(socket.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here);
  const sockaddr_in there = ipv4_address(table_.nodes()[node].address, table_.nodes()[node].port);
  if (!begin_to_connect(socket.get(), there)) socket.reset();
  return socket;
}

void PeerLinks::connect(std::uint32_t node) {
  const Time now = std::chrono::steady_clock::now();
  Peer& peer = peers_.emplace_back(Peer{Connection({}, nullptr), node});
  peer.deadline = now + kConnectTime;
  peer.reach_until = now + kReachTime;
  peer.pause = kFirstPause;
  peer.try_time = kFirstTry;
  try_to_connect(peer, now);
}

// A mistake is told from tick(), not to a caller that is in the middle of something.
void PeerLinks::try_to_connect(Peer& peer, Time now) {
  FileDescriptor socket = open_socket(*peer.node);
  if (!socket.is_open()) peer.deadline = now;
  auto stream = std::make_unique<SealedStream>(key_, SealedStream::Role::kConnects);
  stream->send(encode(own_link()));
  peer.connection = Connection(std::move(socket), std::move(stream));
  peer.stage = Stage::kConnects;
  peer.next_try = std::min(now + peer.try_time, peer.reach_until);
  peer.try_time *= 2;
}

// It was there, and has ended the connection before it had proved anything.
void PeerLinks::come_again(Peer& peer) {
  peer.connection = Connection({}, nullptr);
  peer.stage = Stage::kPauses;
  const Time now = std::chrono::steady_clock::now();
  if (peer.pause == kFirstPause) peer.reach_until = now + kComeAgainTime;
  peer.next_try = now + peer.pause;
  peer.pause = std::min(2 * peer.pause, kLongestPause);
  peer.try_time = kFirstTry;
}

void PeerLinks::go_on(Peer& peer, Time now) {
  if (peer.stage == Stage::kTalks || peer.next_try > now) return;
  if (now >= peer.reach_until) return end(peer, "it cannot be reached");
  try_to_connect(peer, now);
}

void PeerLinks::send(std::uint32_t node, const DaemonMessage& message) {
  for (Peer& peer : peers_) {
    if (peer.takes_messages() && peer.node == node) peer.connection.send(message);
  }
}

void PeerLinks::close(std::uint32_t node) {
  for (Peer& peer : peers_) {
    if (peer.node != node) continue;
    if (peer.linked) peer.closing = true;
    if (!peer.linked && peer.from == 0) peer.over = true;
  }
}

bool PeerLinks::is_linked(std::uint32_t node) const {
  return std::ranges::any_of(peers_, [&](const Peer& peer) { return peer.takes_messages() && peer.node == node; });
}

bool PeerLinks::is_from_node(std::uint32_t address) const {
  return promiscuous_ || std::ranges::any_of(table_.nodes(), [&](const UniverseNode& node) {
           return node.lives() && node.address == address;
         });
}

void PeerLinks::report(std::uint32_t address, const char* why) {
  if (reported_.size() < kMostReported && reported_.insert(address).second) {
    std::fprintf(stderr, "lamd: a connection from %s was dropped: %s\n", address_text(in_addr{htonl(address)}).c_str(),
                 why);
  }
}

// False: there is nobody who could go.
bool PeerLinks::make_place(std::uint32_t newcomer, std::size_t places) {
  const auto unproved_address = [](Peer& peer) {
    const bool other = peer.over || peer.from == 0 || peer.connection.stream().is_trusted();
    return other ? std::optional<std::uint32_t>() : peer.from;
  };
  return sealing::make_place(peers_, unproved_address, newcomer, places, [&](Peer& peer) {
    end(peer, "others wanted its place, and it had not proved that it has the key");
    peer.connection.close();
  });
}

void PeerLinks::accept_peers() {
  for (int n = 0; n < kAcceptedAtOnce; ++n) {
    sockaddr_in from{};
    FileDescriptor socket = accept_from(listener_.get(), from);
    const Time now = std::chrono::steady_clock::now();
    if (!socket.is_open()) {
      if (sealing::is_shortage(errno) && !make_place(0, 1)) accept_again_ = now + sealing::kShortageTime;
      return;
    }
    const std::uint32_t address = ntohl(from.sin_addr.s_addr);
    if (!is_from_node(address)) {
      report(address, "it is no node's address");
      continue;
    }
    make_place(address, places_);
    watch_silence(socket.get());
    auto stream = std::make_unique<SealedStream>(key_, SealedStream::Role::kAccepts);
    stream->send(encode(own_link()));
    Peer& peer = peers_.emplace_back(Peer{Connection(std::move(socket), std::move(stream))});
    peer.from = address;
    peer.deadline = now + kGreetingTime;
  }
}

bool PeerLinks::finish_connect(Peer& peer) {
  peer.stage = Stage::kTalks;
  return connect_error(peer.connection.fd()) == 0;
}

void PeerLinks::end(Peer& peer, const char* why) {
  if (peer.over) return;
  peer.over = true;
  if (peer.from != 0 && !peer.linked) return report(peer.from, why);
  if (peer.closing || !peer.node) return;
  if (peer.linked) {
    membership_.link_down(*peer.node);
  } else {
    membership_.connect_failed(*peer.node);
  }
}

void PeerLinks::take_link(Peer& peer, const LinkMessage& message) {
  if (peer.node && *peer.node != message.node) return end(peer, "it is another node");
  peer.node = message.node;
  peer.linked = true;
  if (membership_.link_up(message.node, message.changes)) return messages_.neighbour_linked(message.node);
  // A daemon that is ending knows nothing against another.
  if (!membership_.is_over()) peer.connection.send(LostMessage{message.node});
  peer.closing = true;
}

void PeerLinks::take(Peer& peer, const MessageBytes& bytes) {
  const auto message = decode(bytes);
  if (!message) return end(peer, "its message makes no sense");
  const auto* link = std::get_if<LinkMessage>(&*message);
  if ((link != nullptr) == peer.linked) return end(peer, "its message comes at the wrong time");
  if (link != nullptr) return take_link(peer, *link);
  if (const auto* of_job = std::get_if<JobMessage>(&*message)) return messages_.from_neighbour(*of_job);
  if (const auto* of_network = std::get_if<NetworkMessage>(&*message)) return messages_.from_neighbour(*of_network);
  if (const auto* doubt = std::get_if<DoubtMessage>(&*message)) return messages_.from_neighbour(*doubt);
  if (std::holds_alternative<AdaptersTaken>(*message)) return messages_.adapters_taken(*peer.node);
  if (const auto* adapters = std::get_if<AdaptersMessage>(&*message)) {
    return messages_.from_neighbour(*peer.node, *adapters);
  }
  membership_.take(*peer.node, *message);
}

void PeerLinks::serve_peer(Peer& peer) {
  if (peer.over) return;
  if (peer.stage == Stage::kConnects && !finish_connect(peer)) return end(peer, "it cannot be reached");
  const bool goes_on = peer.connection.serve();
  while (!peer.over && !peer.closing) {
    const auto bytes = peer.connection.stream().next();
    if (!bytes) break;
    take(peer, *bytes);
  }
  if (!goes_on) end_connection(peer);
}

void PeerLinks::end_connection(Peer& peer) {
  if (peer.over) return;
  MessageStream& stream = peer.connection.stream();
  if (peer.from == 0 && !stream.is_trusted() && !stream.is_broken()) return come_again(peer);
  if (peer.node && stream.is_broken()) {
    std::fprintf(stderr, "lamd: the connection to n%u ends: %s\n", *peer.node,
                 stream.is_trusted() ? "what came over it was changed on the way" : "the other side has another key");
  }
  end(peer, "it has another key, or does not speak the protocol");
}

void PeerLinks::watch(PollSet& poll_set) {
  for (Peer& peer : peers_) {
    if (peer.connection.fd() < 0) continue;
    const auto events = static_cast<short>(peer.stage == Stage::kConnects ? POLLOUT : peer.connection.events());
    poll_set.add(peer.connection.fd(), events, [this, &peer] { serve_peer(peer); });
  }
  // Last: whoever is there has his turn before others may take his place.
  const bool accepts = std::chrono::steady_clock::now() >= accept_again_;
  if (accepts) poll_set.add(listener_.get(), POLLIN, [this] { accept_peers(); });
}

std::optional<Time> PeerLinks::deadline() const {
  std::optional<Time> next;
  const auto wait_for = [&](Time time) { next = next ? std::min(*next, time) : time; };
  if (accept_again_ > std::chrono::steady_clock::now()) wait_for(accept_again_);
  for (const Peer& peer : peers_) {
    if (peer.linked) continue;
    wait_for(peer.deadline);
    if (peer.stage != Stage::kTalks) wait_for(peer.next_try);
  }
  return next;
}

void PeerLinks::tick(Time now) {
  for (Peer& peer : peers_) {
    if (!peer.over && !peer.linked && peer.deadline <= now) end(peer, "it was silent");
    if (!peer.over) go_on(peer, now);
    if (peer.closing && !peer.connection.has_outgoing()) peer.over = true;
  }
  std::erase_if(peers_, [](const Peer& peer) { return peer.over; });
}

bool PeerLinks::has_outgoing() const {
  return std::ranges::any_of(
      peers_, [](const Peer& peer) { return peer.linked && !peer.over && peer.connection.has_outgoing(); });
}

}  // namespace openlapi::daemon
