// A further adapter of a task without a launcher, where the program's list has one address for each task: nobody knows
// beforehand where such adapters of the others are. The tasks tell each other over their first adapters, as they tell
// of an address that has changed (dataplane/paths/address_exchange.h); until then the adapter leads to nobody.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "dataplane/transport/transport.h"

namespace openlapi {

// What stands for the address of the adapter of that number, in each task; no adapter has it.
PeerAddress unlisted_address(std::size_t adapter);
// The adapter's number, if that is what the address is.
std::optional<std::size_t> unlisted_adapter(const PeerAddress& address);

// For people: an address of a UDP adapter, or what stands for one.
std::string listed_address_text(const PeerAddress& address);

// A UDP transport that has unlisted_address(adapter) as its own address until others can be told of the real one, and
// reaches the peers that were added with unlisted_address() once they are added with theirs.
std::unique_ptr<Transport> unlisted(std::unique_ptr<Transport> transport, std::size_t adapter);

}  // namespace openlapi
