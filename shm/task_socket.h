// Each task's AF_UNIX datagram socket in the abstract name space (no file, gone with the process). During set-up it
// carries the rendezvous (rendezvous.h), afterwards it is the task's doorbell.
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

// One datagram of the rendezvous. Fixed bytes between builds of one version on one machine, of either word size.
struct alignas(8) RendezvousMessage {
  std::uint64_t proof;  // keyed digest of the job's cookie: strangers cannot make it
  std::uint64_t nonce;  // the group's, with kDescriptor
  MessageKind kind;
  std::uint32_t index;    // the sender's local index
  std::uint32_t failure;  // ShmFailure, with kFailed
  char reason[256];
};
static_assert(sizeof(RendezvousMessage) == 288 && offsetof(RendezvousMessage, reason) == 28);

struct ReceivedMessage {
  RendezvousMessage message;
  std::uint32_t user;  // the sender's user, as the kernel says
  pid_t process;       // the same of its process; 0: not known here
  FileDescriptor file;
};

class TaskSocket {
 public:
  // Binds the name of local task `index` of the group.
  static TaskSocket open(const ShmConfig& config, std::uint32_t index, ShmSetupError& error);

  bool valid() const { return socket_.is_open(); }
  int descriptor() const { return socket_.get(); }

  // A message of this group, without its content.
  RendezvousMessage message(MessageKind kind) const;

  // Sends to local task `index`, with `file` if it is not negative; waits while that task's queue is full, at most as
  // long as the whole set-up may take. False: nobody has that name (yet), or time is over.
  bool send(std::uint32_t index, const RendezvousMessage& message, int file = -1) const;

  // Takes the next message of this group; what strangers send is skipped. Sleeps until `deadline` (CLOCK_MONOTONIC,
  // nanoseconds). False: time is over.
  bool receive(std::uint64_t deadline, ReceivedMessage& received) const;

  // Where tasks do not stay processes. The group has formed: from now on, as long as one of those lives who have said
  // so, a task that comes later (it takes the place of one that has ended) finds out.
  void say_formed();
  // Whether somebody of `tasks` has said so; before say_formed().
  bool has_formed(std::uint32_t tasks) const;

  // Wakes local task `index`. Never blocks. True unless the bell could not be rung for want of memory.
  bool ring(std::uint32_t index) const;

  // Empties the socket of wake-ups.
  void drain() const;

 private:
  std::uint64_t digest(std::uint64_t domain, std::uint64_t index) const;
  std::uint32_t make_name(std::uint64_t domain, std::uint32_t index, sockaddr_un& name) const;
  bool take_one(ReceivedMessage& received) const;

  FileDescriptor socket_;
  FileDescriptor formed_;  // bound to a name in the end, and that is all
  std::uint64_t cookie_ = 0;
  std::uint32_t instance_ = 0;
  std::uint32_t generation_ = 0;
  std::uint32_t leader_ = 0;  // names the group: hosts that are containers may share a name space of sockets
  std::uint32_t index_ = 0;
};

std::uint64_t monotonic_nanoseconds();

}  // namespace openlapi::shm
