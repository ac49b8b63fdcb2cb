#include "control/boot/startup/startup_messages.h"

#include <arpa/inet.h>

#include <cstring>
#include <string_view>

#include "control/boot/errors/boot_error.h"
#include "dataplane/base/byte_codec.h"

namespace openlapi::boot {
namespace {

constexpr std::size_t kLongestName = 255;  // of a host in the domain name system
constexpr std::size_t kLeastNode = 4;      // bytes of an invalid node

bool is_port(int port) { return port > 0 && port <= 65535; }

void append_node(StartupBytes& bytes, const lamnode& node) {
  append_number(bytes, node.lnd_nodeid);
  if (!is_valid(node)) return;
  const std::string_view name = node.lnd_hname == nullptr ? "" : node.lnd_hname;
  append_number(bytes, ntohl(node.lnd_addr.sin_addr.s_addr));
  append_number(bytes, ntohs(node.lnd_addr.sin_port));
  append_number(bytes, node.lnd_type & ~NT_BOOT);
  append_number(bytes, node.lnd_ncpus);
  append_text(bytes, name);
}

bool read_node(ByteReader& reader, lamnode& node) {
  node.lnd_nodeid = reader.integer();
  if (!is_valid(node)) return !reader.failed();
  node.lnd_addr.sin_family = AF_INET;
  node.lnd_addr.sin_addr.s_addr = htonl(reader.number());
  const int port = reader.integer();
  node.lnd_type = reader.integer();
  node.lnd_ncpus = reader.integer();
  const std::uint32_t length = reader.number();
  if (reader.failed() || node.lnd_nodeid < 0 || port < 0 || port > 65535 || length > kLongestName) return false;
  node.lnd_addr.sin_port = htons(static_cast<std::uint16_t>(port));
  const auto name = reader.take(length);
  if (reader.failed() || std::memchr(name.data(), 0, name.size()) != nullptr) return false;
  node.lnd_hname = c_copy({reinterpret_cast<const char*>(name.data()), name.size()});
  return true;
}

}  // namespace

StartupBytes encode(const DaemonInfo& info) {
  StartupBytes bytes;
  for (const int value : {info.node_id, info.tcp_port, info.udp_port, info.cpus}) append_number(bytes, value);
  return bytes;
}

std::optional<DaemonInfo> decode_daemon_info(std::span<const std::uint8_t> bytes) {
  if (bytes.size() != kDaemonInfoBytes) return std::nullopt;
  ByteReader reader(bytes);
  DaemonInfo info;
  info.node_id = reader.integer();
  info.tcp_port = reader.integer();
  info.udp_port = reader.integer();
  info.cpus = reader.integer();
  const bool possible =
      info.node_id >= 0 && is_port(info.tcp_port) && is_port(info.udp_port) && (info.cpus == -1 || info.cpus >= 1);
  return possible ? std::optional(info) : std::nullopt;
}

StartupBytes encode_universe(const lamnode* nodes, int count) {
  StartupBytes bytes;
  append_number(bytes, count);
  for (int n = 0; n < count; ++n) append_node(bytes, nodes[n]);
  return bytes;
}

std::optional<NodeArray> decode_universe(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes);
  const std::uint32_t count = reader.count(kLeastNode);
  if (reader.failed()) return std::nullopt;
  NodeArray nodes(count);
  for (std::size_t n = 0; n < count; ++n) {
    if (!read_node(reader, nodes[n])) return std::nullopt;
  }
  if (reader.left() != 0) return std::nullopt;
  return nodes;
}

}  // namespace openlapi::boot
