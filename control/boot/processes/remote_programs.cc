#include "control/boot/processes/remote_programs.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "control/boot/errors/boot_error.h"

namespace openlapi::boot {

void add_ssi_parameters(std::vector<std::string>& words) {
  constexpr std::string_view kPrefix = "LAM_MPI_SSI_";
  const char* module = lam_ssi_boot_selected_name();
  if (module != nullptr) words.insert(words.end(), {"-ssi", "boot", module});
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable(*at);
    if (!variable.starts_with(kPrefix)) continue;
    const std::size_t end = variable.find('=');
    const std::string_view name = variable.substr(kPrefix.size(), end - kPrefix.size());
    // Parameters of other kinds (rpi, coll) are for tasks.
    if (!name.starts_with("boot_") && !name.starts_with("base_")) continue;
    words.insert(words.end(), {"-ssi", std::string(name), std::string(variable.substr(end + 1))});
  }
}

std::vector<std::string> hboot_words(lamnode& node, const OriginNode& origin) {
  char* topology = lam_ssi_boot_build_inet_topo(&node, origin.node, origin.index);
  if (topology == nullptr) throw BootError("hboot has no words for a node");
  std::vector<std::string> words{program_path(node, "hboot")};
  add_common_options(words);
  const char* schema = ao_param(lam_ssi_boot_optd, "c", 0, 0);
  if (schema != nullptr) words.insert(words.end(), {"-c", schema});
  add_ssi_parameters(words);
  words.insert(words.end(), {"-I", topology});
  std::free(topology);
  return words;
}

std::vector<std::string> tkill_words(const lamnode& node, bool only_tell) {
  std::vector<std::string> words{program_path(node, "tkill")};
  if (only_tell) {
    words.push_back("-N");
  } else if (const char* universe = std::getenv(kUniverseVariable)) {
    words.insert(words.end(), {"-universe", universe, "-n", std::to_string(node.lnd_nodeid)});
  }
  add_common_options(words);
  return words;
}

}  // namespace openlapi::boot
