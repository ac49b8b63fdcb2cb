#include "nic/links/kernel_links.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "dataplane/base/cancellation.h"

namespace openlapi {
namespace {

// Reads of one look(), and of one list: whoever changes links all the time holds nobody up for long.
constexpr unsigned kReadsOfLook = 64;
constexpr unsigned kReadsOfList = 4096;
constexpr unsigned kAttempts = 3;

}  // namespace

bool KernelLinks::open(std::string& error) {
  socket_.reset(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (!socket_.is_open() || bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof(own)) != 0) {
    error = std::string("no netlink socket, which tells of links that go down: ") + std::strerror(errno);
    socket_.reset();
    return false;
  }
  list_anew();
  return true;
}

bool KernelLinks::look() {
  bool changed = false;
  for (unsigned reads = 0; complete_ && reads != kReadsOfLook; ++reads) {
    LinkTable::Taken taken;
    const Read outcome = read(taken);
    if (outcome == Read::nothing) return changed;
    changed |= taken.changed;
    complete_ = outcome == Read::messages && !taken.unsound;
  }
  return complete_ ? changed : list_anew() || changed;
}

KernelLinks::Read KernelLinks::read(LinkTable::Taken& taken) {
  const CancellationOff off;
  sockaddr_nl source{};
  iovec piece{bytes_.data(), bytes_.size()};
  msghdr message{};
  message.msg_name = &source;
  message.msg_namelen = sizeof(source);
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  const ssize_t length = recvmsg(socket_.get(), &message, 0);
  if (length < 0) return errno == ENOBUFS ? Read::overrun : Read::nothing;
  if ((message.msg_flags & MSG_TRUNC) != 0) return Read::overrun;
  // Only the kernel knows.
  if (source.nl_pid == 0) taken = table_.take({bytes_.data(), static_cast<std::size_t>(length)});
  return Read::messages;
}

// Asks for a list and reads it. The kernel makes its parts while they are read, so none of them has to be waited for.
bool KernelLinks::ask(unsigned short kind) {
  struct {
    nlmsghdr header;
    ifinfomsg info;
  } request{};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = kind;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const CancellationOff off;
  if (sendto(socket_.get(), &request, sizeof(request), 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof(kernel)) <
      0) {
    return false;
  }
  bool sound = true;
  for (unsigned reads = 0; reads != kReadsOfList; ++reads) {
    LinkTable::Taken taken;
    const Read outcome = read(taken);
    if (outcome == Read::nothing) return false;
    if (outcome == Read::overrun || taken.unsound) sound = false;
    if (taken.ended) return sound;
  }
  return false;
}

// What waits was told before something was missed: in a new list it would stay, where the end of it was missed.
void KernelLinks::forget_waiting() {
  LinkTable::Taken ignored;
  for (unsigned reads = 0; reads != kReadsOfList && read(ignored) != Read::nothing; ++reads) {
  }
}

// What cannot be had now is asked for again by the next look().
bool KernelLinks::list_anew() {
  const LinkTable before = std::move(table_);
  for (unsigned attempt = 0; attempt != kAttempts && !complete_; ++attempt) {
    forget_waiting();
    table_ = {};
    complete_ = ask(RTM_GETLINK) && ask(RTM_GETADDR);
  }
  if (!complete_) table_ = before;  // better late than half
  return !(table_ == before);
}

}  // namespace openlapi
