// Addresses of nodes, and which of them is here.
#include <ifaddrs.h>

#include <memory>
#include <set>
#include <string>

#include "control/base/host_address.h"
#include "control/base/sockets.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/nodes/node_array.h"

namespace openlapi::boot {
namespace {

void resolve(lamnode& node) {
  if (node.lnd_hname == nullptr) throw BootError("node " + name_of(node) + " has no host name");
  std::string reason;
  const auto address = host_address(node.lnd_hname, reason);
  if (!address) throw BootError("node " + name_of(node) + ": its name has no address: " + reason);
  const in_port_t port = node.lnd_addr.sin_port;
  node.lnd_addr = *address;
  node.lnd_addr.sin_port = port;
}

std::set<in_addr_t> local_addresses() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) throw BootError("the addresses of this machine cannot be read");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, freeifaddrs);
  std::set<in_addr_t> addresses;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    addresses.insert(reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr);
  }
  return addresses;
}

bool is_loopback(in_addr_t address) { return (ntohl(address) >> 24) == 127; }

int find_local(const lamnode* nodes, int count) {
  const std::set<in_addr_t> here = local_addresses();
  for (int n = 0; n < count; ++n) {
    const in_addr_t address = nodes[n].lnd_addr.sin_addr.s_addr;
    if (is_valid(nodes[n]) && (is_loopback(address) || here.contains(address))) return n;
  }
  return -1;
}

// A peer on another machine would take 127.x for itself.
void refuse_loopback_among_several(const lamnode* nodes, int count) {
  int valid = 0;
  for (int n = 0; n < count; ++n) valid += is_valid(nodes[n]) ? 1 : 0;
  for (int n = 0; valid > 1 && n < count; ++n) {
    if (!is_valid(nodes[n]) || !is_loopback(nodes[n].lnd_addr.sin_addr.s_addr)) continue;
    throw BootError("node " + name_of(nodes[n]) + " has the address " + address_text(nodes[n].lnd_addr.sin_addr) +
                    ", which other nodes cannot reach; allowed with several nodes: a name of another address");
  }
}

int verify(lamnode* nodes, int count) {
  for (int n = 0; n < count; ++n) {
    if (is_valid(nodes[n])) resolve(nodes[n]);
  }
  refuse_loopback_among_several(nodes, count);
  const int local = find_local(nodes, count);
  if (local < 0)
    throw BootError("the node list does not have this machine; it must: universes are booted from a member");
  nodes[local].lnd_type |= NT_ME;
  bool has_origin = false;
  for (int n = 0; n < count; ++n) {
    has_origin = has_origin || (is_valid(nodes[n]) && (nodes[n].lnd_type & NT_ORIGIN) != 0);
  }
  if (!has_origin) nodes[local].lnd_type |= NT_ORIGIN;
  return local;
}

}  // namespace
}  // namespace openlapi::boot

using namespace openlapi::boot;

int lamnet_findhosts(lamnode* nodes, int nnodes, int* badhost) {
  int at = 0;
  const int status = catch_errors(LAMERROR, [&] {
    for (at = 0; at < nnodes; ++at) {
      if (is_valid(nodes[at])) resolve(nodes[at]);
    }
    return 0;
  });
  if (status != 0 && badhost != nullptr) *badhost = at;
  return status;
}

int lamnet_findorig(lamnode* nodes, int nnodes) {
  return catch_errors(-1, [&] { return find_local(nodes, nnodes); });
}

int lam_ssi_boot_base_verify_nodes(lamnode* nodes, int nnodes, int* origin) {
  return catch_errors(LAMERROR, [&] {
    const int local = verify(nodes, nnodes);
    if (origin != nullptr) *origin = local;
    return 0;
  });
}
