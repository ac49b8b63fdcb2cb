// Each task's AF_UNIX datagram socket in the abstract name space (no file; it disappears with the process). During
// set-up it carries the rendezvous (rendezvous.h), afterwards it is the task's doorbell.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "shm/segment.h"
#include "shm/shm_config.h"

struct sockaddr_un;

namespace openlapi::shm {

enum class MessageKind : std::uint32_t { kAnnounce = 1, kHello = 2, kDescriptor = 3, kMapped = 4, kFailed = 5 };

// One datagram of the rendezvous. Its layout is the same in all builds of one version on a machine, of 32 or 64 bits.
struct alignas(8) RendezvousMessage {
  std::uint64_t proof;  // keyed digest of the job's cookie, which strangers cannot make
  std::uint64_t nonce;  // the group's, with kDescriptor
  MessageKind kind;
  std::uint32_t index;    // the sender's local index
  std::uint32_t failure;  // ShmFailure, with kFailed
  char reason[256];
};
static_assert(sizeof(RendezvousMessage) == 288 && offsetof(RendezvousMessage, reason) == 28);

struct ReceivedMessage {
  RendezvousMessage message;
  std::uint32_t user;  // the sender's user, as told by the kernel
  pid_t process;       // the sender's process, likewise; 0: not known here
  FileDescriptor file;
};

class TaskSocket {
 public:
  // Binds the name of local task `index` of the group.
  static TaskSocket open(const ShmConfig& config, std::uint32_t index, ShmSetupError& error);

  bool valid() const { return socket_.is_open(); }
  int descriptor() const { return socket_.get(); }

  // An empty message of this group.
  RendezvousMessage message(MessageKind kind) const;

  // Sends to local task `index`, with the descriptor `file` unless it is negative. Waits while that task's queue is
  // full, at most as long as the whole set-up may take. False: nobody has that name (yet), or time is over.
  bool send(std::uint32_t index, const RendezvousMessage& message, int file = -1) const;

  // Takes the next message of this group; messages from strangers are skipped. Sleeps until `deadline`
  // (CLOCK_MONOTONIC, nanoseconds). False: time is over.
  bool receive(std::uint64_t deadline, ReceivedMessage& received) const;

  // Used where a new process may replace a task that has ended. Marks the group as formed: from now on, as long as one
  // of the tasks that have said so is alive, a task that comes later finds out.
  void say_formed();
  // Whether one of `tasks` has said so; call it before say_formed().
  bool has_formed(std::uint32_t tasks) const;

  // Wakes local task `index`. Never blocks. False: the kernel had no memory for it.
  bool ring(std::uint32_t index) const;

  // Removes all wake-ups from the socket.
  void drain() const;

 private:
  std::uint64_t digest(std::uint64_t domain, std::uint64_t index) const;
  std::uint32_t make_name(std::uint64_t domain, std::uint32_t index, sockaddr_un& name) const;
  bool take_one(ReceivedMessage& received) const;

  FileDescriptor socket_;
  FileDescriptor formed_;  // only has to be bound to its name
  std::uint64_t cookie_ = 0;
  std::uint32_t instance_ = 0;
  std::uint32_t generation_ = 0;
  std::uint32_t leader_ = 0;  // part of the group's name: containers may share one abstract name space
  std::uint32_t index_ = 0;
};

std::uint64_t monotonic_nanoseconds();

}  // namespace openlapi::shm
