// How a context finds the paths to a task at first contact: shared memory for tasks of the same node, the network for
// the others. Addresses come from the bootstrap, under one key per transport, or from the user's list.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/wiring/adapter_pairs.h"
#include "api/wiring/info_level.h"
#include "control/client/bootstrap.h"
#include "dataplane/endpoint/endpoint.h"
#include "dataplane/transport/transport.h"
#include "shm/shm_transport.h"

namespace openlapi {

// What the names begin with under which a task publishes the addresses of its network transports; the number of the
// adapter follows. `generation` counts how often the task has opened that instance, so that an address of a former
// generation is never taken for a present one.
std::string address_keys(std::uint32_t instance, std::uint32_t generation);
// The name under which it publishes where its adapters are, if it does.
std::string places_key(const std::string& address_keys);

// What is published there: the address, the incarnation that listens to it, and whether its packets carry tags. An
// address of length 0 means that the task has none.
struct PublishedAddress {
  std::uint64_t epoch = 0;  // EndpointConfig::epoch
  PeerAddress address;
  bool tags = false;          // EndpointConfig::packet_tags
  bool chosen = false;        // the library has chosen the adapters: places_key() has them
  bool placed = false;        // places_key() has where they are
  std::uint8_t adapters = 1;  // that the task has there, with those that have not opened
};
std::vector<std::byte> encode(const PublishedAddress& published);
// How many adapters a task has opened of those that it has told of, once an exchange has made that visible; 0: it is
// not known.
unsigned published_adapters(Bootstrap& bootstrap, const std::string& address_keys, std::uint32_t task);
// False: these bytes hold no address; `reason` says why. What they tell besides is known then, too.
bool decode(std::span<const std::byte> bytes, PublishedAddress& published, std::string& reason);

class ContextRoutes final : public RouteResolver {
 public:
  struct Network {
    Transport* transport;
    std::string keys;                     // in the bootstrap: what they begin with; unused with a list
    std::size_t number = 0;               // among the adapters with such keys
    std::vector<PeerAddress> addresses;   // by task: the user's list; empty: ask the bootstrap
    std::string device;                   // the local one, for people
    std::string adapter{};                // to which it belongs; several may belong to the same one
    bool is_last_resort = false;          // used where no network before it leads to the task
    bool tags = false;                    // whether this task's packets carry tags there
    bool followed = false;                // a daemon says which of the peers' adapters are down
    std::function<bool()> has_link = {};  // asks the system; empty: it cannot tell
    std::string (*address_text)(const PeerAddress&) = nullptr;  // for people; null: its addresses mean nothing to them
    // Of the adapter's own address, that `device` is; null: that is something else.
    std::string (*own_text)(const PeerAddress&) = nullptr;
    // Where the library has chosen the adapters. This one then leads to that which pair_adapters() finds.
    std::optional<ChosenAdapter> chosen = {};
    // The adapter itself: its paths can lead to each adapter of a task that is on its network. Empty: only to that of
    // its pair.
    std::optional<ChosenAdapter> own = {};
    ChosenAdapter (*place_of)(const PeerAddress&) = nullptr;  // of an address; null: the peer publishes it
  };

  struct SharedMemory {
    ShmTransport* group = nullptr;  // knows the addresses; null: there is no shared memory
    Transport* path = nullptr;      // what the engine uses: the group, or tracing around it
  };

  // `shm_numbers`: by task, its number in the group (-1: not in it). At MP_INFOLEVEL 2 each path that is found is
  // printed.
  ContextRoutes(std::shared_ptr<Bootstrap> bootstrap, SharedMemory shared_memory, std::span<const int> shm_numbers,
                std::vector<Network> networks, int info_level, TellNotice tell = nullptr);
  // At MP_INFOLEVEL 2 prints each network's packet counts; the transports still exist.
  ~ContextRoutes() override;

  // If there is no path, the reason is printed on standard error, once per peer.
  Route resolve(PeerIndex peer) override;
  bool address_changed(PeerIndex peer, const PeerAddress& published, const PeerAddress& present) override;

