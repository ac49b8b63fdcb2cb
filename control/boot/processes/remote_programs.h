// The programs that agents start on other nodes: their words, before any shell's quoting.
#pragma once

#include "control/boot/nodes/schema_nodes.h"

namespace openlapi::boot {

// The universe that this process, or the one that has started it, boots; handed on to helpers with the SSI parameters.
// Not set: it boots none.
inline constexpr char kUniverseVariable[] = "LAM_MPI_SSI_boot_base_universe";

// hboot, which starts the daemons of its node: the same process schema, session and SSI parameters as here.
std::vector<std::string> hboot_words(lamnode& node, const OriginNode& origin);

// tkill, which ends what runs on its node, or with -N only tells that it could be run. A boot ends only what belongs to
// it: it may have been refused because another universe is running there.
std::vector<std::string> tkill_words(const lamnode& node, bool only_tell);

// "-ssi NAME VALUE" for each SSI parameter that is set here, and for the module that was selected.
void add_ssi_parameters(std::vector<std::string>& words);

}  // namespace openlapi::boot
