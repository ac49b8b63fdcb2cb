// Why transports cannot be opened. Each face has its own codes for the kinds; the text is what the user reads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace openlapi {

enum class FailureKind : std::uint8_t {
  none,
  setting,                 // a variable holds what it must not, or asks for what is not there
  message_interfaces,      // of MP_MSG_API
  task_numbers,            // what says which task this is does not say it
  network_statement,       // there is no usable one: MP_LAPI_INET_ADDR, MP_LAPI_NETWORK
  two_network_statements,  // both are set
  transport,               // the transport or adapter that was asked for is not here
  packet_size,
  socket,
  shared_memory,
  neighbour_ended,  // a task of this node, which was to share memory
  neighbours_late,  // such tasks have not come in time
  no_addresses,     // nothing says where the tasks are
  address_source,   // what should say it has failed
  port,             // it names one that there is not
  exchange,         // with the other tasks
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
