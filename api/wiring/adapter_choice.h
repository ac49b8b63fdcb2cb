// Which of this machine's adapters a context opens when the user names none: MP_EUIDEVICE=sn_single or sn_all, and
// MP_INSTANCES (guide, chapter 14, table 12).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/wiring/adapter_pairs.h"
#include "nic/udp/udp_adapters.h"

namespace openlapi {

// The guide's bound: what a task is given beyond it is not used.
inline constexpr std::size_t kMostAdapters = 8;

// How many of the adapters that a variable names are used: the guide ignores those beyond the eighth (chapter 14).
// Tells the user.
std::size_t usable_of_named(std::size_t named, const char* variable, int info_level);

struct AdapterRequest {
  bool all_networks = false;   // sn_all: of each network; else of the one that has most adapters
  bool first_network = false;  // that of the first adapter instead of the one that has most
  // Or the one that this adapter is on: all tasks have agreed on it.
  std::optional<ChosenAdapter> network = {};
  int instances = 1;           // on each network; more than it has adapters: one for each
  int earlier = 0;             // so many of each network are left out: other contexts have them
  unsigned turn = 0;           // a task's number on its node: of what is equal tasks take different ones
};

// What is known of an adapter that is up.
struct AdapterCandidate {
  ChosenAdapter place;
  std::string device;   // the piece of hardware
  std::string card;     // of which it is a port
  bool is_far = false;  // from the processors that the task may use
};

// What is known of a network here.
struct NetworkSize {
  ChosenAdapter place;   // an adapter on it
  std::size_t adapters;  // different devices
};
// In the order in which they would be chosen if all had as many.
std::vector<NetworkSize> networks_of(const std::vector<AdapterCandidate>& candidates);

// How many adapters are asked for among these: kMostAdapters of them are used.
std::size_t count_wanted(const std::vector<AdapterCandidate>& candidates, const AdapterRequest& request);
// Tells the user if that is not all.
void say_what_is_left_out(std::size_t wanted, int info_level);

// The numbers of those to open, of each network in turn, in which order they begin: the next path is then one of
// another network, and where there are too many no network is left out. Of a network a card's second port only when all
// other cards have given one, near ones first, then by address, then in the order given. Of a device that has several
// places on a network the first one counts. Empty: there is none.
std::vector<std::size_t> choose_among(const std::vector<AdapterCandidate>& candidates, const AdapterRequest& request);

// For UDP: without the loopback and what is down.
std::vector<AdapterCandidate> usable_candidates(const std::vector<LocalAdapter>& adapters);
// Of these.
std::vector<ChosenAdapter> choose_adapters(const std::vector<AdapterCandidate>& candidates,
                                           const AdapterRequest& request);

}  // namespace openlapi
