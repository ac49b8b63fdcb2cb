// The connection of a helper to lapirun itself, by which it returns when a daemon between the two is lost: sealed with
// a key that the two alone have, from StartTasks.
#pragma once

#include <chrono>
#include <optional>

#include "control/base/sockets.h"
#include "control/daemon/messages/connection.h"
#include "control/daemon/messages/sealed_stream.h"
#include "control/job/messages/job_message.h"

namespace openlapi::jobs {

// Helpers that have lost their daemon return within this, or are given up.
inline constexpr std::chrono::seconds kReturnTime{5};
// Where a machine on the way dies without a word, the daemon beyond it, and so the helper, may notice as late as this
// after others that are told of the death at once.
inline constexpr std::chrono::seconds kLateReturnTime = kReturnTime + longest_to_notice(kUniverseSilence);

// Throws std::runtime_error: libcrypto does not work.
daemon::Connection return_way(FileDescriptor socket, const ReturnAddress& address, daemon::SealedStream::Role role);

// A socket that is being connected with lapirun, and ends when its machine has died or is cut off, within the time that
// daemons take for that. Not open: it cannot be reached.
FileDescriptor begin_to_return(const ReturnAddress& address);

}  // namespace openlapi::jobs
