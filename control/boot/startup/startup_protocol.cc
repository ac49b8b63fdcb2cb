// The TCP startup protocol functions of section 2.5.12, over startup_socket.h. The booting agent keeps a server between
// open and close; a daemon keeps one from its report until it has the universe.
#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "control/base/host_address.h"
#include "control/base/sockets.h"
#include "control/boot/algorithms/node_operations.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/nodes/node_array.h"
#include "control/boot/startup/boot_key.h"
#include "control/boot/startup/dropped_connections.h"
#include "control/boot/startup/started_processes.h"
#include "control/boot/startup/startup_messages.h"
#include "control/boot/startup/startup_protocol.h"
#include "control/boot/startup/startup_socket.h"

namespace openlapi::boot {
namespace {

constexpr std::chrono::seconds kReportTime{60};     // for one daemon to report, as in LAM
constexpr std::chrono::seconds kUniverseTime{900};  // for the slowest other daemon to report; then a daemon gives up
constexpr std::chrono::seconds kSendTime{30};
constexpr rlim_t kOtherDescriptors = 512;  // clients half way, agents of all threads
constexpr int kLeastBacklog = 128;         // who finds it full of strangers tries again soon
constexpr int kMostBacklog = 4096;

std::unique_ptr<StartupServer> agent_server;
std::unique_ptr<StartupServer> daemon_server;
sockaddr_in agent_address;

// Daemons and their agent stay connected until the agent has ended: a daemon that was not told the universe by then
// ends, and one that joins until its sponsor has connected.
std::vector<FileDescriptor> daemon_links;
FileDescriptor agent_link;

class AgentsEnd final : public StartupInterruption {
 public:
  void watch(std::vector<pollfd>& watched) override { watched.push_back({agent_link.get(), POLLIN, 0}); }
  bool is_over() override {
    char byte = 0;
    const ssize_t count = recv(agent_link.get(), &byte, 1, MSG_DONTWAIT);
    return ended_ = count >= 0 || (errno != EAGAIN && errno != EINTR);
  }
  bool ended() const { return ended_; }

