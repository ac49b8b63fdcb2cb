// Choosing local adapters and opening the network transports of a context (LAPI_Init only).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/include/lapi.h"
#include "api/wiring/environment.h"
#include "api/wiring/routes.h"
#include "control/client/bootstrap.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

// Why LAPI_Init fails: what it returns, and what the user reads.
struct OpenError {
  int code = LAPI_SUCCESS;
  std::string text;
};
inline bool fail(OpenError& error, int code, std::string text) {
  error = {code, std::move(text)};
  return false;
}

struct NetworkRequest {
  const Settings& settings;
  Bootstrap& bootstrap;
  const lapi_info_t& info;
  std::uint32_t life;   // see address_key()
  std::uint64_t epoch;  // see PublishedAddress
  bool tags = false;    // packets carry tags, where they do not say by themselves whom they are from
  bool spare = false;   // for tasks that replace others; nobody is reached over it before
};

struct OpenNetworks {
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<ContextRoutes::Network> networks;  // one for each transport
  bool published = false;                        // addresses were put: an exchange() has to follow
  lapi_dev_t protocol = LAPI_DEV_UDP;            // of the first one
};

// The address as transports take it. False: it is none that a task can have.
bool udp_address_of(const lapi_udp_t& entry, PeerAddress& address);

// Whether this machine has the adapter that the user names for IP mode, if he names one. False: `error` says which it
// has.
bool check_adapter_name(const lapi_info_t& info, OpenError& error);

// IP mode. False: `error` says why and everything is closed again.
bool open_udp_networks(const NetworkRequest& request, OpenNetworks& result, OpenError& error);

// User space mode, by the same rule. `error` lists every module with the reason why it cannot serve.
bool open_user_space_networks(const NetworkRequest& request, OpenNetworks& result, OpenError& error);

}  // namespace openlapi
