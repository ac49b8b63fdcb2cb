#include "api/context_routes.h"

#include <cstring>
#include <mutex>
#include <utility>

namespace openlapi {

namespace {

// How long a task may take to publish its address after LAPI_Init's exchange has made it visible here.
constexpr unsigned kAddressSeconds = 10;

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

}  // namespace

std::string address_key(std::uint32_t instance, std::uint32_t life, std::size_t adapter) {
  return "openlapi." + std::to_string(instance) + "." + std::to_string(life) + "." + std::to_string(adapter);
}

ContextRoutes::ContextRoutes(std::shared_ptr<Bootstrap> bootstrap, SharedMemory shared_memory,
                             std::span<const int> shm_numbers, std::vector<Network> networks)
    : bootstrap_(std::move(bootstrap)), shared_memory_(shared_memory),
      shm_numbers_(shm_numbers.begin(), shm_numbers.end()), networks_(std::move(networks)) {}

std::size_t ContextRoutes::resolve(PeerIndex peer, std::span<Transport*> paths, std::string& reason) {
  reason.clear();
  std::string error;
  if (shared_memory_.group != nullptr && peer < shm_numbers_.size() && shm_numbers_[peer] >= 0 && !paths.empty()) {
    if (shared_memory_.path->add_peer(peer, shared_memory_.group->address_of(peer), error)) {
      paths[0] = shared_memory_.path;
      return 1;
    }
    append(reason, shared_memory_.path->name(), error);
  }
  std::size_t found = 0;
  for (const Network& network : networks_) {
    if (found == paths.size()) break;
    PeerAddress address;
    error.clear();
    if (address_of(network, peer, address, error) && network.transport->add_peer(peer, address, error)) {
      paths[found++] = network.transport;
    } else {
      append(reason, network.transport->name(), error);
    }
  }
  if (found == 0 && reason.empty()) reason = "the task is on another node and no network transport is open";
  return found;
}

bool ContextRoutes::address_of(const Network& network, PeerIndex peer, PeerAddress& address, std::string& reason) {
  if (!network.addresses.empty()) {
    if (peer >= network.addresses.size()) {
      reason = "the list of UDP addresses has no entry for the task";
      return false;
    }
    address = network.addresses[peer];
    return true;
  }
  std::vector<std::byte> value;
  {
    const std::scoped_lock turn(bootstrap_turn());
    if (!bootstrap_->get(peer, network.key, kAddressSeconds, value, reason)) return false;
  }
  if (value.empty() || value.size() > PeerAddress::kCapacity) {
    reason = "the task published an address of " + std::to_string(value.size()) + " bytes";
    return false;
  }
  std::memcpy(address.bytes.data(), value.data(), value.size());
  address.length = static_cast<std::uint32_t>(value.size());
  return true;
}

}  // namespace openlapi
