#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "dataplane/base/file_descriptor.h"
#include "nic/udp/udp_adapters.h"
#include "nic/udp/udp_transport.h"

namespace openlapi {
namespace {

constexpr std::size_t kAddressLength = 6;

std::string place(const UdpConfig& config) { return to_text(config.address) + ":" + std::to_string(config.port); }

std::string open_file_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::to_string(limit.rlim_cur);
}

UdpSetupError describe(const UdpConfig& config, const char* what, int reason) {
  using Kind = UdpSetupError::Kind;
  switch (reason) {
    case EADDRINUSE:
      return {Kind::address_in_use, reason,
              "UDP " + place(config) + " is in use by another program; choose another port or end that program"};
    case EADDRNOTAVAIL:
      return {Kind::no_such_address, reason,
              to_text(config.address) + " is not an address of this machine (lapi_info lists those present)"};
    case EMFILE:
      return {Kind::too_many_files, reason,
              "no UDP socket: this process may open " + open_file_limit() +
                  " files (RLIMIT_NOFILE) and has as many open; raise it with ulimit -n"};
    case ENFILE:
      return {Kind::too_many_files, reason, "no UDP socket: the system's table of open files is full (fs.file-max)"};
    case EACCES:
      return {Kind::system, reason,
              "UDP " + place(config) + " may not be used by this user: ports below 1024 usually need a privilege"};
    default:
      return {Kind::system, reason, std::string(what) + " for UDP " + place(config) + ": " + std::strerror(reason)};
  }
}

}  // namespace

std::unique_ptr<UdpTransport> open_udp_transport(const UdpConfig& config, UdpSetupError& error) {
  std::unique_ptr<UdpTransport> transport(new UdpTransport(config));
  error = {};
  if (!transport->open(error)) return nullptr;
  return transport;
}

UdpTransport::~UdpTransport() {
  if (receiver_ >= 0) close(receiver_);
}

bool UdpTransport::open(UdpSetupError& error) {
  if (config_.address.s_addr == htonl(INADDR_ANY)) {
    error = {UdpSetupError::Kind::no_such_address, 0,
             "0.0.0.0 names no adapter: peers need one address of this machine"};
    return false;
  }
  if (!bind_receiver(error)) return false;
  if (!writers_[0].open(config_.address, static_cast<int>(config_.send_buffer))) {
    error = describe(config_, "socket to send from", errno);
    return false;
  }
  if (!choose_packet_size(error)) return false;
  if (config_.links != nullptr && config_.sockets != nullptr) look_at_network();
  const bool wakes_for_links = config_.links != nullptr && config_.links->take_waking();
  if (!arrival_.open(receiver_) || (wakes_for_links && !arrival_.always_watch(config_.links->descriptor()))) {
    error = describe(config_, "epoll set", errno);
    return false;
  }
  size_receive_buffer();
  turn_strangers_away();
  probe_offload();
  return true;
}

bool UdpTransport::bind_receiver(UdpSetupError& error) {
  receiver_ = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (receiver_ < 0) {
    error = describe(config_, "socket", errno);
    return false;
  }
  local_.sin_family = AF_INET;
  local_.sin_addr = config_.address;
  local_.sin_port = htons(config_.port);
  socklen_t length = sizeof(local_);
  if (bind(receiver_, reinterpret_cast<const sockaddr*>(&local_), sizeof(local_)) != 0 ||
      getsockname(receiver_, reinterpret_cast<sockaddr*>(&local_), &length) != 0) {
    error = describe(config_, "bind", errno);
    return false;
  }
  return true;
}

// Under the same port, if that is free there. What waits at the former address is lost.
bool UdpTransport::move_to(in_addr address) {
  const UdpConfig former_config = config_;
  const sockaddr_in former = local_;
  FileDescriptor former_receiver(receiver_);
  config_.address = address;
  UdpSetupError ignored;
  for (const std::uint16_t wanted : {port(), std::uint16_t{0}}) {
    config_.port = wanted;
    if (bind_receiver(ignored)) break;
    if (receiver_ >= 0) close(std::exchange(receiver_, -1));
  }
  if (receiver_ < 0 || !arrival_.replace(receiver_)) {
    if (receiver_ >= 0) close(receiver_);
    receiver_ = former_receiver.release();
    config_ = former_config;
    local_ = former;
    return false;
  }
  for (udp::WriteSocket& writer : writers_) {
    if (writer.is_open()) writer.open_anew(address, static_cast<int>(config_.send_buffer));
  }
  size_receive_buffer();
  turn_strangers_away();
  coalesce();
  read_mtu();
  if (crowded_) look_at_network();
  return true;
}

void UdpTransport::read_mtu() {
  interface_mtu_ = mtu_of_local_address(config_.address);
  if (interface_mtu_ == 0) interface_mtu_ = 1500;
}

bool UdpTransport::choose_packet_size(UdpSetupError& error) {
  read_mtu();
  if (config_.packet_size != 0 && config_.packet_size < kSmallestUdpPacketSize) {
    error = {UdpSetupError::Kind::bad_packet_size, 0,
             "UDP packet size " + std::to_string(config_.packet_size) + ": at least " +
                 std::to_string(kSmallestUdpPacketSize) + " is needed"};
    return false;
  }
  const std::uint32_t fits = std::max(interface_mtu_, kIpAndUdpHeaders + kSmallestUdpPacketSize) - kIpAndUdpHeaders;
  const std::uint32_t wanted = config_.packet_size != 0 ? config_.packet_size : std::min(kDefaultUdpPacketSize, fits);
  const std::uint32_t datagram = std::min(wanted, udp::kLongestDatagram) & ~7U;
  const auto header = static_cast<std::uint32_t>(sizeof(udp::FrameHeader));
  limits_ = {.max_packet = datagram - header, .max_burst = kMaxBurst, .reliable = false, .checked = true};
  return true;
}

