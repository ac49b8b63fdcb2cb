#include "control/daemon/peer_links.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <variant>

namespace openlapi::daemon {
namespace {

constexpr std::chrono::seconds kConnectTime{60};  // the parent takes nobody before it has the universe
constexpr std::chrono::seconds kGreetingTime{10};
constexpr std::size_t kMostStrangers = 256;  // connected and not linked; more would be an attack
constexpr std::size_t kMostReported = 1024;  // addresses
constexpr int kBacklog = 1024;               // all children of a lost daemon come at once

// A machine that has died or is cut off says nothing: the kernel finds out within 5 + 3 * 2 s, and 11 s when something
// was being sent.
void watch_silence(int socket) {
  const auto set = [&](int level, int option, int value) { setsockopt(socket, level, option, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 11'000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

sockaddr_in socket_address(std::uint32_t address, std::uint32_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = htonl(address);
  result.sin_port = htons(static_cast<std::uint16_t>(port));
  return result;
}

std::string address_text(std::uint32_t address) {
  const in_addr number{htonl(address)};
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &number, text, sizeof text);
  return text;
}

}  // namespace

FileDescriptor listen_to_peers(std::uint32_t address, std::uint32_t* port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in here = socket_address(address, 0);
  socklen_t size = sizeof here;
  if (!socket.is_open() || bind(socket.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      listen(socket.get(), kBacklog) != 0 ||
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &size) != 0) {
    throw std::runtime_error("cannot listen on " + address_text(address) + ": " + std::strerror(errno));
  }
  *port = ntohs(here.sin_port);
  return socket;
}

PeerLinks::PeerLinks(const BootKey& key, UniverseTable& table, FileDescriptor listener, bool promiscuous)
    : key_(key), table_(table), listener_(std::move(listener)), promiscuous_(promiscuous) {}

FileDescriptor PeerLinks::open_socket(std::uint32_t node) const {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return socket;
  watch_silence(socket.get());
  // From the address that the others know as this node's.
  const sockaddr_in here = socket_address(table_.nodes()[table_.here()].address, 0);
  if (!promiscuous_) bind(socket.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here);
  const sockaddr_in there = socket_address(table_.nodes()[node].address, table_.nodes()[node].port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0 && errno != EINPROGRESS) {
    socket.reset();
  }
  return socket;
}

// A mistake is told from tick(), not to a caller that is in the middle of something.
void PeerLinks::connect(std::uint32_t node) {
  FileDescriptor socket = open_socket(node);
  const bool failed = !socket.is_open();
  auto stream = std::make_unique<SealedStream>(key_, SealedStream::Role::kConnects);
  stream->send(encode(own_link()));
  Peer& peer = peers_.emplace_back(Peer{Connection(std::move(socket), std::move(stream)), node});
  peer.connecting = true;
  const Time now = std::chrono::steady_clock::now();
  peer.deadline = failed ? now : now + kConnectTime;
}

void PeerLinks::send(std::uint32_t node, const DaemonMessage& message) {
  for (Peer& peer : peers_) {
    if (peer.linked && !peer.closing && !peer.over && peer.node == node) peer.connection.send(message);
  }
}

void PeerLinks::close(std::uint32_t node) {
  for (Peer& peer : peers_) {
    if (peer.linked && peer.node == node) peer.closing = true;
  }
}

bool PeerLinks::is_linked(std::uint32_t node) const {
  return std::ranges::any_of(
      peers_, [&](const Peer& peer) { return peer.linked && !peer.over && !peer.closing && peer.node == node; });
}

bool PeerLinks::is_from_node(std::uint32_t address) const {
  return promiscuous_ || std::ranges::any_of(table_.nodes(), [&](const UniverseNode& node) {
           return node.lives() && node.address == address;
         });
}

void PeerLinks::report(const std::string& address, const char* why) {
  if (reported_.size() < kMostReported && reported_.insert(address).second) {
    std::fprintf(stderr, "lamd: a connection from %s was dropped: %s\n", address.c_str(), why);
  }
}

void PeerLinks::accept_peers() {
  while (true) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    FileDescriptor socket(
        accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) return;
    const std::uint32_t address = ntohl(from.sin_addr.s_addr);
    const auto strangers = std::ranges::count_if(peers_, [](const Peer& peer) { return !peer.linked; });
    if (!is_from_node(address)) {
      report(address_text(address), "it is no node's address");
      continue;
    }
    if (static_cast<std::size_t>(strangers) >= kMostStrangers) {
      report(address_text(address), "too many others have not said who they are");
      continue;
    }
    watch_silence(socket.get());
    auto stream = std::make_unique<SealedStream>(key_, SealedStream::Role::kAccepts);
    stream->send(encode(own_link()));
    Peer& peer = peers_.emplace_back(Peer{Connection(std::move(socket), std::move(stream))});
    peer.from = address_text(address);
    peer.deadline = std::chrono::steady_clock::now() + kGreetingTime;
  }
}

bool PeerLinks::finish_connect(Peer& peer) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(peer.connection.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  peer.connecting = false;
  return error == 0;
}

void PeerLinks::end(Peer& peer, const char* why) {
  if (peer.over) return;
  peer.over = true;
  if (!peer.from.empty() && !peer.linked) return report(peer.from, why);
  if (peer.closing || !peer.node) return;
  if (peer.linked) {
    membership_->link_down(*peer.node);
  } else {
    membership_->connect_failed(*peer.node);
  }
}

void PeerLinks::take_link(Peer& peer, const LinkMessage& message) {
  if (peer.node && *peer.node != message.node) return end(peer, "it is another node");
  peer.node = message.node;
  peer.linked = true;
  if (membership_->link_up(message.node, message.changes)) return;
  // A daemon that is ending knows nothing against another.
  if (!membership_->is_over()) peer.connection.send(LostMessage{message.node});
  peer.closing = true;
}

void PeerLinks::take(Peer& peer, const MessageBytes& bytes) {
  const auto message = decode(bytes);
  if (!message) return end(peer, "its message makes no sense");
  const auto* link = std::get_if<LinkMessage>(&*message);
  if ((link != nullptr) == peer.linked) return end(peer, "its message comes at the wrong time");
  if (link != nullptr) return take_link(peer, *link);
  if (const auto* of_job = std::get_if<JobMessage>(&*message)) return take_job_(*of_job);
  if (const auto* of_network = std::get_if<NetworkMessage>(&*message)) return take_network_(*of_network);
  membership_->take(*peer.node, *message);
}

void PeerLinks::serve_peer(Peer& peer) {
  if (peer.over) return;
  if (peer.connecting && !finish_connect(peer)) return end(peer, "it cannot be reached");
  const bool goes_on = peer.connection.serve();
  while (!peer.over && !peer.closing) {
    const auto bytes = peer.connection.stream().next();
    if (!bytes) break;
    take(peer, *bytes);
  }
  if (!goes_on) end(peer, "it has another key, or does not speak the protocol");
}

void PeerLinks::watch(PollSet& poll_set) {
  poll_set.add(listener_.get(), POLLIN, [this] { accept_peers(); });
  for (Peer& peer : peers_) {
    if (peer.connection.fd() < 0) continue;
    const auto events = static_cast<short>(peer.connecting ? POLLOUT : peer.connection.events());
    poll_set.add(peer.connection.fd(), events, [this, &peer] { serve_peer(peer); });
  }
}

std::optional<Time> PeerLinks::deadline() const {
  std::optional<Time> next;
  for (const Peer& peer : peers_) {
    if (!peer.linked && (!next || peer.deadline < *next)) next = peer.deadline;
  }
  return next;
}

void PeerLinks::tick(Time now) {
  for (Peer& peer : peers_) {
    if (!peer.over && !peer.linked && peer.deadline <= now) end(peer, "it was silent");
    if (peer.closing && !peer.connection.has_outgoing()) peer.over = true;
  }
  std::erase_if(peers_, [](const Peer& peer) { return peer.over; });
}

bool PeerLinks::has_outgoing() const {
  return std::ranges::any_of(
      peers_, [](const Peer& peer) { return peer.linked && !peer.over && peer.connection.has_outgoing(); });
}

}  // namespace openlapi::daemon
