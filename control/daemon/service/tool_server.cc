#include "control/daemon/service/tool_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <variant>
#include <vector>

#include "control/sealing/unproved_places.h"

namespace openlapi::daemon {
namespace {

constexpr std::size_t kMostTools = 256;

// The folder keeps others out already; this also holds where a socket's path was passed on.
bool is_own_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace

void ToolServer::accept_tools() {
  while (tools_.size() < kMostTools) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      if (sealing::is_shortage(errno)) accept_again_ = Clock::now() + sealing::kShortageTime;
      return;
    }
    if (is_own_user(socket.get())) {
      tools_.push_back({Connection(std::move(socket), std::make_unique<MessageStream>()), ++tools_seen_});
    }
  }
}

// What was removed is to tools as if it had never been.
void ToolServer::tell_universe(Tool& tool) {
  UniverseMessage universe{table_.here(), table_.nodes(), table_.parents()};
  for (UniverseNode& node : universe.nodes) {
    if (node.state == NodeState::kRemoved) node = UniverseNode{};
  }
  tool.connection.send(universe);
}

void ToolServer::answer(std::uint64_t number, const DaemonMessage& message) {
  for (Tool& tool : tools_) {
    if (tool.number == number && !tool.over) tool.connection.send(message);
  }
}

bool ToolServer::take(Tool& tool, const MessageBytes& bytes) {
  const auto message = decode(bytes);
  if (!message) return false;
  if (const auto* request = std::get_if<UniverseRequest>(&*message)) {
    if (linked_ || request->wait_until_linked == 0) {
      tell_universe(tool);
    } else {
      tool.wish = Wish::kUniverse;
    }
    return true;
  }
  if (std::holds_alternative<JobsRequest>(*message)) {
    tool.connection.send(wishes_.jobs());
    return true;
  }
  if (const auto* of_job = std::get_if<JobMessage>(&*message)) {
    tool.over = true;
    wishes_.become_lapirun(std::move(tool.connection), *of_job);
    return true;
  }
  if (const auto* windows = std::get_if<OpenWindows>(&*message)) {
    tool.over = true;
    wishes_.become_task(std::move(tool.connection), *windows);
    return true;
  }
  if (changes_->take(tool.number, *message) || wishes_.network(tool.number, *message)) return true;
  const auto* halt = std::get_if<HaltMessage>(&*message);
  if (halt == nullptr) return false;
  tool.wish = Wish::kHalt;
  wishes_.halt(std::chrono::milliseconds(halt->limit));
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
  const bool accepts = tools_.size() < kMostTools && Clock::now() >= accept_again_;
  if (accepts) poll_set.add(listener_.get(), POLLIN, [this] { accept_tools(); });
  for (Tool& tool : tools_) {
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

void ToolServer::universe_linked() {
  linked_ = true;
  for (Tool& tool : tools_) {
    if (tool.wish != Wish::kUniverse) continue;
    tool.wish = Wish::kNothing;
    tell_universe(tool);
  }
}

void ToolServer::halted(const std::set<std::uint32_t>& nodes, const std::set<std::uint32_t>& silent) {
  const HaltedMessage answer{{nodes.begin(), nodes.end()}, {silent.begin(), silent.end()}};
  for (Tool& tool : tools_) {
    if (tool.wish == Wish::kHalt) tool.connection.send(answer);
  }
}

void ToolServer::tick() {
  std::vector<std::uint64_t> gone;
  std::erase_if(tools_, [&](const Tool& tool) {
    if (tool.over) gone.push_back(tool.number);
    return tool.over;
  });
  for (const std::uint64_t tool : gone) {
    changes_->tool_gone(tool);
    wishes_.tool_gone(tool);
  }
}

bool ToolServer::has_outgoing() const {
  return std::ranges::any_of(tools_, [](const Tool& tool) { return !tool.over && tool.connection.has_outgoing(); });
}

}  // namespace openlapi::daemon
