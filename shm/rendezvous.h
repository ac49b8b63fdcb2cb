// How the tasks of a node come to share one memory file. The leader (local index 0) makes it and hands its descriptor
// to the others over their datagram sockets:
//
//   leader: bind, make the memory, "announce" to all          member: bind, "hello" to the leader
//   leader: on hello, check the user, send the descriptor     member: on announce, "hello" again
//   member: map, join, "mapped"                               leader: all mapped -> state kOpen, wake all
//
// Each side binds its name before it sends, so whoever comes later finds the other; there are no retries and no
// polling. Every failure is passed on, also that of a task that has no descriptor for its socket, so that the group
// fails at once and as a whole. Silence fails at the deadline, or as soon as the silent process is known to have ended
// (known_process.h).
#pragma once

#include <functional>

#include "shm/segment.h"
#include "shm/task_socket.h"

namespace openlapi::shm {

// Fills the task's own segment after it is mapped.
using JoinGroup = std::function<bool(GroupMemory&, ShmSetupError&)>;

// Blocks until the whole group is ready, or fails. `index`: the caller's local index. Invalid result: `error` says why.
GroupMemory meet(const ShmConfig& config, std::uint32_t index, const TaskSocket& socket, const JoinGroup& join,
                 ShmSetupError& error);

// For a task that has no descriptor for a socket, for the reason in `why`: fails the group in its name. Blocks until
// the others know, or until the set-up's time is over.
void fail_without_socket(const ShmConfig& config, std::uint32_t index, const ShmSetupError& why);

}  // namespace openlapi::shm