 private:
  bool ended_ = false;
};

StartupTime after(std::chrono::seconds time) { return std::chrono::steady_clock::now() + time; }

bool same_address(const lamnode& node, const sockaddr_in& from) {
  return node.lnd_addr.sin_addr.s_addr == from.sin_addr.s_addr;
}

// A connection for each daemon, and what else a booting agent has open.
void allow_descriptors(int daemons) {
  rlimit limit{};
  const rlim_t wanted = static_cast<rlim_t>(daemons) + kOtherDescriptors;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  if (limit.rlim_max < wanted) {
    throw BootError("booting " + std::to_string(daemons) + " nodes takes " + std::to_string(wanted) +
                    " open files; the hard limit (ulimit -Hn) allows " + std::to_string(limit.rlim_max));
  }
  limit.rlim_cur = wanted;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void open_server(const lamnode* nodes, int count) {
  if (agent_server) throw BootError("the server connection is open already");
  forget_daemons();
  allow_descriptors(count);
  agent_server =
      std::make_unique<StartupServer>(listening_address(nodes, count), std::clamp(count, kLeastBacklog, kMostBacklog),
                                      boot_key(), StartupKind::kDaemonInfo, kDaemonInfoBytes);
  lam_ssi_boot_base_server_port = agent_server->port();
}

bool take_daemon_info(lamnode* nodes, int count, bool promiscuous, const sockaddr_in& from, const StartupBytes& bytes) {
  const auto info = decode_daemon_info(bytes);
  if (!info) return false;
  for (int n = 0; n < count; ++n) {
    if (nodes[n].lnd_nodeid != info->node_id || !(promiscuous || same_address(nodes[n], from))) continue;
    nodes[n].lnd_bootport = info->tcp_port;
    nodes[n].lnd_addr.sin_family = AF_INET;
    nodes[n].lnd_addr.sin_port = htons(static_cast<std::uint16_t>(info->udp_port));
    if (nodes[n].lnd_addr.sin_addr.s_addr == 0) nodes[n].lnd_addr.sin_addr = from.sin_addr;
    if (info->cpus > 0) nodes[n].lnd_ncpus = info->cpus;
    return true;
  }
  return false;
}

// Tells the algorithm which node it is, as a report would; false: it is not waited for.
bool take_failed_process(lamnode* nodes, int count, const FailedProcess& failed) {
  lamnode* found =
      std::find_if(nodes, nodes + count, [&](const lamnode& node) { return node.lnd_nodeid == failed.node_id; });
  if (found == nodes + count) return false;
  print_error("node " + name_of(*found) + ": " + failed.what);
  found->lnd_bootport = kDaemonEnded;
  return true;
}

bool is_allowed(const lamnode* nodes, int count, const sockaddr_in& from) {
  return is_promiscuous() || std::any_of(nodes, nodes + count, [&](const lamnode& node) {
           return is_valid(node) && same_address(node, from);
         });
}

void receive_daemon_info(lamnode* nodes, int count) {
  if (!agent_server) throw BootError("the server connection is not open");
  const bool promiscuous = is_promiscuous();
  const StartupTime deadline = after(kReportTime);
  const auto allow = [&](const sockaddr_in& from) { return is_allowed(nodes, count, from); };
  const auto take = [&](const sockaddr_in& from, const StartupBytes& bytes) {
    return take_daemon_info(nodes, count, promiscuous, from, bytes);
  };
  while (!agent_server->receive(deadline, allow, take, &started_processes())) {
    const auto failed = started_processes().take_failed();
    if (!failed) {
      throw BootError("none of " + std::to_string(count) + " daemon(s) has reported within " +
                      std::to_string(kReportTime.count()) + " s");
    }
    if (take_failed_process(nodes, count, *failed)) return;
  }
  daemon_links.push_back(agent_server->take_connection().socket);
}

int integer_option(OPT* args, const char* name, int least, int most) {
  const char* text = ao_param(args, name, 0, 0);
  if (text == nullptr) throw BootError(std::string("option -") + name + " is missing: the booting agent passes it");
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || number < least || number > most) {
    throw BootError(std::string("option -") + name + " is " + text + "; allowed: " + std::to_string(least) + " to " +
                    std::to_string(most));
  }
  return static_cast<int>(number);
}

void send_daemon_info(OPT* args, int dli_port) {
  if (daemon_server) throw BootError("this daemon has reported already");
  const int node_id = node_id_of(args);
  agent_address = agent_of(args);
  sockaddr_in here{};
  try {
    agent_link =
        send_startup_message(agent_address, key_of_boot(), StartupKind::kDaemonInfo, after(kReportTime), &here, [&] {
          // Promiscuous: the agent connects to the address that its list has, which may be another of this machine's.
          const in_addr_t listening = is_promiscuous() ? htonl(INADDR_ANY) : here.sin_addr.s_addr;
          daemon_server = std::make_unique<StartupServer>(listening, kLeastBacklog, key_of_boot(),
                                                          StartupKind::kUniverse, kLongestUniverse);
          return encode(DaemonInfo{node_id, daemon_server->port(), dli_port, -1});
        }).socket;
    keep_alive(agent_link.get());
  } catch (...) {
    daemon_server.reset();
    throw;
  }
}

NodeArray receive_universe() {
  if (!daemon_server) throw BootError("a daemon that has not reported waits for the universe");
  const std::unique_ptr<StartupServer> server = std::move(daemon_server);
  const bool promiscuous = is_promiscuous();
  std::optional<NodeArray> universe;
  AgentsEnd agents_end;
  server->receive(
      after(kUniverseTime),
      [&](const sockaddr_in& from) { return promiscuous || from.sin_addr.s_addr == agent_address.sin_addr.s_addr; },
      [&](const sockaddr_in&, const StartupBytes& bytes) {
        auto decoded = decode_universe(bytes);
        if (decoded) universe.emplace(std::move(*decoded));
        return universe.has_value();
      },
      &agents_end);
  report_dropped_connections();
  if (!universe) agent_link.reset();
  if (!universe && agents_end.ended()) {
    throw BootError("the booting agent at " + address_text(agent_address) + " has ended and has not told the universe");
  }
  if (!universe) {
    throw BootError("the universe has not come from " + address_text(agent_address) + " within " +
                    std::to_string(kUniverseTime.count()) + " s");
  }
  return std::move(*universe);
}

}  // namespace

void forget_daemons() {
  agent_link.reset();
  daemon_links.clear();
  started_processes().forget();
}

bool is_promiscuous() {
  const char* value = std::getenv("LAM_MPI_SSI_boot_base_promisc");
  const std::string text = value == nullptr ? "0" : value;
  if (text != "0" && text != "1") throw BootError("LAM_MPI_SSI_boot_base_promisc is " + text + "; allowed: 0, 1");
  return text == "1";
}

in_addr_t listening_address(const lamnode* nodes, int count) {
  const bool promiscuous = is_promiscuous();
  for (int n = 0; !promiscuous && n < count; ++n) {
    if (is_valid(nodes[n]) && (nodes[n].lnd_type & NT_ME) != 0) return nodes[n].lnd_addr.sin_addr.s_addr;
  }
  return htonl(INADDR_ANY);
}

sockaddr_in agent_of(OPT* args) {
  const char* host = ao_param(args, "H", 0, 0);
  if (host == nullptr) throw BootError("option -H is missing: the booting agent passes its address");
  std::string reason;
  auto address = host_address(host, reason);
  if (!address) throw BootError(std::string("option -H is ") + host + ": " + reason);
  address->sin_port = htons(static_cast<std::uint16_t>(integer_option(args, "P", 1, 65535)));
  return *address;
}

int node_id_of(OPT* args) { return integer_option(args, "n", 0, 1 << 20); }

}  // namespace openlapi::boot

