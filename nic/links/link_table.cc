#include "nic/links/link_table.h"

#include <net/if.h>

#include <algorithm>
#include <cstring>

namespace openlapi {
namespace {

template <typename Struct>
bool read_struct(std::span<const std::byte> bytes, Struct& value) {
  if (bytes.size() < sizeof(value)) return false;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return true;
}

// Everything in netlink begins at a multiple of four bytes.
std::span<const std::byte> behind(std::span<const std::byte> bytes, std::size_t length) {
  return bytes.subspan(std::min(bytes.size(), (length + 3) & ~std::size_t{3}));
}

// Calls take(kind, content) for each attribute.
template <typename Take>
void for_each_attribute(std::span<const std::byte> bytes, Take take) {
  rtattr header;
  while (read_struct(bytes, header) && header.rta_len >= sizeof(header) && header.rta_len <= bytes.size()) {
    take(header.rta_type, bytes.first(header.rta_len).subspan(sizeof(header)));
    bytes = behind(bytes, header.rta_len);
  }
}

std::string text_in(std::span<const std::byte> content) {
  const auto* begin = reinterpret_cast<const char*>(content.data());
  return {begin, std::find(begin, begin + content.size(), '\0')};
}

in_addr ipv4_of(const LinkAddress& address) {
  in_addr ipv4{};
  std::memcpy(&ipv4, address.bytes.data(), sizeof(ipv4));
  return ipv4;
}

bool same_network(in_addr left, in_addr right, unsigned prefix_length) {
  const std::uint32_t differ = ntohl(left.s_addr ^ right.s_addr);
  return prefix_length == 0 || prefix_length > 32 || differ >> (32 - prefix_length) == 0;
}

}  // namespace

LinkTable::Taken LinkTable::take(std::span<const std::byte> messages) {
  Taken taken;
  nlmsghdr header;
  while (read_struct(messages, header)) {
    if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > messages.size()) break;
    take_message(header, messages.first(header.nlmsg_len).subspan(sizeof(header)), taken);
    messages = behind(messages, header.nlmsg_len);
  }
  if (!messages.empty()) taken.unsound = true;
  return taken;
}

void LinkTable::take_message(const nlmsghdr& header, std::span<const std::byte> content, Taken& taken) {
  if ((header.nlmsg_flags & NLM_F_DUMP_INTR) != 0) taken.unsound = true;
  switch (header.nlmsg_type) {
    case NLMSG_ERROR:
      taken.unsound = true;
      [[fallthrough]];
    case NLMSG_DONE:
      taken.ended = true;
      break;
    case RTM_NEWLINK:
    case RTM_DELLINK:
      taken.changed |= take_link(header.nlmsg_type == RTM_DELLINK, content);
      break;
    case RTM_NEWADDR:
    case RTM_DELADDR:
      taken.changed |= take_address(header.nlmsg_type == RTM_DELADDR, content);
      break;
    default:
      break;
  }
}

// Bridges tell of their ports in messages of the same kind, with a family of their own.
bool LinkTable::take_link(bool gone, std::span<const std::byte> content) {
  ifinfomsg info;
  if (!read_struct(content, info) || info.ifi_family != AF_UNSPEC || info.ifi_index <= 0) return false;
  const auto number = static_cast<unsigned>(info.ifi_index);
  if (gone) {
    if (!links_.contains(number)) return false;
    forget_link(number);
    return true;
  }
  NetworkLink link;
  link.up = (info.ifi_flags & IFF_UP) != 0 && (info.ifi_flags & IFF_RUNNING) != 0;
  link.loopback = (info.ifi_flags & IFF_LOOPBACK) != 0;
  for_each_attribute(behind(content, sizeof(info)), [&](unsigned kind, std::span<const std::byte> value) {
    if (kind == IFLA_IFNAME) link.name = text_in(value);
    if (kind == IFLA_MTU) read_struct(value, link.mtu);
  });
  NetworkLink& known = links_[number];
  if (known == link) return false;
  known = link;
  return true;
}

void LinkTable::forget_link(unsigned number) {
  links_.erase(number);
  std::erase_if(addresses_, [number](const LinkAddress& address) { return address.link == number; });
}

// Of a link from point to point IFA_ADDRESS is the other end, and IFA_LOCAL this one.
bool LinkTable::take_address(bool gone, std::span<const std::byte> content) {
  ifaddrmsg info;
  if (!read_struct(content, info)) return false;
  const std::size_t length = info.ifa_family == AF_INET ? 4 : info.ifa_family == AF_INET6 ? 16 : 0;
  LinkAddress address{info.ifa_index, info.ifa_family, {}, info.ifa_prefixlen};
  bool found = false, local = false;
  for_each_attribute(behind(content, sizeof(info)), [&](unsigned kind, std::span<const std::byte> value) {
    if ((kind != IFA_LOCAL && (kind != IFA_ADDRESS || local)) || length == 0 || value.size() != length) return;
    std::memcpy(address.bytes.data(), value.data(), length);
    found = true;
    local = kind == IFA_LOCAL;
  });
  if (!found) return false;
  return gone ? addresses_.erase(address) != 0 : addresses_.insert(address).second;
}

bool LinkTable::has(in_addr address, bool only_up) const {
  return std::ranges::any_of(addresses_, [&](const LinkAddress& candidate) {
    if (candidate.family != AF_INET) return false;
    const auto link = links_.find(candidate.link);
    if (link == links_.end() || (only_up && !link->second.up)) return false;
    const in_addr own = ipv4_of(candidate);
    return own.s_addr == address.s_addr ||
           (link->second.loopback && same_network(own, address, candidate.prefix_length));
  });
}

}  // namespace openlapi
