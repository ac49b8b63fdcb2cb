#include "control/boot/nodes/node_array.h"

#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_set>

#include "control/boot/errors/boot_error.h"
#include "control/boot/include/boot.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/schemas/schema_words.h"
#include "control/boot/structures/linked_list.h"

namespace openlapi::boot {
namespace {

int4 compare_keys(const void* left, const void* right) {
  return strcasecmp(static_cast<const ELEM*>(left)->key, static_cast<const ELEM*>(right)->key);
}

void release_pair(void* element) {
  auto* pair = static_cast<ELEM*>(element);
  std::free(pair->key);
  std::free(pair->value);
}

void append_pair(LIST* list, std::string_view key, std::string_view value) {
  ELEM pair{c_copy(key), nullptr};
  try {
    pair.value = c_copy(value);
    if (al_append(list, &pair) == nullptr) throw std::bad_alloc();
  } catch (...) {
    release_pair(&pair);
    throw;
  }
}

LIST* new_pairs() {
  LIST* list = al_init(sizeof(ELEM), compare_keys);
  if (list == nullptr) throw std::bad_alloc();
  release_elements_with(list, release_pair);
  return list;
}

}  // namespace

NodeArray::NodeArray(std::size_t count)
    : count_(static_cast<int>(count)),
      nodes_(static_cast<lamnode*>(std::calloc(count == 0 ? 1 : count, sizeof(lamnode)))) {
  if (nodes_ == nullptr) throw std::bad_alloc();
}

NodeArray::NodeArray(const std::vector<HostEntry>& hosts) : NodeArray(hosts.size()) {
  for (std::size_t n = 0; n < hosts.size(); ++n) describe_node(nodes_[n], static_cast<int>(n), hosts[n]);
}

NodeArray::~NodeArray() { lam_deallocate_nodes(&nodes_, &count_); }

lamnode* NodeArray::release(int* count) {
  lamnode* nodes = nodes_;
  *count = count_;
  nodes_ = nullptr;
  count_ = 0;
  return nodes;
}

namespace {

// What the tools' option -prefix says of hosts whose line in the schema says nothing; nullptr: it was not given.
const char* given_prefix(const HostEntry& host) {
  const char* prefix = lam_ssi_boot_optd == nullptr ? nullptr : ao_param(lam_ssi_boot_optd, "prefix", 0, 0);
  if (prefix == nullptr) return nullptr;
  if (*prefix != '/') throw BootError(std::string("option -prefix is ") + prefix + "; allowed: an absolute path");
  const bool own =
      std::ranges::any_of(host.pairs, [](const auto& pair) { return strcasecmp(pair.first.c_str(), "prefix") == 0; });
  return own ? nullptr : prefix;
}

}  // namespace

void describe_node(lamnode& node, int id, const HostEntry& host) {
  node.lnd_nodeid = id;
  node.lnd_type = NT_BOOT | (host.schedule ? 0 : NT_WASTE);
  node.lnd_ncpus = host.cpus;
  node.lnd_hname = c_copy(host.name);
  if (!host.user.empty()) node.lnd_uname = c_copy(host.user);
  node.lnd_keyval = new_pairs();
  for (const auto& [key, value] : host.pairs) append_pair(node.lnd_keyval, key, value);
  if (const char* prefix = given_prefix(host)) append_pair(node.lnd_keyval, "prefix", prefix);
}

void copy_node(lamnode& node, const lamnode& from) {
  node.lnd_nodeid = from.lnd_nodeid;
  if (!is_valid(from)) return;
  node.lnd_type = from.lnd_type;
  node.lnd_ncpus = from.lnd_ncpus;
  node.lnd_bootport = from.lnd_bootport;
  node.lnd_addr = from.lnd_addr;
  if (from.lnd_hname != nullptr) node.lnd_hname = c_copy(from.lnd_hname);
  if (from.lnd_uname != nullptr) node.lnd_uname = c_copy(from.lnd_uname);
  node.lnd_keyval = new_pairs();
  for (void* at = al_top(from.lnd_keyval); at != nullptr; at = al_next(from.lnd_keyval, at)) {
    const auto* pair = static_cast<const ELEM*>(at);
    append_pair(node.lnd_keyval, pair->key, pair->value);
  }
}

void make_invalid(lamnode& node) {
  node = lamnode{};
  node.lnd_nodeid = NOTNODEID;
}

std::string name_of(const lamnode& node) {
  return "n" + std::to_string(node.lnd_nodeid) + " (" + (node.lnd_hname == nullptr ? "no name" : node.lnd_hname) + ")";
}

}  // namespace openlapi::boot

using namespace openlapi::boot;

int bhostparse(const char* filename, lamnode** nodes, int* nnodes) {
  return catch_errors(LAMERROR, [&] {
    if (filename == nullptr || nodes == nullptr || nnodes == nullptr) throw BootError("bhostparse: NULL argument");
    const std::vector<HostEntry> hosts = parse_host_schema(read_schema_file(filename), filename);
    *nodes = NodeArray(hosts).release(nnodes);
    return 0;
  });
}

int lam_deallocate_nodes(lamnode** nodes, int* nnodes) {
  if (nodes == nullptr || nnodes == nullptr) return 0;
  std::unordered_set<char*> users;
  for (int n = 0; *nodes != nullptr && n < *nnodes; ++n) {
    lamnode& node = (*nodes)[n];
    // What an invalid node points to is not data.
    if (!is_valid(node)) continue;
    std::free(node.lnd_hname);
    // LAM's rsh module gives all nodes the same user.
    if (users.insert(node.lnd_uname).second) std::free(node.lnd_uname);
    al_free(node.lnd_keyval);
  }
  std::free(*nodes);
  *nodes = nullptr;
  *nnodes = 0;
  return 0;
}
