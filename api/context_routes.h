// How a context finds the way to a task at first contact: shared memory for tasks of the same node, the network for the
// others. Addresses come from the bootstrap, under one key per transport, or from the user's list.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/bootstrap.h"
#include "dataplane/endpoint/endpoint.h"
#include "dataplane/transport/transport.h"
#include "shm/shm_transport.h"

namespace openlapi {

// The name under which a task publishes the address of its `adapter`-th network transport. `life` counts how often the
// task has opened that instance, so that an address of a former life is never taken for a present one.
std::string address_key(std::uint32_t instance, std::uint32_t life, std::size_t adapter);

class ContextRoutes final : public RouteResolver {
 public:
  struct Network {
    Transport* transport;
    std::string key;                     // in the bootstrap; unused with a list
    std::vector<PeerAddress> addresses;  // by task: the user's list; empty: ask the bootstrap
  };

  struct SharedMemory {
    ShmTransport* group = nullptr;  // knows the addresses; null: no shared memory
    Transport* path = nullptr;      // what the engine uses: the group, or tracing around it
  };

  // `shm_numbers` says by task who is in the group (-1: not).
  ContextRoutes(std::shared_ptr<Bootstrap> bootstrap, SharedMemory shared_memory, std::span<const int> shm_numbers,
                std::vector<Network> networks);

  std::size_t resolve(PeerIndex peer, std::span<Transport*> paths, std::string& reason) override;

 private:
  bool address_of(const Network& network, PeerIndex peer, PeerAddress& address, std::string& reason);

  std::shared_ptr<Bootstrap> bootstrap_;
  SharedMemory shared_memory_;
  std::vector<int> shm_numbers_;
  std::vector<Network> networks_;
};

}  // namespace openlapi
