#include "control/daemon/service/tool_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <variant>
#include <vector>

#include "control/base/socket_peer.h"
#include "control/sealing/unproved_places.h"

namespace openlapi::daemon {
namespace {

constexpr std::size_t kMostTools = 256;

// The folder keeps others out already; this also holds where a socket's path was passed on.
bool is_own_user(int socket) {
  const auto peer = socket_peer(socket);
  return peer && (peer->uid == geteuid() || peer->uid == 0);
}

}  // namespace

void ToolServer::accept_tools() {
  while (tools_.count() < kMostTools) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      if (sealing::is_shortage(errno)) accept_again_ = Clock::now() + sealing::kShortageTime;
      return;
    }
    if (is_own_user(socket.get())) tools_.add(std::move(socket));
  }
}

bool ToolServer::take(Tool& tool, const MessageBytes& bytes) {
  const auto message = decode(bytes);
  if (!message) return false;
  if (const auto* request = std::get_if<UniverseRequest>(&*message)) {
    tools_.ask_universe(tool, request->wait_until_linked != 0);
    return true;
  }
  if (std::holds_alternative<JobsRequest>(*message)) {
    tool.connection.send(parts_.jobs.jobs());
    return true;
  }
  if (const auto* of_job = std::get_if<JobMessage>(&*message)) {
    tool.over = true;
    parts_.jobs.add_lapirun(std::move(tool.connection), *of_job);
    return true;
  }
  if (const auto* windows = std::get_if<OpenWindows>(&*message)) {
    tool.over = true;
    parts_.networks.add_task(std::move(tool.connection), *windows);
    return true;
  }
  if (std::holds_alternative<FollowAdapters>(*message)) {
    tool.over = true;
    parts_.adapters.add_task(std::move(tool.connection));
    return true;
  }
  if (parts_.changes.take(tool.number, *message) || parts_.networks.take(tool.number, *message) ||
      parts_.adapters.take(tool.number, *message)) {
    return true;
  }
  const auto* halt = std::get_if<HaltMessage>(&*message);
  if (halt == nullptr) return false;
  tool.awaits = Tool::Awaited::kHalt;
  parts_.membership.halt(std::chrono::milliseconds(halt->limit));
  return true;
}

void ToolServer::serve_tool(Tool& tool) {
  tool.over = !tool.connection.serve();
  while (tool.connection.is_open()) {
    const auto bytes = tool.connection.stream().next();
    if (!bytes) break;
    if (!take(tool, *bytes)) tool.over = true;
  }
}

// A tool that does not read its answers is asked for nothing more.
void ToolServer::watch(PollSet& poll_set) {
  const bool accepts = tools_.count() < kMostTools && Clock::now() >= accept_again_;
  if (accepts) poll_set.add(listener_.get(), POLLIN, [this] { accept_tools(); });
  for (Tool& tool : tools_.all()) {
    if (tool.connection.has_outgoing()) {
      poll_set.add(tool.connection.fd(), POLLOUT, [&tool] { tool.over = !tool.connection.flush(); });
    } else {
      poll_set.add(tool.connection.fd(), POLLIN, [this, &tool] { serve_tool(tool); });
    }
  }
}

std::optional<ToolServer::Clock::time_point> ToolServer::deadline() const {
  if (accept_again_ <= Clock::now()) return std::nullopt;
  return accept_again_;
}

void ToolServer::tick() {
  std::vector<std::uint64_t> gone;
  std::erase_if(tools_.all(), [&](const Tool& tool) {
    if (tool.over) gone.push_back(tool.number);
    return tool.over;
  });
  for (const std::uint64_t tool : gone) {
    parts_.changes.tool_gone(tool);
    parts_.networks.tool_gone(tool);
    parts_.adapters.tool_gone(tool);
  }
}

}  // namespace openlapi::daemon
