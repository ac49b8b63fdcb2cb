#include "control/job/pmix/peer_user.h"

#include <dlfcn.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {
namespace {

// For each read of libpmix, which serves nobody else meanwhile. A task of the job has its credential made between
// connect() and its first byte, on a node where all tasks start at once; about others nothing is known.
constexpr timeval kSilenceOfTask{10, 0};
constexpr timeval kSilenceOfUnknown{1, 0};

std::atomic<bool> refuses{false};

// The kernel's TCP socket with these ends; where there is none, the listener that `from` belongs to.
std::optional<inet_diag_msg> ask_kernel(const sockaddr_in& from, const sockaddr_in& to) {
  const FileDescriptor diagnosis(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  struct {
    nlmsghdr header{};
    inet_diag_req_v2 request{};
  } question;
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_INET;
  question.request.sdiag_protocol = IPPROTO_TCP;
  inet_diag_sockid& ends = question.request.id;
  ends.idiag_sport = from.sin_port;
  ends.idiag_src[0] = from.sin_addr.s_addr;
  ends.idiag_dport = to.sin_port;
  ends.idiag_dst[0] = to.sin_addr.s_addr;
  ends.idiag_cookie[0] = ends.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (send(diagnosis.get(), &question, sizeof question, 0) < 0) return std::nullopt;
  alignas(nlmsghdr) char bytes[1024];
  // The answer is there when send() returns.
  const ssize_t size = recv(diagnosis.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  const auto* header = reinterpret_cast<const nlmsghdr*>(bytes);
  if (size < 0 || !NLMSG_OK(header, static_cast<std::size_t>(size)) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      header->nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg))) {
    return std::nullopt;
  }
  return *static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
}

// A socket that no process has any more is shown as root's, with no inode.
PeerUser user_of(uid_t user, unsigned long inode) { return inode == 0 ? PeerUser(NoProcess{}) : PeerUser(user); }

// With errno, as accept() does.
int close_as_none(int connection) {
  close(connection);
  errno = EAGAIN;  // what every libpmix goes on after
  return -1;
}

std::optional<ConnectionEnds> ends_on_loopback(int connection) {
  ConnectionEnds ends;
  socklen_t here = sizeof ends.here;
  socklen_t peer = sizeof ends.peer;
  if (getsockname(connection, reinterpret_cast<sockaddr*>(&ends.here), &here) != 0 || ends.here.sin_family != AF_INET ||
      ntohl(ends.here.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET) {
    return std::nullopt;
  }
  // Without a peer: the connection is broken already.
  getpeername(connection, reinterpret_cast<sockaddr*>(&ends.peer), &peer);
  return ends;
}

int without_strangers(int connection) {
  const auto ends = ends_on_loopback(connection);
  if (!ends) return connection;
  const PeerUser peer = user_at_other_end(*ends);
  if (std::holds_alternative<NoProcess>(peer)) return close_as_none(connection);
  const auto* user = std::get_if<uid_t>(&peer);
  if (user != nullptr && *user != geteuid() && *user != 0) return close_as_none(connection);
  const timeval& silence = user != nullptr ? kSilenceOfTask : kSilenceOfUnknown;
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
  return connection;
}

}  // namespace

PeerUser user_at_other_end(const ConnectionEnds& ends) {
  const auto peer = ask_kernel(ends.peer, ends.here);
  if (peer && peer->id.idiag_dport == ends.here.sin_port) return user_of(peer->idiag_uid, peer->idiag_inode);
  // A kernel that cannot tell says the same as one that has no such socket; the listener's it has.
  if (peer || ask_kernel(ends.here, {})) return NoProcess{};
  return user_in_table(ends);
}

PeerUser user_in_table(const ConnectionEnds& ends, const char* table) {
  std::ifstream lines(table);
  std::string line;
  if (!std::getline(lines, line)) return NotTold{};
  while (std::getline(lines, line)) {
    unsigned source = 0, source_port = 0, to = 0, to_port = 0, user = 0;
    unsigned long inode = 0;
    const int read = std::sscanf(line.c_str(), "%*d: %8X:%4X %8X:%4X %*X %*X:%*X %*X:%*X %*X %u %*d %lu", &source,
                                 &source_port, &to, &to_port, &user, &inode);
    if (read == 6 && source == ends.peer.sin_addr.s_addr && source_port == ntohs(ends.peer.sin_port) &&
        to == ends.here.sin_addr.s_addr && to_port == ntohs(ends.here.sin_port)) {
      return user_of(user, inode);
    }
  }
  return NoProcess{};
}

void refuse_other_users() { refuses = true; }

}  // namespace openlapi

// In the place of the C library's, for every library of this process.
extern "C" [[gnu::visibility("default")]] int accept(int listener, sockaddr* peer, socklen_t* size) {
  static const auto next = reinterpret_cast<decltype(&accept)>(dlsym(RTLD_NEXT, "accept"));
  const int connection = next(listener, peer, size);
  return connection >= 0 && openlapi::refuses ? openlapi::without_strangers(connection) : connection;
}
