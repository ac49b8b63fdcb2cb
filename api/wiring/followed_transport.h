// A transport of a context with several adapters where somebody tells of the peers' (peer_adapters.h): the engine also
// learns from that which peers are not reached.
#pragma once

#include <functional>
#include <memory>

#include "api/wiring/peer_adapters.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

// What an adapter is known by, taken from a transport's address. False: it has nothing that others know.
using AdapterAddressOf = std::function<bool(const PeerAddress& address, PacketAddress& found)>;
bool udp_adapter_address(const PeerAddress& address, PacketAddress& found);

// `wakes`: whoever sleeps on this transport is woken by news; one of the context's transports is enough. `kind`: of its
// adapter, and of those of its peers. Null `adapters`, or an address of its own that nobody knows: the transport
// itself.
std::unique_ptr<Transport> followed(std::unique_ptr<Transport> transport, std::shared_ptr<PeerAdapters> adapters,
                                    bool wakes, AdapterAddressOf address_of = udp_adapter_address,
                                    AdapterKind kind = AdapterKind::interface);

}  // namespace openlapi
