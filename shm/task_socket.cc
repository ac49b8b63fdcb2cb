#include "shm/task_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/siphash.h"

namespace openlapi::shm {
namespace {

constexpr std::uint64_t kNameDomain = 1;
constexpr std::uint64_t kProofDomain = 2;
constexpr std::uint64_t kFormedDomain = 3;
constexpr std::uint64_t kProofIndex = UINT32_MAX;  // one proof for the whole group
constexpr int kMaxDrained = 1024;                  // a stranger who floods the bell must not keep its owner here

bool set_option(int descriptor, int option, const void* value, socklen_t size) {
  return setsockopt(descriptor, SOL_SOCKET, option, value, size) == 0;
}

// Credentials and descriptors that came with a datagram. Descriptors beyond the first are closed.
void take_ancillary(msghdr& header, ReceivedMessage& received) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials;
      std::memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
      received.user = credentials.uid;
      received.process = credentials.pid;
    } else if (part->cmsg_type == SCM_RIGHTS) {
      const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int descriptor;
        std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof descriptor, sizeof descriptor);
        FileDescriptor file(descriptor);
        if (!received.file.is_open()) received.file = std::move(file);
      }
    }
  }
}

}  // namespace

std::uint64_t monotonic_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t TaskSocket::digest(std::uint64_t domain, std::uint64_t index) const {
  const std::uint64_t words[] = {std::uint64_t{instance_} << 32 | generation_, std::uint64_t{leader_} << 32 | index};
  return siphash({cookie_, domain}, words);
}

std::uint32_t TaskSocket::make_name(std::uint64_t domain, std::uint32_t index, sockaddr_un& name) const {
  name = {};
  name.sun_family = AF_UNIX;
  const int length = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "openlapi-%016llx",
                                   static_cast<unsigned long long>(digest(domain, index)));
  return static_cast<std::uint32_t>(offsetof(sockaddr_un, sun_path)) + 1u + static_cast<std::uint32_t>(length);
}

TaskSocket TaskSocket::open(const ShmConfig& config, std::uint32_t index, ShmSetupError& error) {
  TaskSocket made;
  made.cookie_ = config.cookie;
  made.instance_ = config.instance;
  made.generation_ = config.generation;
  made.leader_ = config.local_tasks.front();
  made.index_ = index;
  made.socket_ = FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!config.tasks_stay_processes) made.formed_ = FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int descriptor = made.socket_.get();
  const int on = 1;
  const int send_buffer = 1 << 20;  // bells that nobody has heard yet count against it; cut by the system's limit
  const timeval patience{static_cast<time_t>(config.setup_timeout_milliseconds / 1000),
                         static_cast<suseconds_t>(config.setup_timeout_milliseconds % 1000 * 1000)};
  sockaddr_un name;
  const std::uint32_t length = made.make_name(kNameDomain, index, name);
  if (!made.valid() || !(config.tasks_stay_processes || made.formed_.is_open()) ||
      !set_option(descriptor, SO_PASSCRED, &on, sizeof on) ||
      !set_option(descriptor, SO_SNDBUF, &send_buffer, sizeof send_buffer) ||
      !set_option(descriptor, SO_SNDTIMEO, &patience, sizeof patience) ||
      bind(descriptor, reinterpret_cast<const sockaddr*>(&name), length) != 0) {
    const int number = errno;
    error.failure = ShmFailure::kCreate;
    error.no_descriptor = number == EMFILE;
    error.reason = std::string("cannot open the task's local socket @") + (name.sun_path + 1) + ": " +
                   std::strerror(number) +
                   (number == EADDRINUSE ? " (a task of this job and number runs already, or another "
                                           "user has taken the name)"
                                         : "");
    return {};
  }
  return made;
}

RendezvousMessage TaskSocket::message(MessageKind kind) const {
  RendezvousMessage made{};
  made.proof = digest(kProofDomain, kProofIndex);
  made.kind = kind;
  made.index = index_;
  return made;
}

bool TaskSocket::send(std::uint32_t index, const RendezvousMessage& message, int file) const {
  sockaddr_un name;
  RendezvousMessage bytes = message;
  iovec piece{&bytes, sizeof bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_name = &name;
  header.msg_namelen = make_name(kNameDomain, index, name);
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  if (file >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &file, sizeof file);
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == sizeof bytes;
}

bool TaskSocket::take_one(ReceivedMessage& received) const {
  received = ReceivedMessage{};
  received.user = UINT32_MAX;
  iovec piece{&received.message, sizeof received.message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))];
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t length = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (length < 0) return false;
  take_ancillary(header, received);
  if (length != sizeof received.message || (header.msg_flags & MSG_TRUNC) != 0) received.message = {};
  return true;
}

bool TaskSocket::receive(std::uint64_t deadline, ReceivedMessage& received) const {
  const std::uint64_t proof = digest(kProofDomain, kProofIndex);
  for (;;) {
    const std::uint64_t now = monotonic_nanoseconds();
    if (now >= deadline) return false;
    const timespec left{static_cast<time_t>((deadline - now) / 1'000'000'000),
                        static_cast<long>((deadline - now) % 1'000'000'000)};
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (ppoll(&waiting, 1, &left, nullptr) <= 0) continue;
    if (!take_one(received) || received.message.proof != proof) continue;
    received.message.reason[sizeof received.message.reason - 1] = '\0';
    return true;
  }
}

void TaskSocket::say_formed() {
  sockaddr_un name;
  const std::uint32_t length = make_name(kFormedDomain, index_, name);
  // Without it a task that comes later waits in vain until its time is over.
  static_cast<void>(bind(formed_.get(), reinterpret_cast<const sockaddr*>(&name), length));
}

bool TaskSocket::has_formed(std::uint32_t tasks) const {
  for (std::uint32_t index = 0; index < tasks; ++index) {
    sockaddr_un name;
    const std::uint32_t length = make_name(kFormedDomain, index, name);
    if (connect(formed_.get(), reinterpret_cast<const sockaddr*>(&name), length) == 0) return true;
  }
  return false;
}

bool TaskSocket::ring(std::uint32_t index) const {
  sockaddr_un name;
  const std::uint32_t length = make_name(kNameDomain, index, name);
  const char bell = 0;
  const CancellationOff off;
  const ssize_t sent = sendto(socket_.get(), &bell, sizeof bell, MSG_DONTWAIT | MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&name), length);
  return sent >= 0 || (errno != ENOBUFS && errno != ENOMEM && errno != EINTR);
}

void TaskSocket::drain() const {
  const CancellationOff off;
  char bell;
  for (int i = 0; i < kMaxDrained; ++i) {
    if (recv(socket_.get(), &bell, sizeof bell, MSG_DONTWAIT) < 0) return;
  }
}

}  // namespace openlapi::shm
