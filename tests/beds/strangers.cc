// strangers IDLE TALKING PORT... - so many connections to whatever root listens to at this host's address, but for
// these ports: some that say nothing, some that say a byte now and then of what a daemon would say. One that is sent
// away comes again after a second. For tests: an ordinary user of a host on which daemons are booted. Ends with its
// standard input, and then says how many connections it has begun.
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr int kTickMilliseconds = 5;
constexpr int kTicksPerByte = 10;
constexpr int kTicksUntilAgain = 200;
constexpr int kMostOpened = 200;  // in a tick: strangers leave some of the processor to others
const std::string kHello("LAMS\1\1\0\0a nonce of a stranger, 32 bytes", 40);

// Asked of the kernel, which tells every user: /proc/net/tcp would name each connection, too.
std::vector<sockaddr_in> listeners(int diagnosis, const std::set<int>& others) {
  struct {
    nlmsghdr header{};
    inet_diag_req_v2 request{};
  } question;
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.request.sdiag_family = AF_INET;
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_states = 1 << TCP_LISTEN;
  std::vector<sockaddr_in> found;
  if (send(diagnosis, &question, sizeof question, 0) < 0) return found;
  alignas(nlmsghdr) char answer[65536];
  while (true) {
    ssize_t size = recv(diagnosis, answer, sizeof answer, 0);
    if (size <= 0) return found;
    for (auto* header = reinterpret_cast<nlmsghdr*>(answer); NLMSG_OK(header, size);
         header = NLMSG_NEXT(header, size)) {
      if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) return found;
      const auto* listener = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
      const bool for_this_host = ntohl(listener->id.idiag_src[0]) >> 24 == 127;  // libpmix's servers
      if (listener->idiag_uid != 0 || for_this_host || others.count(ntohs(listener->id.idiag_sport)) != 0) continue;
      sockaddr_in& address = found.emplace_back();
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = listener->id.idiag_src[0];
      address.sin_port = listener->id.idiag_sport;
    }
  }
}

struct Stranger {
  int socket = -1;
  bool talks = false;
  std::size_t said = 0;
  int may_come = 0;  // tick
};

class Crowd {
 public:
  Crowd(int idle, int talking) : strangers_(static_cast<std::size_t>(idle + talking)) {
    for (std::size_t n = 0; n < static_cast<std::size_t>(talking); ++n) strangers_[n].talks = true;
  }

  void open(const std::vector<sockaddr_in>& to, int tick) {
    if (to.empty()) return;
    for (int opened = 0, looked = 0; opened < kMostOpened && looked < static_cast<int>(strangers_.size()); ++looked) {
      next_ = (next_ + 1) % strangers_.size();
      Stranger& stranger = strangers_[next_];
      if (stranger.socket >= 0 || stranger.may_come > tick) continue;
      const sockaddr_in& address = to[++opened % to.size()];
      stranger.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (stranger.socket < 0) return;
      connect(stranger.socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
      stranger.said = 0;
      ++begun_;
      epoll_event event{};
      event.events = EPOLLIN | EPOLLRDHUP;
      event.data.u64 = next_;
      epoll_ctl(epoll_, EPOLL_CTL_ADD, stranger.socket, &event);
    }
  }

  // What daemons say is thrown away; one that is sent away has no socket.
  void listen(int milliseconds, int tick) {
    epoll_event events[512];
    const int count = epoll_wait(epoll_, events, 512, milliseconds);
    for (int n = 0; n < count; ++n) {
      Stranger& stranger = strangers_[events[n].data.u64];
      char bytes[256];
      if (recv(stranger.socket, bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
      close(stranger.socket);
      stranger.socket = -1;
      stranger.may_come = tick + kTicksUntilAgain;
    }
  }

  void talk() {
    for (Stranger& stranger : strangers_) {
      if (!stranger.talks || stranger.socket < 0) continue;
      const char byte = stranger.said < kHello.size() ? kHello[stranger.said] : 'x';
      if (send(stranger.socket, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) ++stranger.said;
    }
  }

  long begun() const { return begun_; }

 private:
  int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  std::vector<Stranger> strangers_;
  std::size_t next_ = 0;
  long begun_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  std::set<int> others;
  for (int n = 3; n < count; ++n) others.insert(std::atoi(words[n]));
  const int diagnosis = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  Crowd crowd(std::atoi(words[1]), std::atoi(words[2]));
  std::puts("here");
  std::fflush(stdout);
  pollfd input{STDIN_FILENO, POLLIN, 0};
  for (int tick = 0; poll(&input, 1, 0) == 0; ++tick) {
    crowd.open(listeners(diagnosis, others), tick);
    crowd.listen(kTickMilliseconds, tick);
    if (tick % kTicksPerByte == 0) crowd.talk();
  }
  std::printf("%ld\n", crowd.begun());
}
