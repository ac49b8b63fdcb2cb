// Why transports cannot be opened. Each face has its own codes for these kinds; the text is for the user.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace openlapi {

enum class FailureKind : std::uint8_t {
  none,
  setting,                 // a variable has a value that is not allowed, or asks for what is not there
  message_interfaces,      // of MP_MSG_API
  task_numbers,            // the variables that should say which task this is do not
  network_statement,       // there is no usable one: MP_LAPI_INET_ADDR, MP_LAPI_NETWORK
  two_network_statements,  // both are set
  transport,               // the transport or adapter that was asked for is not available
  packet_size,
  socket,
  shared_memory,
  neighbour_ended,  // a task of this node, which was to share memory, has ended
  neighbours_late,  // such tasks did not come in time
  no_addresses,     // nothing says where the tasks are
  address_source,   // the program's source of addresses has failed
  port,             // the source names a port that does not exist
  exchange,         // the exchange with the other tasks
};

struct OpenFailure {
  FailureKind kind = FailureKind::none;
  std::string text;
};

inline bool fail(OpenFailure& failure, FailureKind kind, std::string text) {
  failure = {kind, std::move(text)};
  return false;
}

}  // namespace openlapi
