#include "control/daemon/service/daemon_boot.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "control/base/host_address.h"
#include "control/boot/include/boot.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/daemon/session/system_failure.h"
#include "control/sealing/universe_word.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {
namespace {

// liblamssi has the key once it was read, and gives it only to a descriptor.
BootKey key_of_boot() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
  const FileDescriptor reader(ends[0]), writer(ends[1]);
  BootKey key{};
  if (lam_ssi_boot_base_write_key(writer.get()) != 0 ||
      read(reader.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) {
    throw std::runtime_error("the key of the boot cannot be read");
  }
  return key;
}

sockaddr_in agent_address(const std::string& host) {
  std::string reason;
  const auto address = host_address(host, reason);
  if (!address) throw std::runtime_error("option -H is \"" + host + "\": " + reason);
  return *address;
}

// The kernel says which of our addresses it would use; nothing is sent.
std::uint32_t address_towards(sockaddr_in there) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  there.sin_port = htons(9);
  sockaddr_in here{};
  socklen_t size = sizeof here;
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0 ||
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &size) != 0) {
    fail("no way to the booting agent");
  }
  return ntohl(here.sin_addr.s_addr);
}

// To an address of this machine the way leads from itself. A host that is not known here, or to which no way leads, is
// another one.
bool is_here(const std::string& host) {
  try {
    const sockaddr_in there = agent_address(host);
    return address_towards(there) == ntohl(there.sin_addr.s_addr);
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::vector<UniverseNode> nodes_of(const lamnode* universe, int count) {
  std::vector<UniverseNode> nodes;
  for (int n = 0; n < count; ++n) {
    if (universe[n].lnd_nodeid != n && universe[n].lnd_nodeid != NOTNODEID) {
      throw std::runtime_error("the universe has node " + std::to_string(universe[n].lnd_nodeid) + " at place " +
                               std::to_string(n));
    }
    nodes.push_back(universe_node_of(universe[n]));
  }
  return nodes;
}

std::uint32_t node_option(const BootOptions& options, const char* name) {
  int number = 0;
  ao_intparam(options.get(), name, 0, 0, &number);
  return static_cast<std::uint32_t>(number);
}

}  // namespace

DaemonBoot::DaemonBoot(BootOptions& options) : options_(options) {
  if (lam_ssi_boot_base_read_key(STDIN_FILENO) != 0) throw std::runtime_error("no key of a boot on standard input");
  key_ = key_of_boot();
  if (lam_ssi_boot_open(options.get()) != 0 || lam_ssi_boot_select(LAM_SSI_BOOT_LOCATION_LEAF) != 0) {
    throw std::runtime_error("no boot module can be used");
  }
  node_ = node_option(options, "n");
  origin_ = node_option(options, "o");
  address_ = address_towards(agent_address(options.value("H")));
  // Not the agent: that is a helper's, or lamgrow's, on any node.
  const char* origin = std::getenv("LAM_MPI_SSI_boot_base_origin");
  on_origins_machine_ = is_here(origin == nullptr ? options.value("H") : origin);
}

DaemonBoot::~DaemonBoot() { lam_ssi_boot_close(); }

SessionFolder DaemonBoot::take_session() const {
  SessionName name = options_.session_name();
  const std::string first = session_path(name);
  name.member = "n" + std::to_string(node_);
  const SessionOwner owner{sealing::universe_word(key_), std::to_string(node_)};
  if (node_ == origin_) return {first, "", owner};
  if (on_origins_machine_) return {session_path(name), "", owner};
  return {first, session_path(name), owner};
}

UniverseTable DaemonBoot::join(std::uint32_t port) {
  const lam_ssi_boot_actions_1_1_0_t* actions = lam_ssi_boot_selected_actions();
  lamnode* universe = nullptr;
  int count = 0;
  if (actions->lsba_send_lamd_info(options_.get(), static_cast<int>(port)) != 0) {
    throw std::runtime_error("the booting agent cannot be told of this daemon");
  }
  if (actions->lsba_receive_universe_info(&universe, &count) != 0) {
    throw std::runtime_error("the booting agent has not told the universe");
  }
  FileDescriptor agent(lam_ssi_boot_base_take_agent());
  std::vector<UniverseNode> nodes = nodes_of(universe, count);
  nodes.resize(std::max<std::size_t>(nodes.size(), origin_ + 1));
  if (node_ < static_cast<std::size_t>(count)) joins_ = (universe[node_].lnd_type & NT_JOINS) != 0;
  if (joins_ || node_ == origin_) agent_ = std::move(agent);
  nodes[origin_].type |= NT_ORIGIN;
  lam_deallocate_nodes(&universe, &count);
  return UniverseTable(std::move(nodes), origin_, node_);
}

}  // namespace openlapi::daemon
