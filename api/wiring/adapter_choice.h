// Which of this machine's adapters a context opens for UDP when the user names none: MP_EUIDEVICE=sn_single or sn_all,
// and MP_INSTANCES (guide, chapter 14, table 12).
#pragma once

#include <vector>

#include "api/wiring/adapter_pairs.h"
#include "nic/udp/udp_adapters.h"

namespace openlapi {

// The guide's bound: what a task is given beyond it is not used.
inline constexpr std::size_t kMostAdapters = 8;

struct AdapterRequest {
  bool all_networks = false;  // sn_all: of each network; else of the one that has most adapters
  int instances = 1;          // on each network; more than it has adapters: one for each
};

// The adapters to open, each once, of each network in turn: the next path is then one of another network, and where
// there are too many no network is left out. Of a network by address; but a card's second port only when all others
// have given one. Without the loopback and what is down. Empty: there is none.
std::vector<ChosenAdapter> choose_adapters(const std::vector<LocalAdapter>& adapters, const AdapterRequest& request);

}  // namespace openlapi
