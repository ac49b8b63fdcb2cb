#include "control/daemon/session/tool_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "control/base/deadline.h"
#include "control/base/host_name.h"
#include "control/base/process_handle.h"
#include "control/base/socket_peer.h"
#include "control/daemon/messages/connection.h"
#include "control/daemon/session/session_folder.h"

namespace openlapi::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// What it is told may be a job's key. A look at the folder is not enough: a stranger can put his in its place after it.
// Tools of root, too, ask root's daemon alone.
bool is_own_daemon(int socket) {
  const auto peer = socket_peer(socket);
  return peer && peer->uid == geteuid();
}

[[noreturn]] void name_silent(const std::string& folder, std::chrono::seconds limit) {
  throw std::runtime_error("no answer after " + std::to_string(limit.count()) + " s from the daemon here (lamd on " +
                           host_name() + ", process " + std::to_string(session_process(folder)) +
                           "): it hangs or is stopped; tkill ends it");
}

// A daemon that accepts nobody still has those in its queue who have given up; when that is full, connect() waits.
// False: errno says why, EAGAIN when it is full for all of `limit`.
bool connect_in_time(int socket, const sockaddr_un& address, std::chrono::seconds limit) {
  const auto until = Clock::now() + limit;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(until - Clock::now()).count();
    if (left <= 0) {
      errno = EAGAIN;
      return false;
    }
    const timeval wait{static_cast<time_t>(left / 1'000'000), static_cast<suseconds_t>(left % 1'000'000)};
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
    if (errno != EINTR) return false;
  }
}

}  // namespace

ToolClient::ToolClient(const std::string& folder, std::chrono::seconds silent_time)
    : folder_(folder), silent_time_(silent_time) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = tool_socket(folder);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  // A stranger's daemon may let nobody in, and connect() would not say why.
  check_own_session(folder);
  socket_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connect_in_time(socket_.get(), address, silent_time)) {
    if (errno == EAGAIN) name_silent(folder, silent_time);
    throw std::runtime_error("no lamd is running here for this user (" + path + ": " + std::strerror(errno) +
                             "); lamboot starts one");
  }
  if (!is_own_daemon(socket_.get())) throw std::runtime_error("the daemon at " + path + " is another user's");
  process_ = open_session_process(folder).handle;
}

DaemonMessage ToolClient::ask(const DaemonMessage& question, std::chrono::seconds limit) {
  auto answer = ask_within(question, limit);
  if (!answer) {
    throw std::runtime_error("lamd has not answered within " + std::to_string(limit.count()) +
                             " s: it, or one on another node, hangs or is stopped; tkill there ends it");
  }
  return std::move(*answer);
}

// Whoever closes at once may not be heard: the question behind it is answered when the message has been taken.
void ToolClient::tell(const DaemonMessage& message, std::chrono::seconds limit) {
  send(message);
  ask(UniverseRequest{0}, limit);
}

// False: not ready by then.
bool ToolClient::wait_ready(int fd, short events, Clock::time_point limit) const {
  while (true) {
    pollfd waits[] = {{fd, events, 0}, {output_, 0, 0}};
    const int ready = poll(waits, 2, milliseconds_until(limit));
    if (ready > 0 && waits[1].revents != 0) {
      raise(SIGPIPE);
      throw std::runtime_error("nobody reads standard output any more");
    }
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= limit) return false;
  }
}

DaemonMessage ToolClient::answer_here(const DaemonMessage& question) {
  auto answer = ask_within(question, silent_time_);
  if (!answer) name_silent(folder_, silent_time_);
  return std::move(*answer);
}

DaemonMessage ToolClient::news_here(const DaemonMessage& question) {
  Connection connection = send(question);
  while (true) {
    if (auto news = receive(connection, silent_time_)) return std::move(*news);
    ToolClient(folder_, silent_time_).check_alive();
  }
}

std::optional<DaemonMessage> ToolClient::ask_within(const DaemonMessage& question, std::chrono::seconds limit) {
  Connection connection = send(question);
  return receive(connection, limit);
}

Connection ToolClient::send(const DaemonMessage& message) {
  Connection connection(FileDescriptor(dup(socket_.get())), std::make_unique<MessageStream>());
  connection.send(message);
  connection.flush();
  return connection;
}

std::optional<DaemonMessage> ToolClient::receive(Connection& connection, std::chrono::seconds limit) {
  const auto until = Clock::now() + limit;
  bool goes_on = true;  // what came before the end of the connection is read, also when nothing could be sent
  while (true) {
    if (const auto bytes = connection.stream().next()) {
      const auto answer = decode(*bytes);
      if (answer) return answer;
      throw std::runtime_error("lamd's answer makes no sense: is it of another version?");
    }
    if (!goes_on) {
      throw std::runtime_error("lamd gave no answer: it has ended, or is of another version (tkill ends it)");
    }
    if (!wait_ready(connection.fd(), connection.events(), until)) return std::nullopt;
    goes_on = connection.serve();
  }
}

bool ToolClient::wait_for_end(std::chrono::seconds limit) {
  return !process_.is_open() || wait_ready(process_.get(), POLLIN, Clock::now() + limit);
}

void wake_daemon(const std::string& folder) {
  const FileDescriptor process = open_session_process(folder).handle;
  if (process.is_open()) send_signal(process.get(), SIGCONT);
}

}  // namespace openlapi::daemon
