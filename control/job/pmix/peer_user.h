// Which user has the other end of a TCP connection on this host: libpmix's server accepts everybody who can reach
// 127.0.0.1, and waits for what he sends before it asks who he is.
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include <variant>

namespace openlapi {

struct NoProcess {};  // has the other end any more: it was closed
struct NotTold {};    // no kernel interface tells it here
using PeerUser = std::variant<uid_t, NoProcess, NotTold>;

struct ConnectionEnds {
  sockaddr_in here{};
  sockaddr_in peer{};
};

// Costs the same however many connections there are where the kernel has inet_diag; elsewhere its table of all is read.
PeerUser user_at_other_end(const ConnectionEnds& ends);
PeerUser user_in_table(const ConnectionEnds& ends, const char* table = "/proc/net/tcp");

// From now on accept() gives this process, whichever of its libraries calls, no connection over 127.0.0.1 of another
// user but root: it closes such a one and fails with EAGAIN. A read from the others fails when nothing comes for
// seconds.
void refuse_other_users();

}  // namespace openlapi
