// The connection of a helper to lapirun itself, by which it returns when a daemon between the two is lost: sealed with
// a key that the two alone have, from StartTasks.
#pragma once

#include <chrono>
#include <optional>

#include "control/daemon/messages/connection.h"
#include "control/daemon/messages/sealed_stream.h"
#include "control/job/messages/job_message.h"

namespace openlapi::jobs {

// A daemon that is lost is known everywhere long before this: helpers return within it, or are given up.
inline constexpr std::chrono::seconds kReturnTime{5};

// Throws std::runtime_error: libcrypto does not work.
daemon::Connection return_way(FileDescriptor socket, const ReturnAddress& address, daemon::SealedStream::Role role);

// A socket that is being connected with lapirun, and ends when its machine has died or is cut off, within the time that
// daemons take for that. Not open: it cannot be reached.
FileDescriptor begin_to_return(const ReturnAddress& address);

}  // namespace openlapi::jobs
