#include "control/boot/processes/local_processes.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "control/base/fork_failure.h"
#include "control/base/installed_programs.h"
#include "control/base/spawned_program.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/boot.h"
#include "control/boot/nodes/node_array.h"
#include "control/boot/processes/agent_process.h"
#include "control/boot/processes/remote_programs.h"
#include "control/boot/startup/started_processes.h"

namespace openlapi::boot {
namespace {

// On this host, where the folders of the installation can be looked into.
std::string local_path(const lamnode& node, const std::string& name) {
  const char* prefix = value_of(node.lnd_keyval, "prefix");
  return prefix == nullptr || name.find('/') != std::string::npos ? name : program_below(prefix, name);
}

// An agent of others has no folder of libexec in its PATH: there hboot, which is in bin, finds the program.
char** needed_words(char** words, const lamnode& node) {
  char** without = without_hboot(words);
  const bool is_found = value_of(node.lnd_keyval, "prefix") != nullptr || is_in_search_path(without[0]);
  return is_found ? without : words;
}

pid_t spawn_daemon(const std::string& program, char** argv) {
  const FileDescriptor input = input_for(program, AgentInput::kKey);
  pid_t child = -1;
  const int error = spawn_program(program.c_str(), argv, {.input = input.get()}, SpawnedSession::kOwn, child);
  if (error != 0) throw BootError(program + " cannot be started: " + fork_failure(error));
  return child;
}

int start_daemon(char** words, const lamnode& node) {
  return catch_errors(LAMERROR, [&] {
    char** argv = needed_words(words, node);
    const std::string program = local_path(node, argv[0]);
    started_processes().add(node.lnd_nodeid, program, spawn_daemon(program, argv));
    return 0;
  });
}

int start_daemons(lamnode* node, const OriginNode& origin) {
  char* topology = lam_ssi_boot_build_inet_topo(node, origin.node, origin.index);
  LIST* processes = nullptr;
  int status =
      topology == nullptr ? LAMERROR : hbootparse(lam_ssi_boot_did, lam_ssi_boot_optd, topology, nullptr, &processes);
  for (void* at = al_top(processes); at != nullptr && status == 0; at = al_next(processes, at)) {
    auto* process = static_cast<psc*>(at);
    status = start_daemon(process->psc_argv, *node);
    // The process schema asks for it (section 2.3.2).
    if (status == 0) std::this_thread::sleep_for(std::chrono::seconds(process->psc_delay));
  }
  if (processes != nullptr) al_free(processes);
  std::free(topology);
  return status;
}

int run_tkill(const lamnode& node, bool only_tell) {
  return catch_errors(LAMERROR, [&] {
    const std::vector<std::string> words = tkill_words(node, only_tell);
    return lam_ssi_boot_base_ioexecvp(exec_words(words).data(), 0, nullptr, 0);
  });
}

}  // namespace

int start_application_here(char*** argv, int* argc, int num_procs, lamnode* node) {
  int started = 0;
  catch_errors(LAMERROR, [&] {
    for (; started < num_procs; ++started) {
      if (argc[started] < 1) throw BootError("a command without words for node " + name_of(*node));
      char** words = needed_words(argv[started], *node);
      spawn_daemon(local_path(*node, words[0]), words);
    }
    return 0;
  });
  return started;
}

int start_here(lamnode* node, lam_ssi_boot_proc_t which, const OriginNode& origin) {
  if (which == LAM_SSI_BOOT_PROC_LAMD) return start_daemons(node, origin);
  const int status = run_tkill(*node, which == LAM_SSI_BOOT_PROC_RECON);
  // One that has no folder yet is not found by tkill.
  if (which == LAM_SSI_BOOT_PROC_WIPE) started_processes().end(node->lnd_nodeid);
  return status;
}

}  // namespace openlapi::boot
