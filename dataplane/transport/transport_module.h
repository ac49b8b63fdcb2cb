// A transport that is loaded when it is asked for, so that the library never links what that transport needs. A module
// is a library libopenlapi-NAME.so that exports one object, `openlapi_transport_module`. It is built from the same
// source as the library that loads it: the version below says whether it was.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/transport/transport.h"

namespace openlapi {

// Changes with every change of this file or of what transport.h declares.
inline constexpr std::uint32_t kTransportModuleVersion = 8;

// A device that the module found on this machine, for people.
struct ModuleDevice {
  std::string name;     // as it can be named in ModuleRequest::device
  std::string state;    // one line: address, speed, what would be used of it
  std::string reason;   // why it cannot be used; empty: it can
  bool chosen = false;  // used when nothing is said
};

// How packets go over adapters that know both: by the transport's own rule, as datagrams alone, or through connections
// from the first one on.
enum class PacketService : std::uint8_t { by_rule, datagrams, connections };

// What a context asks of a module.
struct ModuleRequest {
  std::string device;             // as the user named it, each module has its own syntax; empty: any
  std::string arguments;          // more words for the library below the module; empty: none
  std::uint32_t packet_size = 0;  // bytes at most; 0: the module chooses
  PacketService packet_service = PacketService::by_rule;
  std::uint32_t instance = 1;  // of the context in its task, 1 to 16
  std::uint32_t task = 0;
  std::uint32_t tasks = 1;
  std::uint32_t local_number = 0;  // this task among those of its node, 0 to local_tasks - 1
  std::uint32_t local_tasks = 1;
};

struct ModuleTransport {
  std::unique_ptr<Transport> transport;  // null: `reason` says why
  std::string device;                    // the one that it uses, for people
  std::string reason;                    // names what was asked for, what went wrong, what to do
};

// One object for the process, which lives as long as it. One call at a time. Memory that it gives away (texts, lists)
// comes from the program's operator new; a transport deletes itself with its own.
class TransportModule {
 public:
  virtual std::string_view name() const = 0;  // of the module and of its transports

  // Whether strangers can send to its transports: tags have to prove whom packets are from
  // (EndpointConfig::packet_tags).
  virtual bool needs_tags() const = 0;

  // May take some 100 ms. Empty: `reason` says why there is none.
  virtual std::vector<ModuleDevice> devices(std::string& reason) = 0;

  // As the previous one. Each call opens another transport.
  virtual ModuleTransport open(const ModuleRequest& request) = 0;

 protected:
  ~TransportModule() = default;
};

// What a module exports. The first member keeps its place and width for ever.
struct TransportModuleEntry {
  std::uint32_t version;
  TransportModule& (*module)();
};

inline constexpr const char* kTransportModuleSymbol = "openlapi_transport_module";
extern "C" __attribute__((visibility("default"))) const TransportModuleEntry openlapi_transport_module;

}  // namespace openlapi
