// Boot module "local": every node of the universe is this machine. For a universe of one, and for tests with many.
// Host names must be this machine's, unless the user asked for this module by name (LAM_MPI_SSI_boot=local).
#include <arpa/inet.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "api/boot.h"
#include "api/lam-ssi-boot.h"
#include "api/sfh.h"
#include "control/boot/boot_error.h"
#include "control/boot/built_in_modules.h"
#include "control/boot/node_array.h"
#include "control/launch/file_descriptor.h"

extern char** environ;

namespace openlapi::boot {
namespace {

constexpr int kPriority = 5;  // below a remote shell's 10

// What parse_options found: one of the two.
char* schema = nullptr;
char* new_host = nullptr;
lamnode origin_node{};
int origin_index = 0;

int parse_options(OPT* args, int bhost_schema_args) {
  if (bhost_schema_args == 1) {
    schema = lam_ssi_boot_base_find_boot_schema(args);
  } else {
    new_host = lam_ssi_boot_base_find_hostname(args);
  }
  return schema == nullptr && new_host == nullptr ? LAMERROR : 0;
}

int allocate_nodes(lamnode** nodes, int* nnodes, int* origin) {
  if (new_host != nullptr) {
    return lam_ssi_boot_base_lamgrow(new_host, nodes, nnodes, origin) == nullptr ? LAMERROR : 0;
  }
  if (bhostparse(schema, nodes, nnodes) != 0) return LAMERROR;
  *origin = 0;
  (*nodes)[0].lnd_type |= NT_ORIGIN | NT_ME;
  return 0;
}

bool is_asked_for() {
  const char* named = std::getenv("LAM_MPI_SSI_boot");
  return named != nullptr && std::string(named) == "local";
}

int verify_nodes(lamnode* nodes, int nnodes) {
  return guarded(LAMERROR, [&] {
    for (int n = 0; n < nnodes; ++n) {
      if (!is_valid(nodes[n])) continue;
      int bad = 0;
      if (!is_asked_for() && (lamnet_findhosts(&nodes[n], 1, &bad) != 0 || lamnet_findorig(&nodes[n], 1) != 0)) {
        throw BootError("node " + name_of(nodes[n]) +
                        " is not this machine; allowed with boot module local: names of "
                        "this machine, or any with LAM_MPI_SSI_boot=local");
      }
      const in_port_t port = nodes[n].lnd_addr.sin_port;
      nodes[n].lnd_addr = sockaddr_in{};
      nodes[n].lnd_addr.sin_family = AF_INET;
      nodes[n].lnd_addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      nodes[n].lnd_addr.sin_port = port;
      if ((nodes[n].lnd_type & NT_ORIGIN) == 0) continue;
      origin_node = nodes[n];
      origin_index = n;
    }
    return 0;
  });
}

int prepare_boot() { return 0; }

int start_rte_procs(lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started) {
  return lam_ssi_boot_base_alg_linear_windowed(nodes, nnodes, which == LAM_SSI_BOOT_PROC_LAMD ? 1 : 0, which,
                                               num_started);
}

int deallocate_nodes(lamnode** nodes, int* nnodes) { return lam_deallocate_nodes(nodes, nnodes); }

std::string program_path(const lamnode& node, const char* name) {
  char key[] = "prefix";
  const ELEM wanted{key, nullptr};
  const auto* prefix = static_cast<const ELEM*>(al_find(node.lnd_keyval, &wanted));
  return prefix == nullptr || std::strchr(name, '/') != nullptr ? name : std::string(prefix->value) + "/bin/" + name;
}

// In a session of its own, with the key of this boot on standard input.
void spawn_daemon(const std::string& program, char** argv) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw BootError(std::string("pipe: ") + std::strerror(errno));
  const FileDescriptor reader(ends[0]), writer(ends[1]);
  if (lam_ssi_boot_base_write_key(writer.get()) != 0) throw BootError("the key cannot be passed to " + program);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, reader.get(), STDIN_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t child = -1;
  const int error = posix_spawnp(&child, program.c_str(), &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw BootError(program + " cannot be started: " + std::strerror(error));
}

int start_application(char*** argv, int* argc, int num_procs, lamnode* node) {
  int started = 0;
  guarded(LAMERROR, [&] {
    for (; started < num_procs; ++started) {
      if (argc[started] < 1) throw BootError("a command without words for node " + name_of(*node));
      spawn_daemon(program_path(*node, argv[started][0]), argv[started]);
    }
    return 0;
  });
  return started;
}

int start_daemons(lamnode* node) {
  char* topology = lam_ssi_boot_build_inet_topo(node, origin_node, origin_index);
  LIST* processes = nullptr;
  int status =
      topology == nullptr ? LAMERROR : hbootparse(lam_ssi_boot_did, lam_ssi_boot_optd, topology, nullptr, &processes);
  for (void* at = al_top(processes); at != nullptr && status == 0; at = al_next(processes, at)) {
    auto* process = static_cast<psc*>(at);
    int count = process->psc_argc;
    status = start_application(&process->psc_argv, &count, 1, node) == 1 ? 0 : LAMERROR;
    // The process schema asks for it (section 2.3.2).
    if (status == 0) std::this_thread::sleep_for(std::chrono::seconds(process->psc_delay));
  }
  if (processes != nullptr) al_free(processes);
  std::free(topology);
  return status;
}

// recon and wipe: tkill, which with -N only tells that it could be run.
int run_tkill(lamnode* node, bool only_tell) {
  return guarded(LAMERROR, [&] {
    std::string program = program_path(*node, "tkill"), option = "-N";
    char* command[] = {program.data(), only_tell ? option.data() : nullptr, nullptr};
    return lam_ssi_boot_base_ioexecvp(command, 0, nullptr, 0);
  });
}

int start_rte_proc(lamnode* node, lam_ssi_boot_proc_t which) {
  if (which == LAM_SSI_BOOT_PROC_LAMD) return start_daemons(node);
  return run_tkill(node, which == LAM_SSI_BOOT_PROC_RECON);
}

int finalize() {
  std::free(schema);
  std::free(new_host);
  schema = new_host = nullptr;
  return 0;
}

const lam_ssi_boot_actions_1_1_0_t* init(lam_ssi_boot_location_t, int* priority) {
  static const lam_ssi_boot_actions_1_1_0_t actions = {
      parse_options,
      allocate_nodes,
      verify_nodes,
      prepare_boot,
      start_rte_procs,
      deallocate_nodes,
      start_application,
      start_rte_proc,
      lam_ssi_boot_base_get_nodeid,
      lam_ssi_boot_base_open_srv_connection,
      lam_ssi_boot_base_send_lamd_info,
      lam_ssi_boot_base_receive_lamd_info,
      lam_ssi_boot_base_close_srv_connection,
      lam_ssi_boot_base_send_universe_info,
      lam_ssi_boot_base_receive_universe_info,
  };
  return lam_ssi_boot_base_check_priority("local", kPriority, 0, priority) == 0 ? &actions : nullptr;
}

}  // namespace

const lam_ssi_boot_1_1_0_t local_module = {
    {1, 0, 0, "boot", 1, 1, 0, "local", 1, 0, 0, nullptr, nullptr}, init, finalize};

}  // namespace openlapi::boot