void UdpTransport::size_receive_buffer() {
  const int wanted = static_cast<int>(std::min<std::uint32_t>(config_.receive_buffer, 64 << 20));
  if (setsockopt(receiver_, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof(wanted)) == 0) return;
  setsockopt(receiver_, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof(wanted));  // the kernel cuts it to what it allows
}

// A program that the kernel runs over each datagram before it takes room in the buffer and wakes anybody: one that does
// not begin with a frame's header is dropped at its sender's expense. (Loads are big-endian and count from the UDP
// header on; one beyond the datagram's end drops it as well.) A kernel that takes no such program leaves it to
// receive_burst(), which also gets those that look like frames.
void UdpTransport::turn_strangers_away() {
  constexpr std::uint32_t kUdpHeader = 8;
  constexpr std::uint32_t kMark = __builtin_bswap32(udp::kFrameMark);
  std::array<sock_filter, 7> program = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kUdpHeader + offsetof(udp::FrameHeader, length)),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kUdpHeader + offsetof(udp::FrameHeader, check)),
      BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMark, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
      BPF_STMT(BPF_RET | BPF_K, 0),
  }};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  setsockopt(receiver_, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

TransportCounters UdpTransport::counters() const {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t length = sizeof(memory);
  TransportCounters counters = counters_;
  if (getsockopt(receiver_, SOL_SOCKET, SO_MEMINFO, memory.data(), &length) == 0) {
    counters.receive_dropped += memory[SK_MEMINFO_DROPS];
  }
  return counters;
}

void UdpTransport::coalesce() {
  const int on = 1;
  if (config_.offload) coalescing_ = setsockopt(receiver_, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) == 0;
}

void UdpTransport::probe_offload() {
  if (!config_.offload) return;
  coalesce();
  int segment = 0;
  socklen_t length = sizeof(segment);
  segmentation_ = getsockopt(writers_[0].descriptor(), IPPROTO_UDP, UDP_SEGMENT, &segment, &length) == 0;
}

PeerAddress make_udp_address(in_addr address, std::uint16_t port) {
  const std::uint16_t network_port = htons(port);
  PeerAddress made;
  std::memcpy(made.bytes.data(), &address, sizeof(address));
  std::memcpy(made.bytes.data() + sizeof(address), &network_port, sizeof(network_port));
  made.length = kAddressLength;
  return made;
}

bool udp_adapter_has_link(const Transport& transport) {
  in_addr own{};
  const PeerAddress address = transport.local_address();
  std::memcpy(&own, address.bytes.data(), sizeof(own));
  const std::vector<LocalAdapter> adapters = list_adapters();
  if (adapters.empty()) return true;  // the kernel does not say
  return std::ranges::any_of(adapters, [&](const LocalAdapter& adapter) {
    const bool loopback = ntohl(adapter.address.s_addr) >> 24 == 127 && ntohl(own.s_addr) >> 24 == 127;
    return adapter.up && (loopback || adapter.address.s_addr == own.s_addr);
  });
}

std::string udp_address_text(const PeerAddress& address) {
  in_addr ip{};
  std::uint16_t network_port = 0;
  std::memcpy(&ip, address.bytes.data(), sizeof(ip));
  std::memcpy(&network_port, address.bytes.data() + sizeof(ip), sizeof(network_port));
  return to_text(ip) + " port " + std::to_string(ntohs(network_port));
}

std::string udp_host_text(const PeerAddress& address) {
  in_addr ip{};
  std::memcpy(&ip, address.bytes.data(), sizeof(ip));
  return to_text(ip);
}

PeerAddress UdpTransport::local_address() const { return make_udp_address(local_.sin_addr, port()); }

std::uint64_t UdpTransport::origin_of(PeerIndex peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? 0 : udp::origin_of(found->second);
}

bool UdpTransport::add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) {
  if (address.length != kAddressLength) {
    error = "a UDP address has 6 bytes, this one has " + std::to_string(address.length);
    return false;
  }
  sockaddr_in destination{};
  destination.sin_family = AF_INET;
  std::memcpy(&destination.sin_addr, address.bytes.data(), sizeof(destination.sin_addr));
  std::memcpy(&destination.sin_port, address.bytes.data() + sizeof(destination.sin_addr), sizeof(destination.sin_port));
  const std::uint32_t host_address = ntohl(destination.sin_addr.s_addr);
  if (destination.sin_port == 0 || host_address == INADDR_ANY || host_address >= 0xe0000000) {
    error = to_text(destination.sin_addr) + ":" + std::to_string(ntohs(destination.sin_port)) +
            " cannot be a task's UDP address: one machine's address and a port from 1 to 65535 are needed";
    return false;
  }
  peers_[peer] = destination;
  for (udp::WriteSocket& writer : writers_) writer.forget(peer);
  if (asleep_) arrival_.switch_on();  // a thread may sleep on it already
  asleep_ = false;
  return true;
}

}  // namespace openlapi
