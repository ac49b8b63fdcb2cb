// A transport that is loaded on demand, so that the library need not link what that transport needs. A module is a
// library libopenlapi-NAME.so that exports one object, `openlapi_transport_module`. Module and library must be built
// from the same source; the version below tells whether they were.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/transport/transport.h"

namespace openlapi {

class AdapterMemory;

// Increased with every change of this file or of the declarations in transport.h.
inline constexpr std::uint32_t kTransportModuleVersion = 15;

// A device that the module found on this machine: for people, and for the choice among several.
struct ModuleDevice {
  std::string name;        // how it can be named in ModuleRequest::device
  std::string state;       // one line: address, speed, what would be used
  std::string reason;      // why it cannot be used; empty: it can
  bool chosen = false;     // what is used when the user names none and wants one
  bool eligible = false;   // it may be used when the user names none, and its link is up
  bool exclusive = false;  // one context uses it at a time
  // Of the device or its interface in sysfs (mlx5_0, eth0, 0000:3b:00.0). Empty: it has none.
  std::string kernel_name{};
  // What tells networks apart: the kernel's subnet of this IPv4 address (a number; 0: that of the interface
  // `kernel_name`, if it has one), and what is the module's own, which devices of one network have in common.
  std::uint32_t address = 0;
  std::array<std::uint8_t, 12> network{};
};

// What a context asks a module for.
struct ModuleRequest {
  std::string device;             // as the user named it, in the module's own syntax; empty: any
  std::uint32_t packet_size = 0;  // bytes at most; 0: the module chooses
  std::uint32_t instance = 1;     // of the context in its task, 1 to 16
  std::uint32_t task = 0;
  std::uint32_t tasks = 1;
  std::uint32_t local_number = 0;  // this task's number among those of its node, 0 to local_tasks - 1
  std::uint32_t local_tasks = 1;
  // It is one of several adapters: the transport is to have LinkStatus, if it can. Alone it may have it all the same,
  // to follow its address.
  bool link_status = false;
  bool tell = false;  // on standard error, what fails later (MP_INFOLEVEL 1 and above)
  std::map<std::string, std::string, std::less<>> variables{};  // what those of modules say that are set (nic/modules)
  AdapterMemory* adapter_memory = nullptr;                      // the process's; null: the module has its own

  std::string variable(std::string_view name) const {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second : std::string();
  }
};

struct ModuleTransport {
  std::unique_ptr<Transport> transport;  // null: `reason` says why
  std::string device;                    // the one that it uses, for people
  std::string reason;                    // names what was asked for, what went wrong, what to do
};

// One object per process, as long as the process. Not thread-safe: one call at a time. What it returns (texts, lists)
// is allocated with the program's operator new; a transport is deleted by its own code.
class TransportModule {
 public:
  virtual std::string_view name() const = 0;  // of the module and of its transports

  // As the context finds them that `request` is of, whatever device it names. May take some 100 ms. Empty: there is
  // none, and `reason` says why.
  virtual std::vector<ModuleDevice> devices(const ModuleRequest& request, std::string& reason) = 0;

  // May take as long. Each call opens another transport.
  virtual ModuleTransport open(const ModuleRequest& request) = 0;

  // Whether the adapter of a transport that this module has opened has a link. May ask the system.
  virtual bool has_link(const Transport& transport) = 0;

  // What ModuleDevice has of networks (kernel_name, address, network), of the adapter of a transport that this module
  // has opened. False: of those that peers have there it reaches one alone.
  virtual bool network_of(const Transport& transport, ModuleDevice& device) = 0;

  // What the system knows the adapter by that has a transport's address: its IPv6 address or GID, or its IPv4 address
  // as ::ffff:a.b.c.d. False: nothing.
  virtual bool adapter_address(const PeerAddress& address, std::array<std::uint8_t, 16>& found) = 0;

 protected:
  ~TransportModule() = default;
};

// What a module exports. The first member never changes its place or width.
struct TransportModuleEntry {
  std::uint32_t version;
  TransportModule& (*module)();
};

inline constexpr const char* kTransportModuleSymbol = "openlapi_transport_module";
extern "C" __attribute__((visibility("default"))) const TransportModuleEntry openlapi_transport_module;

}  // namespace openlapi
