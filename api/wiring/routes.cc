#include "api/wiring/routes.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <new>
#include <utility>

#include "api/wiring/adapter_choice.h"
#include "api/wiring/info_level.h"
#include "dataplane/base/byte_codec.h"
#include "dataplane/base/check.h"

namespace openlapi {

namespace {

// How long a task may take to publish its address after the exchange has made it visible here.
constexpr unsigned kAddressSeconds = 10;

constexpr std::size_t kBytesBefore =
    sizeof(PublishedAddress::epoch) + 1;               // the address; the last has flags and adapters
constexpr std::byte kTags{1}, kChosen{2}, kPlaced{4};  // the flags
constexpr unsigned kAdaptersShift = 4;                 // the adapters are above them

// Several contexts may ask at the same time, the bootstrap takes one call at a time.
std::mutex& bootstrap_turn() {
  static std::mutex* turn = new std::mutex;  // never destroyed: exit() may run while threads are here
  return *turn;
}

void append(std::string& reasons, std::string_view name, const std::string& reason) {
  if (!reasons.empty()) reasons += "; ";
  reasons += name;
  reasons += ": ";
  reasons += reason;
}

bool still_looks(Transport& transport) {
  const PeerSearch* const search = transport.capabilities().peer_search;
  return search != nullptr && search->is_undecided();
}

}  // namespace

std::string address_keys(std::uint32_t instance, std::uint32_t generation) {
  return "openlapi." + std::to_string(instance) + "." + std::to_string(generation) + ".";
}

std::string places_key(const std::string& address_keys) { return address_keys + "places"; }

std::vector<std::byte> encode(const PublishedAddress& published) {
  const std::span<const std::byte> address = published.address.view();
  OPENLAPI_CHECK(published.adapters <= kMostAdapters);
  std::vector<std::byte> bytes;
  append_little(bytes, published.epoch);
  bytes.push_back((published.tags ? kTags : std::byte{}) | (published.chosen ? kChosen : std::byte{}) |
                  (published.placed ? kPlaced : std::byte{}) |
                  static_cast<std::byte>(published.adapters << kAdaptersShift));
  bytes.insert(bytes.end(), address.begin(), address.end());
  return bytes;
}

bool decode(std::span<const std::byte> bytes, PublishedAddress& published, std::string& reason) {
  if (bytes.size() < kBytesBefore || bytes.size() > kBytesBefore + PeerAddress::kCapacity) {
    reason = "the task published an address of " + std::to_string(bytes.size()) + " bytes";
    return false;
  }
  ByteReader reader(bytes);
  const std::uint64_t epoch = reader.wide();
  const std::byte flags{reader.byte()};
  const auto adapters = std::to_integer<std::uint8_t>(flags >> kAdaptersShift);
  const std::byte others = flags & std::byte{(1 << kAdaptersShift) - 1} & ~(kTags | kChosen | kPlaced);
  if (others != std::byte{} || adapters > kMostAdapters) {
    reason = "the task published an address of another version";
    return false;
  }
  published.epoch = epoch;
  published.tags = (flags & kTags) != std::byte{};
  published.chosen = (flags & kChosen) != std::byte{};
  published.placed = (flags & kPlaced) != std::byte{};
  published.adapters = adapters;
  const std::span<const std::byte> address = bytes.subspan(kBytesBefore);
  std::copy(address.begin(), address.end(), published.address.bytes.begin());
  published.address.length = static_cast<std::uint32_t>(address.size());
  if (address.empty()) reason = "the task has none";
  return !address.empty();
}

// Those that have not opened have no address; any of them may be one, the first as well.
unsigned published_adapters(Bootstrap& bootstrap, const std::string& address_keys, std::uint32_t task) {
  unsigned opened = 0, all = 1;
  for (unsigned number = 0; number < all; ++number) {
    std::vector<std::byte> value;
    PublishedAddress found;
    std::string ignored;
    if (!bootstrap.get(task, address_keys + std::to_string(number), kAddressSeconds, value, ignored)) return 0;
    if (decode(value, found, ignored)) ++opened;
    if (number == 0) all = found.adapters;
  }
  return opened;
}

ContextRoutes::ContextRoutes(std::shared_ptr<Bootstrap> bootstrap, SharedMemory shared_memory,
                             std::span<const int> shm_numbers, std::vector<Network> networks, int info_level,
                             TellNotice tell)
    : bootstrap_(std::move(bootstrap)),
      shared_memory_(shared_memory),
      shm_numbers_(shm_numbers.begin(), shm_numbers.end()),
      networks_(std::move(networks)),
      info_level_(info_level),
      tell_(tell) {}

ContextRoutes::~ContextRoutes() {
  if (info_level_ < kLevelInformation) return;
  for (const Network& network : networks_) {
    const TransportCounters counters = network.transport->counters();
    std::fprintf(stderr, "openlapi: task %u, %s: %" PRIu64 " packets sent, %" PRIu64 " received\n", bootstrap_->task(),
                 text_of(*network.transport).c_str(), counters.packets_sent, counters.packets_received);
  }
}

Route ContextRoutes::resolve(PeerIndex peer) {
  Route route = find_paths(peer);
  // What the program is told is a number. Once: what nobody has proved may ask for a path, too.
  if (route.count == 0 && !route.undecided && without_path_.insert(peer).second) {
    std::fprintf(stderr, "openlapi: task %u has no way to task %u: %s\n", bootstrap_->task(), peer,
                 route.reason.c_str());
  }
  return route;
}

// Whether a task is reached over a network decides which further ones are asked, so nothing is taken of a search that
// is not over.
Route ContextRoutes::find_paths(PeerIndex peer) {
  Route route = search(peer);
  if (route.undecided) return {.undecided = true, .reason = "it is still looked for"};
  searches_.erase(peer);
  if (route.count != 0) {
    show(peer, *route.paths[0]);
  } else if (route.reason.empty()) {
    route.reason = "the task is on another node and no network transport is open";
  }
  return route;
}

Route ContextRoutes::search(PeerIndex peer) {
  Route route;
  std::string error;
  if (shared_memory_.group != nullptr && peer < shm_numbers_.size() && shm_numbers_[peer] >= 0) {
    if (shared_memory_.path->add_peer(peer, shared_memory_.group->address_of(peer), error)) {
      route.paths[route.count++] = shared_memory_.path;
      return route;
    }
    append(route.reason, shared_memory_.path->name(), error);
  }
  for (std::size_t first = 0; first != networks_.size() && !route.undecided;) {
    const auto same = [&](const Network& network) { return network.keys == networks_[first].keys; };
    const Group group(networks_.begin() + static_cast<std::ptrdiff_t>(first),
                      std::find_if_not(networks_.begin() + static_cast<std::ptrdiff_t>(first), networks_.end(), same));
    first += group.size();
    if (route.count == 0 || !group.front().is_last_resort) add_group(group, peer, route);
  }
  return route;
}

void ContextRoutes::add_group(Group group, PeerIndex peer, Route& route) {
  std::string reason;
  std::size_t adapters = 0;  // of the peer
  Places places;
  std::vector<End> ends;
  for (const AdapterPair& pair : pairs_with(group, peer, adapters, places, reason)) {
    if (route.count != route.paths.size()) add_network(group[pair.here], pair.there, peer, route, ends);
  }
  if (!ends.empty()) add_ends_without_pair(group, peer, adapters, ends);
  for (End& end : ends) {
    const Network& network = end.network != nullptr ? *end.network : group.front();
    if (network.place_of != nullptr) {
      end.place = network.place_of(end.address);
    } else if (end.there < places.size()) {
      end.place = places[end.there];
    }
  }
  add_other_ends(group, ends, peer, route);
  if (!reason.empty()) append(route.reason, group.front().transport->name(), reason);
}

// By their numbers, unless both tasks have chosen their adapters and told where they are.
std::vector<AdapterPair> ContextRoutes::pairs_with(Group group, PeerIndex peer, std::size_t& adapters, Places& there,
                                                   std::string& reason) {
  std::vector<AdapterPair> pairs;
  Places here;
  for (const Network& network : group) {
    pairs.push_back({pairs.size(), network.number});
    if (network.chosen) here.push_back(*network.chosen);
  }
  const bool is_first = group.size() == 1 && group.front().number == 0;
  if (!group.front().addresses.empty()) return pairs;
  std::vector<std::byte> published;
  PublishedAddress first;
  std::string ignored;  // the others may have an address
  if (!get(peer, group.front().keys + "0", published, reason)) return {};
  const bool first_is_open = decode(published, first, ignored);
  adapters = first.adapters;
  if (is_first && (first.adapters == 1 || (here.empty() && first_is_open && !group.front().own))) return pairs;
  const bool both_chosen = !here.empty() && first.chosen;
  // Both tasks tell where all of their adapters are, or only one of them would lead across.
  const bool all_placed = std::ranges::all_of(group, [](const Network& network) { return network.own.has_value(); });
  if (both_chosen || (first.placed && all_placed)) {
    const bool told = get(peer, places_key(group.front().keys), published, reason) && decode(published, there, reason);
    if (both_chosen) return told ? pair_adapters(here, there, bootstrap_->task() < peer) : std::vector<AdapterPair>{};
    if (!told) {  // then it goes by numbers alone
      there.clear();
      reason.clear();
    }
  }
  return pair_by_number(group, peer, first.adapters, there, reason);
}

// Those of the same numbers. Where some have not opened at either end, those that are left as well: of one network, or
// any if there would be no pair at all. Both tasks come to the same.
std::vector<AdapterPair> ContextRoutes::pair_by_number(Group group, PeerIndex peer, std::size_t adapters,
                                                       const Places& there, std::string& reason) {
  std::vector<AdapterPair> pairs;
  std::vector<std::size_t> left_here, left_there;
  Places places_here, places_there;
  PublishedAddress found;
  for (std::size_t here = 0; here != group.size(); ++here) {
    const std::size_t number = group[here].number;
    if (number < adapters && is_open(group, peer, number, found, reason)) {
      pairs.push_back({here, number});
    } else {
      left_here.push_back(here);
      places_here.push_back(own_place(group[here]));
    }
  }
  for (std::size_t number = 0; number != adapters && !left_here.empty(); ++number) {
    const bool is_paired = std::ranges::find(group, number, &Network::number) != group.end();
    if (is_paired || !is_open(group, peer, number, found, reason)) continue;
    left_there.push_back(number);
    places_there.push_back(place_of(group, found.address, number, there));
  }
  const bool lower = bootstrap_->task() < peer;
  for (const AdapterPair& pair : pair_adapters(places_here, places_there, lower, pairs.empty())) {
    pairs.push_back({left_here[pair.here], left_there[pair.there]});
  }
  if (!pairs.empty()) {
    reason.clear();
  } else if (reason.empty()) {
    reason = "the task has no adapter";
  }
  return pairs;
}

// Whether the adapter with the number has opened in the peer.
bool ContextRoutes::is_open(Group group, PeerIndex peer, std::size_t number, PublishedAddress& found,
                            std::string& reason) {
  std::vector<std::byte> value;
  return get(peer, group.front().keys + std::to_string(number), value, reason) && decode(value, found, reason);
}

// Where an adapter is; anywhere, as far as is known, if nothing tells.
ChosenAdapter ContextRoutes::own_place(const Network& network) {
  if (network.own || network.place_of == nullptr) return network.own.value_or(ChosenAdapter{});
  return network.place_of(network.transport->local_address());
}

ChosenAdapter ContextRoutes::place_of(Group group, const PeerAddress& address, std::size_t number,
                                      const Places& there) {
  if (group.front().place_of != nullptr) return group.front().place_of(address);
  return number < there.size() ? there[number] : ChosenAdapter{};
}

// The adapters of a peer that has more of them than this task. Nothing but paths of others can lead there.
void ContextRoutes::add_ends_without_pair(Group group, PeerIndex peer, std::size_t adapters, std::vector<End>& ends) {
  if (std::ranges::none_of(group, [](const Network& network) { return network.own.has_value(); })) return;
  for (std::size_t number = 0; number != adapters; ++number) {
    if (std::ranges::find(ends, number, &End::there) != ends.end()) continue;
    PublishedAddress found;
    std::string ignored;
    if (address_of(group.front(), number, peer, found, ignored)) ends.push_back({nullptr, number, found.address, {}});
  }
}

// The two are not on one network, as far as both ends tell.
bool ContextRoutes::is_behind_router(const End* pair) {
  if (pair == nullptr || pair->network == nullptr) return false;
  return !pair->network->own || !pair->place || !share_network(*pair->network->own, *pair->place);
}

// The path that can lead from the adapter here to that one there as well: that of the adapter here, or, if this one has
// none, of that there. Null: it reaches only its pair. What reaches its pair through a router reaches all the others as
// well; and the other way round, so that both tasks come to the same.
const ContextRoutes::End* ContextRoutes::path_between(const Network& here, const End& there,
                                                      std::span<const End> ends) {
  const auto paired = std::ranges::find(ends, &here, &End::network);
  const End* const home = paired != ends.end() ? &*paired : nullptr;
  if (!here.own || !there.place || home == &there || (home != nullptr && !home->place)) return nullptr;
  const bool is_far = !share_network(*here.own, *there.place);
  if (is_far && !is_behind_router(home) && !is_behind_router(&there)) return nullptr;
  if (home != nullptr) return home;
  return there.network != nullptr ? &there : nullptr;
}

void ContextRoutes::add_other_ends(Group group, const std::vector<End>& ends, PeerIndex peer, Route& route) {
  for (const Network& here : group) {
    for (const End& there : ends) {
      const End* const path = path_between(here, there, ends);
      if (path == nullptr) continue;
      const auto number = static_cast<PeerIndex>(peer + (there.there + 1) * bootstrap_->size());
      std::string ignored;
      if (!add_once(*here.transport, peer, number, there.address, ignored)) {
        route.undecided |= still_looks(*here.transport);
        continue;
      }
      addresses_[{number, here.transport}] = there.address;
      moved_.erase({number, here.transport});
      route.other_ends.push_back({path->network->transport, number, here.transport});
    }
  }
}

// To add it again would have the transport look for it again, at each look for another one that is not found yet.
bool ContextRoutes::add_once(Transport& transport, PeerIndex peer, PeerIndex number, const PeerAddress& address,
                             std::string& error) {
  Search& search = searches_[peer];
  if (search.added.contains({number, &transport})) return true;
  if (!transport.add_peer(number, address, error)) return false;
  search.added.insert({number, &transport});
  return true;
}

bool ContextRoutes::add_network(const Network& network, std::size_t there, PeerIndex peer, Route& route,
                                std::vector<End>& ends) {
  PublishedAddress found;
  std::string error;  // empty: a module must not free what the library's own operator new has given
  bool added = address_of(network, there, peer, found, error);
  if (added) {
    try {
      added = add_once(*network.transport, peer, peer, found.address, error);
      route.undecided |= !added && still_looks(*network.transport);
    } catch (const std::bad_alloc&) {  // of a module: the library's reserve is not for it
      added = false;
      error = "no memory";
    }
  }
  if (added) {
    addresses_[{peer, network.transport}] = found.address;
    moved_.erase({peer, network.transport});
    route.paths[route.count++] = network.transport;
    route.epoch = found.epoch;
    ends.push_back({&network, there, found.address, {}});
  } else {
    append(route.reason, network.transport->name(), error);
  }
  return added;
}

// The path itself is known under the task's number, those to its other adapters under others (add_other_ends()).
bool ContextRoutes::address_changed(PeerIndex peer, const PeerAddress& published, const PeerAddress& present) {
  bool any = false;
  for (const Network& network : networks_) {
    for (std::size_t adapter = 0; adapter <= kMostAdapters; ++adapter) {
      const auto number = static_cast<PeerIndex>(peer + adapter * bootstrap_->size());
      const auto known = addresses_.find({number, network.transport});
      if (known == addresses_.end()) continue;
      const auto moved = moved_.find(known->first);
      if ((moved != moved_.end() ? moved->second : known->second) != published || known->second == present) continue;
      std::string ignored;
      if (!network.transport->add_peer(number, present, ignored)) continue;
      moved_[known->first] = published;
      known->second = present;
      any = true;
    }
  }
  return any;
}

void ContextRoutes::own_address_changed(const Transport& path) {
  for (Network& network : networks_) {
    if (network.transport != &path || network.own_text == nullptr) continue;
    network.device = network.own_text(path.local_address());
  }
}

std::string ContextRoutes::text_of(const PeerAddress& address) const {
  for (const Network& network : networks_) {
    if (network.address_text != nullptr) return network.address_text(address);
  }
  return {};
}

std::string ContextRoutes::text_of(const Transport& path) const {
  for (const Network& network : networks_) {
    if (network.transport == &path && !network.device.empty()) return std::string(path.name()) + ", " + network.device;
  }
  return std::string(path.name());
}

std::string ContextRoutes::describe(PeerIndex peer, std::string& reason) {
  const Route route = find_paths(peer);
  reason = route.reason;
  return route.count != 0 ? text_of(*route.paths[0]) : std::string();
}

std::string ContextRoutes::name_of(const Transport& path, PeerIndex end) const {
  const auto network =
      std::ranges::find(networks_, &path, [](const Network& candidate) { return candidate.transport; });
  if (network == networks_.end()) return text_of(path);
  std::string text = "adapter " + std::to_string(network - networks_.begin()) + " (" + text_of(path);
  const auto address = addresses_.find({end, &path});
  const bool may_be_another = networks_.size() > 1 || (end != kUnknownPeer && end >= bootstrap_->size());
  if (may_be_another && address != addresses_.end() && network->address_text != nullptr) {
    text += " to " + network->address_text(address->second);
  } else if (end != kUnknownPeer && end >= bootstrap_->size()) {
    text += " to adapter " + std::to_string(end / bootstrap_->size() - 1) + " there";
  }
  return text + ")";
}

bool ContextRoutes::adapters_down(PeerIndex peer) const {
  if (networks_.empty() || (peer < shm_numbers_.size() && shm_numbers_[peer] >= 0)) return false;
  return std::ranges::none_of(networks_,
                              [](const Network& network) { return !network.has_link || network.has_link(); });
}

void ContextRoutes::show(PeerIndex peer, const Transport& path) const {
  if (tell_ == nullptr || info_level_ < kLevelInformation) return;
  tell_(Notice::path_found, info_level_,
        "task " + std::to_string(bootstrap_->task()) + " reaches task " + std::to_string(peer) + " over " +
            text_of(path));
}

void ContextRoutes::resumed(PeerIndex peer) {
  if (networks_.empty() || peer >= shm_numbers_.size() || shm_numbers_[peer] < 0) return;
  if (!shared_memory_.path->capabilities().peer_liveness->peer_gone(peer)) return;
  shm_numbers_[peer] = -1;
  static_cast<void>(resolve(peer));
}

bool ContextRoutes::change_address(PeerIndex peer, std::size_t network, const PeerAddress& address,
                                   std::string& reason) {
  const auto found = std::ranges::find(networks_, network, &Network::number);
  if (found == networks_.end() || peer >= found->addresses.size()) {
    reason = "there is no such network";
    return false;
  }
  if (!found->transport->add_peer(peer, address, reason)) return false;
  if (const auto known = addresses_.find({peer, found->transport}); known != addresses_.end()) {
    known->second = address;
    moved_.erase(known->first);
  }
  found->addresses[peer] = address;
  if (peer < shm_numbers_.size()) shm_numbers_[peer] = -1;
  return true;
}

bool ContextRoutes::get(PeerIndex peer, const std::string& key, std::vector<std::byte>& value, std::string& reason) {
  auto& asked = searches_[peer].asked;
  if (const auto known = asked.find(key); known != asked.end()) {
    value = known->second;
    return true;
  }
  const std::scoped_lock turn(bootstrap_turn());
  if (!bootstrap_->get(peer, key, kAddressSeconds, value, reason)) return false;
  asked[key] = value;
  return true;
}

bool ContextRoutes::address_of(const Network& network, std::size_t there, PeerIndex peer, PublishedAddress& found,
                               std::string& reason) {
  if (!network.addresses.empty()) {
    if (peer >= network.addresses.size()) {
      reason = "the list of UDP addresses has no entry for the task";
      return false;
    }
    found.address = network.addresses[peer];
    return true;
  }
  std::vector<std::byte> value;
  if (!get(peer, network.keys + std::to_string(there), value, reason)) return false;
  if (!decode(value, found, reason)) return false;
  if (found.tags == network.tags) return true;
  reason = found.tags ? "its packets carry tags, this task's do not" : "this task's packets carry tags, its do not";
  reason += ": OPENLAPI_PACKET_AUTH has to be the same in all tasks";
  return false;
}

}  // namespace openlapi
