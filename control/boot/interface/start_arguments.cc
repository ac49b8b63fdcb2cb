// What processes on other nodes get as arguments, and the priorities of modules.
#include <cstdlib>
#include <optional>
#include <string>

#include "control/base/session_suffix.h"
#include "control/base/sockets.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/include/laminternal.h"
#include "control/boot/include/sfh.h"
#include "control/boot/interface/topology_origin.h"
#include "control/boot/nodes/schema_nodes.h"
#include "control/boot/startup/startup_protocol.h"
#include "control/ssi/module_parameters.h"

using openlapi::boot::BootError;
using openlapi::boot::c_copy;
using openlapi::boot::catch_errors;
using openlapi::boot::is_promiscuous;
using openlapi::boot::topology_host;
using openlapi::boot::value_of;
using openlapi::ssi::integer_variable;

namespace {

constexpr int kDefaultModulePriority = 75;
constexpr char kOriginVariable[] = "LAM_MPI_SSI_boot_base_origin";
std::optional<int> topology_origin;

}  // namespace

std::string openlapi::boot::topology_host(const lamnode& node) {
  if (ao_taken(lam_ssi_boot_optd, "l") != 0 && node.lnd_hname != nullptr) return node.lnd_hname;
  return address_text(node.lnd_addr.sin_addr);
}

void openlapi::boot::set_topology_origin(TopologyOrigin origin) {
  topology_origin = origin.node_id;
  if (origin.host.empty()) {
    unsetenv(kOriginVariable);
  } else {
    setenv(kOriginVariable, origin.host.c_str(), 1);
  }
}

char* lam_ssi_boot_build_inet_topo(lamnode* dest_node, lamnode origin_node, int origin) {
  return catch_errors(static_cast<char*>(nullptr), [&] {
    if (dest_node == nullptr) throw BootError("lam_ssi_boot_build_inet_topo: dest_node is NULL");
    const std::string fault_tolerant = ao_taken(lam_ssi_boot_optd, "x") != 0 ? "-x " : "";
    // Where a daemon listens depends on it, and not every module passes parameters on.
    const char* promiscuous = is_promiscuous() ? " -ssi boot_base_promisc 1" : "";
    return c_copy(fault_tolerant + "-H " + topology_host(origin_node) + " -P " +
                  std::to_string(lam_ssi_boot_base_server_port) + " -n " + std::to_string(dest_node->lnd_nodeid) +
                  " -o " + std::to_string(topology_origin.value_or(origin)) + promiscuous);
  });
}

int lam_ssi_boot_do_common_args(OPT* aod, int* argc, char*** argv) {
  for (const char* option : {"d", "v"}) {
    const std::string word = std::string("-") + option;
    if (ao_taken(aod, option) != 0 && sfh_argv_add(argc, argv, word.c_str()) != 0) return LAMERROR;
  }
  return 0;
}

int lam_ssi_boot_base_append_path(const char* prefix, const char* dir, const char* fname, int* argc, char*** argv) {
  return catch_errors(LAMERROR, [&] {
    if (prefix == nullptr || dir == nullptr || fname == nullptr) {
      throw BootError("lam_ssi_boot_base_append_path: a part of the path is NULL");
    }
    return sfh_argv_add(argc, argv, (std::string(prefix) + "/" + dir + "/" + fname).c_str());
  });
}

char* lam_ssi_boot_base_find_prefix(LIST* keyval) { return value_of(keyval, "prefix"); }

namespace {

char* session_word(const char* option, const std::string& otherwise) {
  return catch_errors(static_cast<char*>(nullptr), [&]() -> char* {
    const char* given = ao_param(lam_ssi_boot_optd, option, 0, 0);
    const std::string word = given == nullptr ? otherwise : given;
    return word.empty() ? nullptr : c_copy(word);
  });
}

}  // namespace

char* lam_get_tmpdir_prefix() {
  return session_word("sessionprefix", openlapi::environment_value({"LAM_MPI_SESSION_PREFIX"}));
}

char* lam_get_tmpdir_suffix() { return session_word("sessionsuffix", openlapi::suffix_of_environment()); }

int lam_ssi_boot_base_check_priority(const char* module_name, int base, int want_default, int* priority) {
  return catch_errors(LAMERROR, [&] {
    if (priority == nullptr) throw BootError("lam_ssi_boot_base_check_priority: priority is NULL");
    *priority = want_default == 1 ? kDefaultModulePriority : base;
    if (module_name == nullptr) return 0;
    const std::string variable = std::string("LAM_MPI_SSI_boot_") + module_name + "_priority";
    *priority = integer_variable(variable).value_or(*priority);
    return 0;
  });
}
