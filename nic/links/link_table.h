// The network interfaces of this machine and their addresses, as rtnetlink's messages tell them. Passive: it has no
// socket (kernel_links.h).
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

namespace openlapi {

struct NetworkLink {
  std::string name;  // the interface's in the kernel: "lo", "eth0"
  bool up = false;   // administratively up and with a carrier
  bool loopback = false;
  std::uint32_t mtu = 0;  // bytes
  bool operator==(const NetworkLink&) const = default;
};

struct LinkAddress {
  unsigned link = 0;                  // the interface's number in the kernel
  int family = 0;                     // AF_INET, AF_INET6
  std::array<std::byte, 16> bytes{};  // in network order; IPv4 has four
  unsigned prefix_length = 0;         // bits of its network
  auto operator<=>(const LinkAddress&) const = default;
};

class LinkTable {
 public:
  struct Taken {
    bool changed = false;  // the table
    bool ended = false;    // the list that was asked for is complete, or there will be none
    bool unsound = false;  // the kernel could not list everything, or what came is not of its making: ask anew
  };
  // Takes in messages as one read of the socket brings them; those of other kinds mean nothing.
  Taken take(std::span<const std::byte> messages);

  const std::map<unsigned, NetworkLink>& links() const { return links_; }  // by their numbers in the kernel
  const std::set<LinkAddress>& addresses() const { return addresses_; }
  // Whether an interface has the address; any of the loopback's network is the loopback's.
  bool knows(in_addr address) const { return has(address, false); }
  // The same, and the interface is up.
  bool serves(in_addr address) const { return has(address, true); }

  bool operator==(const LinkTable&) const = default;

 private:
  void take_message(const nlmsghdr& header, std::span<const std::byte> content, Taken& taken);
  bool take_link(bool gone, std::span<const std::byte> content);
  bool take_address(bool gone, std::span<const std::byte> content);
  void forget_link(unsigned number);
  bool has(in_addr address, bool only_up) const;

  std::map<unsigned, NetworkLink> links_;
  std::set<LinkAddress> addresses_;
};

}  // namespace openlapi
