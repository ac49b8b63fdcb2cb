// Choosing local adapters and opening the network transports of a context.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/wiring/environment.h"
#include "api/wiring/failure.h"
#include "api/wiring/info_level.h"
#include "api/wiring/routes.h"
#include "control/client/bootstrap.h"
#include "dataplane/transport/transport.h"
#include "nic/udp/udp_adapters.h"

namespace openlapi {

// A UDP address as a program gives it; its port is not checked yet.
struct UdpAddress {
  in_addr address;
  std::uint32_t port;
};

// In the form that transports take. False: no task can have such an address.
bool udp_address_of(const UdpAddress& given, PeerAddress& address);

// Tells where the tasks are when no bootstrap does.
class AddressSource {
 public:
  struct LocalPlace {
    in_addr address;
    std::uint32_t adapter;  // its number among this task's adapters
    std::uint32_t adapters;
    std::uint32_t task;
    std::uint32_t tasks;
  };

  // Whether there is a list for each of the adapters that this task has; otherwise there is one, of the first adapters,
  // and every further adapter uses the port of its task's first, where that is free and no task's in the list.
  virtual bool for_each_adapter(std::uint32_t tasks, std::size_t adapters) const = 0;
  // The addresses of all tasks, including this one. False: see `failure`.
  virtual bool list(const LocalPlace& place, std::vector<UdpAddress>& tasks, OpenFailure& failure) = 0;

 protected:
  ~AddressSource() = default;
};

struct NetworkRequest {
  const Settings& settings;
  Bootstrap& bootstrap;
  std::uint32_t instance;              // of the context in its task, 1 to 16
  std::uint32_t generation;            // see address_key()
  std::uint64_t epoch;                 // see PublishedAddress
  const char* adapter_name = nullptr;  // the one that the program names; null: it names none
  AddressSource* addresses = nullptr;  // null: the bootstrap can exchange, or UDP is not used
  // Makes what was published visible; false: the failure is told. Empty: there is no launcher that can.
  std::function<bool()> exchange{};
  std::uint32_t agreement = 0;         // times that this process has told of its networks before
  bool tags = false;                   // packets carry tags, over each network: a pair of tasks may use any
  bool spare = false;                  // for tasks that replace others; nobody is reached over it until then
  TellNotice tell = nullptr;
  void (*when_loaded)() = nullptr;  // see TransportsRequest
};

struct OpenNetworks {
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<ContextRoutes::Network> networks;  // one for each transport
  bool published = false;                        // addresses were published: an exchange() must follow
};

// Whether this machine has the adapter that the program names for IP mode. False: `failure` lists those that it has.
bool check_adapter_name(const char* name, OpenFailure& failure);

// For IP mode. False: `failure` says why, and everything is closed again.
bool open_udp_networks(const NetworkRequest& request, OpenNetworks& result, OpenFailure& failure);

// For user space mode; likewise. `failure` lists every module with the reason why it cannot be used.
bool open_user_space_networks(const NetworkRequest& request, OpenNetworks& result, OpenFailure& failure);

}  // namespace openlapi
