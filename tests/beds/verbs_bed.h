// Transports on the devices of the soft-RoCE bed, and the commands that make these fail. tests/beds/README.md has the
// devices' names; tests run as root there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "nic/verbs/verbs_transport.h"
#include "tests/support/transport_tasks.h"

namespace openlapi::test {

using VerbsPointer = std::unique_ptr<VerbsTransport>;

// Expects that the shell command succeeds.
void command(const std::string& words);

long read_number(const std::string& path);

// A device's port gets this state ("ACTIVE", "DOWN") some milliseconds after a command. False: it does not.
bool wait_for_port(const char* device, const char* state);

// `mtu` 0: the port's.
// Whether transports that are opened here read memory by RDMA READ.
inline bool bed_has_bulk = false;

// The packets to a peer after which transports that are opened here ask for a connection; 0: never.
inline std::uint32_t bed_connects_after = 0;

// Connections that those may have to send through; twice as many to receive through.
inline std::uint32_t bed_connections = 64;

// What transports that are opened here do beyond that.
inline std::function<void(VerbsConfig&)> bed_changes;

VerbsPointer open_on(const char* device, VerbsSetupError& error, std::uint32_t mtu = 0);
VerbsPointer open_well(const char* device, std::uint32_t mtu = 0);

// Task 0 on rxe0 and task 1 on rxe1, which know each other.
struct VerbsPair {
  explicit VerbsPair(std::uint32_t left_mtu = 0, std::uint32_t right_mtu = 0);
  VerbsPointer left, right;
};

// Offers one packet that begins with `number`.
std::size_t send_number(VerbsTransport& from, PeerIndex to, std::uint64_t number, std::size_t length = 64);

// The next packet's number; 0: none came within `seconds` and one more.
std::uint64_t receive_number(VerbsTransport& at, unsigned seconds = 10);

// Takes what waits, and says how many that were.
std::size_t empty(VerbsTransport& at);

// Repeats a packet until it has arrived, as the engine does: some may be lost while something recovers.
bool gets_through(VerbsTransport& from, PeerIndex to, VerbsTransport& at, std::uint64_t number);

// Runs `body` in a child process; gtest failures there are failures here.
void in_child(const std::function<void()>& body);

void become_ordinary_user();

}  // namespace openlapi::test