using namespace openlapi::boot;

int lam_ssi_boot_base_get_nodeid(OPT* args) {
  return catch_errors(NOTNODEID, [&] { return node_id_of(args); });
}

int lam_ssi_boot_base_open_srv_connection(lamnode* nodes, int nnodes) {
  return catch_errors(LAMERROR, [&] {
    open_server(nodes, nnodes);
    return 0;
  });
}

int lam_ssi_boot_base_receive_lamd_info(lamnode* nodes, int nnodes) {
  return catch_errors(LAMERROR, [&] {
    receive_daemon_info(nodes, nnodes);
    return 0;
  });
}

int lam_ssi_boot_base_close_srv_connection() {
  agent_server.reset();
  lam_ssi_boot_base_server_port = 0;
  return 0;
}

int lam_ssi_boot_base_send_universe_info(lamnode* nodes, int nnodes, int which) {
  return catch_errors(LAMERROR, [&] {
    if (which < 0 || which >= nnodes || !is_valid(nodes[which])) throw BootError("the universe is for no valid node");
    sockaddr_in to = nodes[which].lnd_addr;
    to.sin_port = htons(static_cast<std::uint16_t>(nodes[which].lnd_bootport));
    try {
      send_startup_message(to, key_of_boot(), StartupKind::kUniverse, after(kSendTime), nullptr,
                           [&] { return encode_universe(nodes, nnodes); });
    } catch (const BootError& error) {
      throw BootError("node " + name_of(nodes[which]) + ": " + error.what());
    }
    return 0;
  });
}

int lam_ssi_boot_base_send_lamd_info(OPT* args, int dli_port) {
  return catch_errors(LAMERROR, [&] {
    send_daemon_info(args, dli_port);
    return 0;
  });
}

int lam_ssi_boot_base_receive_universe_info(lamnode** universe, int* universe_size) {
  return catch_errors(LAMERROR, [&] {
    NodeArray nodes = receive_universe();
    *universe = nodes.release(universe_size);
    return 0;
  });
}

int lam_ssi_boot_base_take_agent() { return agent_link.release(); }
