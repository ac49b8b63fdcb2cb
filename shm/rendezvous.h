// How the tasks of a node come to share one memory file. The leader (local index 0) makes it and hands its descriptor
// to the others over their datagram sockets:
//
//   leader: bind, make the memory, "announce" to all          member: bind, "hello" to the leader
//   leader: on hello, check the user, send the descriptor     member: on announce, "hello" again
//   member: map, join, "mapped"                               leader: all mapped -> state kOpen, wake all
//
// Each side binds its name before it sends, so whoever comes later finds the other: no retries, nobody polls. Any
// failure is passed on, that of a task without a descriptor for its socket too, so that the group fails as one and at
// once; silence fails at the deadline, or as soon as it is that of a process which was met before and has ended
// (known_process.h).
#pragma once

#include <functional>

#include "shm/segment.h"
#include "shm/task_socket.h"

namespace openlapi::shm {

// Fills the task's own segment, once it is mapped.
using JoinGroup = std::function<bool(GroupMemory&, ShmSetupError&)>;

// Blocks until the whole group is ready, or fails. `index` is the caller's local index. An invalid result: see `error`.
GroupMemory meet(const ShmConfig& config, std::uint32_t index, const TaskSocket& socket, const JoinGroup& join,
                 ShmSetupError& error);

// Of a task that has no descriptor for a socket, as `why` says: fails the group in its name. Blocks until the others
// know, or the set-up's time is over.
void fail_without_socket(const ShmConfig& config, std::uint32_t index, const ShmSetupError& why);

}  // namespace openlapi::shm
