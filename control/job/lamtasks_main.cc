// lamtasks: starts and serves the tasks of one job on one node. lamd starts it, with their connection as standard
// input and the path of its session's folder.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "control/job/node/node_service.h"

namespace {

// The connection, if standard input is one; standard input is an empty file from then on.
openlapi::FileDescriptor take_connection() {
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return {};
  openlapi::FileDescriptor connection(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  const openlapi::FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  dup2(null.get(), STDIN_FILENO);
  return connection;
}

}  // namespace

int main(int count, char** words) {
  using namespace openlapi;
  FileDescriptor connection = take_connection();
  if (!connection.is_open() || count != 2) {
    std::fprintf(stderr, "lamtasks: standard input is no connection: lamd starts lamtasks, nobody else does\n");
    return 2;
  }
  int status = 0;
  try {
    daemon::Connection to_daemon(std::move(connection), std::make_unique<daemon::MessageStream>());
    // Never destroyed: libpmix's thread lives as long as the process.
    if (auto job = jobs::await_job(to_daemon))
      (new jobs::NodeService(std::move(*job), std::move(to_daemon), words[1]))->run();
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "lamtasks: %s\n", wrong.what());
    status = 1;
  }
  std::fflush(nullptr);
  // Not exit: libpmix's thread still runs, and its shutdown may never return.
  _exit(status);
}