  // For people: an adapter here has another address now.
  void own_address_changed(const Transport& path);
  // The text of an address of the networks'.
  std::string text_of(const PeerAddress& address) const;

  // For people: the path that would be taken to a task now. Empty: there is none, and `reason` says why.
  std::string describe(PeerIndex peer, std::string& reason);

  // For people: a path to a task that was talked to, with the number of its adapter, from 0. `end`: the task, or
  // another end (OtherEnd).
  std::string name_of(const Transport& path, PeerIndex end) const;

  // Whether none of the adapters over which the task is reached has a link. Asks the system.
  bool adapters_down(PeerIndex peer) const;

  std::size_t networks() const { return networks_.size(); }
  bool has_network() const { return !networks_.empty(); }
  // The user resumes a task. If its process in shared memory has ended, another process has taken its place; that one
  // is reached over a network, and may send before anything is sent to it.
  void resumed(PeerIndex peer);

  // The user says where a task is now, on the `network`-th network with a list. From the next contact on it is reached
  // there, and no longer through shared memory. False: `reason` says why.
  bool change_address(PeerIndex peer, std::size_t network, const PeerAddress& address, std::string& reason);

 private:
  Route find_paths(PeerIndex peer);
  Route search(PeerIndex peer);
  using Group = std::span<const Network>;  // adapters that the same ones of others are reached over
  // An adapter of the peer's.
  struct End {
    const Network* network;  // of its pair here; null: it has none
    std::size_t there;
    PeerAddress address;
    std::optional<ChosenAdapter> place;  // none: it is not known
  };
  using Places = std::vector<ChosenAdapter>;  // of a peer's adapters, by number
  void add_group(Group group, PeerIndex peer, Route& route);
  std::vector<AdapterPair> pairs_with(Group group, PeerIndex peer, std::size_t& adapters, Places& there,
                                      std::string& reason);
  std::vector<AdapterPair> pair_by_number(Group group, PeerIndex peer, std::size_t adapters, const Places& there,
                                          std::string& reason);
  bool is_open(Group group, PeerIndex peer, std::size_t number, PublishedAddress& found, std::string& reason);
  static ChosenAdapter own_place(const Network& network);
  static ChosenAdapter place_of(Group group, const PeerAddress& address, std::size_t number, const Places& there);
  bool add_once(Transport& transport, PeerIndex peer, PeerIndex number, const PeerAddress& address, std::string& error);
  bool add_network(const Network& network, std::size_t there, PeerIndex peer, Route& route, std::vector<End>& ends);
  void add_ends_without_pair(Group group, PeerIndex peer, std::size_t adapters, std::vector<End>& ends);
  static bool is_behind_router(const End* pair);
  static const End* path_between(const Network& here, const End& there, std::span<const End> ends);
  void add_other_ends(Group group, const std::vector<End>& ends, PeerIndex peer, Route& route);
  bool address_of(const Network& network, std::size_t there, PeerIndex peer, PublishedAddress& found,
                  std::string& reason);
  bool get(PeerIndex peer, const std::string& key, std::vector<std::byte>& value, std::string& reason);
  std::string text_of(const Transport& path) const;
  void show(PeerIndex peer, const Transport& path) const;

  std::shared_ptr<Bootstrap> bootstrap_;
  SharedMemory shared_memory_;
  std::vector<int> shm_numbers_;
  std::vector<Network> networks_;
  int info_level_;
  TellNotice tell_;
  // Where the others are, by the number under which the transport knows them.
  std::map<std::pair<PeerIndex, const Transport*>, PeerAddress> addresses_;
  // Where those of them that are elsewhere now were when they published it.
  std::map<std::pair<PeerIndex, const Transport*>, PeerAddress> moved_;
  // What a search for paths has found out that is not over.
  struct Search {
    std::map<std::string, std::vector<std::byte>> asked;     // others may have to fetch it
    std::set<std::pair<PeerIndex, const Transport*>> added;  // by their numbers there
  };
  std::map<PeerIndex, Search> searches_;
  std::set<PeerIndex> without_path_;  // those that the user was told about
};

}  // namespace openlapi
