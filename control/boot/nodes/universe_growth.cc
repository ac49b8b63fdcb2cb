#include "control/boot/nodes/universe_growth.h"

#include <strings.h>

#include <algorithm>

#include "control/boot/errors/boot_error.h"
#include "control/boot/include/boot.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/interface/topology_origin.h"

namespace openlapi::boot {
namespace {

constexpr int kHighestNodeId = 65535;  // the array has room for all below; lamd's table takes no more

// What a tool said there is now.
struct KnownUniverse {
  lamnode* nodes = nullptr;
  int count = 0;
  int origin = NOTNODEID;
};
KnownUniverse known_universe;

int highest_id(const lamnode* nodes, int count) {
  int highest = -1;
  for (int n = 0; n < count; ++n) {
    if (is_valid(nodes[n])) highest = std::max(highest, nodes[n].lnd_nodeid);
  }
  return highest;
}

void check_request(const lamnode* nodes, int count, const GrowthRequest& request, int node_id) {
  if (node_id < 0 || node_id > kHighestNodeId) {
    throw BootError("node " + std::to_string(node_id) + " is not possible; allowed: 0 to " +
                    std::to_string(kHighestNodeId));
  }
  if (request.cpus < 1) throw BootError("option -cpu is " + std::to_string(request.cpus) + "; allowed: 1 or more");
  for (int n = 0; n < count; ++n) {
    if (!is_valid(nodes[n])) continue;
    if (nodes[n].lnd_nodeid == node_id) throw BootError("node " + name_of(nodes[n]) + " is in the universe already");
    if (nodes[n].lnd_hname != nullptr && strcasecmp(nodes[n].lnd_hname, request.host.c_str()) == 0) {
      throw BootError("host " + request.host + " is in the universe already, as node " +
                      std::to_string(nodes[n].lnd_nodeid));
    }
  }
}

GrowthRequest request_of(const char* host) {
  GrowthRequest request;
  request.host = host;
  ao_intparam(lam_ssi_boot_optd, "n", 0, 0, &request.node_id);
  if (ao_taken(lam_ssi_boot_optd, "n") != 0 && request.node_id < 0) {
    throw BootError("option -n is " + std::to_string(request.node_id) + "; allowed: 0 or more");
  }
  ao_intparam(lam_ssi_boot_optd, "cpu", 0, 0, &request.cpus);
  request.schedule = ao_taken(lam_ssi_boot_optd, "no-schedule") == 0;
  return request;
}

}  // namespace

NodeArray grow_universe(const lamnode* nodes, int count, const GrowthRequest& request) {
  const int highest = highest_id(nodes, count);
  const int node_id = request.node_id == NOTNODEID ? highest + 1 : request.node_id;
  check_request(nodes, count, request, node_id);
  NodeArray grown(static_cast<std::size_t>(std::max(highest, node_id)) + 1);
  for (int n = 0; n < grown.count(); ++n) make_invalid(grown[static_cast<std::size_t>(n)]);
  for (int n = 0; n < count; ++n) {
    if (!is_valid(nodes[n])) continue;
    lamnode& node = grown[static_cast<std::size_t>(nodes[n].lnd_nodeid)];
    copy_node(node, nodes[n]);
    node.lnd_type &= ~NT_BOOT;
  }
  HostEntry entry;
  entry.name = request.host;
  entry.cpus = request.cpus;
  entry.schedule = request.schedule;
  describe_node(grown[static_cast<std::size_t>(node_id)], node_id, entry);
  grown[static_cast<std::size_t>(node_id)].lnd_type |= NT_JOINS;
  return grown;
}

}  // namespace openlapi::boot

using namespace openlapi::boot;

int lam_ssi_boot_base_set_universe(const lamnode* nodes, int nnodes, int origin) {
  return catch_errors(LAMERROR, [&] {
    if (nnodes < 0 || (nodes == nullptr && nnodes > 0)) throw BootError("the universe's nodes are NULL");
    NodeArray copy(static_cast<std::size_t>(nnodes));
    for (int n = 0; n < nnodes; ++n) copy_node(copy[static_cast<std::size_t>(n)], nodes[n]);
    lam_deallocate_nodes(&known_universe.nodes, &known_universe.count);
    known_universe.nodes = copy.release(&known_universe.count);
    known_universe.origin = origin;
    return 0;
  });
}

char* lam_ssi_boot_base_lamgrow(const char* hostname, lamnode** nodes, int* nnodes, int* origin) {
  return catch_errors(static_cast<char*>(nullptr), [&] {
    if (hostname == nullptr || nodes == nullptr || nnodes == nullptr || origin == nullptr) {
      throw BootError("lam_ssi_boot_base_lamgrow: NULL argument");
    }
    if (known_universe.count == 0) throw BootError("there is no universe that could grow: lamboot starts one");
    NodeArray grown = grow_universe(known_universe.nodes, known_universe.count, request_of(hostname));
    *nodes = grown.release(nnodes);
    *origin = known_universe.origin;
    TopologyOrigin of_universe{known_universe.origin};
    for (int n = 0; n < *nnodes; ++n) {
      const lamnode& node = (*nodes)[n];
      if (is_valid(node) && node.lnd_nodeid == known_universe.origin) of_universe.host = topology_host(node);
    }
    set_topology_origin(std::move(of_universe));
    for (int n = 0; n < *nnodes; ++n) {
      if (is_to_be_booted((*nodes)[n])) return (*nodes)[n].lnd_hname;
    }
    return static_cast<char*>(nullptr);
  });
}
