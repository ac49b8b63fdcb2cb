// What processes on other nodes get as arguments, and the priorities of modules.
#include <arpa/inet.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

#include "api/lam-ssi-boot.h"
#include "api/sfh.h"
#include "control/boot/boot_error.h"
#include "control/boot/schema_words.h"
#include "control/boot/topology_origin.h"

using openlapi::boot::BootError;
using openlapi::boot::c_copy;
using openlapi::boot::guarded;

namespace {

constexpr int kDefaultModulePriority = 75;
std::optional<int> topology_origin;

std::string address_of(const lamnode& node) {
  if (ao_taken(lam_ssi_boot_optd, "l") != 0 && node.lnd_hname != nullptr) return node.lnd_hname;
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &node.lnd_addr.sin_addr, text, sizeof text);
  return text;
}

}  // namespace

void openlapi::boot::set_topology_origin(int node_id) { topology_origin = node_id; }

char* lam_ssi_boot_build_inet_topo(lamnode* dest_node, lamnode origin_node, int origin) {
  return guarded(static_cast<char*>(nullptr), [&] {
    if (dest_node == nullptr) throw BootError("lam_ssi_boot_build_inet_topo: dest_node is NULL");
    const std::string fault_tolerant = ao_taken(lam_ssi_boot_optd, "x") != 0 ? "-x " : "";
    return c_copy(fault_tolerant + "-H " + address_of(origin_node) + " -P " +
                  std::to_string(lam_ssi_boot_base_server_port) + " -n " + std::to_string(dest_node->lnd_nodeid) +
                  " -o " + std::to_string(topology_origin.value_or(origin)));
  });
}

int lam_ssi_boot_do_common_args(OPT* aod, int* argc, char*** argv) {
  for (const char* option : {"d", "v"}) {
    const std::string word = std::string("-") + option;
    if (ao_taken(aod, option) != 0 && sfh_argv_add(argc, argv, word.c_str()) != 0) return LAMERROR;
  }
  return 0;
}

int lam_ssi_boot_base_check_priority(const char* module_name, int base, int want_default, int* priority) {
  return guarded(LAMERROR, [&] {
    if (priority == nullptr) throw BootError("lam_ssi_boot_base_check_priority: priority is NULL");
    *priority = want_default == 1 ? kDefaultModulePriority : base;
    if (module_name == nullptr) return 0;
    const std::string variable = std::string("LAM_MPI_SSI_boot_") + module_name + "_priority";
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr) return 0;
    const std::string_view text(value);
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw BootError(variable + " is " + openlapi::boot::shown(text) + "; allowed: an integer");
    }
    *priority = number;
    return 0;
  });
}
