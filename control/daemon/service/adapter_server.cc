#include "control/daemon/service/adapter_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "control/daemon/adapters/own_adapters.h"
#include "control/daemon/session/session_folder.h"

namespace openlapi::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kDevices[] = "/sys/class/infiniband";
constexpr std::chrono::milliseconds kPortPause{1000};  // the kernel gives no notice of RDMA ports to everybody
constexpr std::chrono::milliseconds kQuietPause{60'000};
constexpr std::chrono::milliseconds kDoubtPause{100};  // about the same address
constexpr std::size_t kMostDoubts = 1024;
constexpr std::size_t kMostFollowers = 4096;
constexpr std::size_t kMatrixBytes = 256 << 10;  // of rows in one message, about

std::uint64_t milliseconds_since_1970() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

// Half of the descriptors are for others: tools, and daemons that come anew.
std::size_t most_followers() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min<rlim_t>(limit.rlim_cur / 2, kMostFollowers) : kMostFollowers;
}

// Tasks do without.
std::unique_ptr<AdapterPageWriter> make_page(const std::string& path) {
  try {
    return std::make_unique<AdapterPageWriter>(path);
  } catch (const std::runtime_error& wrong) {
    std::fprintf(stderr, "lamd: tasks are not told of adapters: %s\n", wrong.what());
    return nullptr;
  }
}

}  // namespace

AdapterServer::AdapterServer(const UniverseTable& universe, PeerLinks& links, ConnectedTools& tools,
                             const std::string& session)
    : universe_(universe),
      links_(links),
      tools_(tools),
      table_(universe, milliseconds_since_1970),
      news_(table_,
            [&links](std::uint32_t neighbour, const AdaptersMessage& message) { links.send(neighbour, message); }),
      doubts_(universe, table_,
              [this](const std::string& adapter, bool is_reachable) {
                set_own(marked(table_.own_row().adapters, adapter, is_reachable, milliseconds_since_1970()));
              }),
      // What cannot go at once is not worth waiting for: it comes again.
      forwarder_(
          universe,
          {.is_linked = [](std::uint32_t) { return true; },
           .send = [&links](std::uint32_t neighbour, const DoubtMessage& message) { links.send(neighbour, message); },
           .deliver =
               [this](const DoubtMessage& message) { doubts_.doubt(message.doubted, message.by, Clock::now()); }}),
      page_(make_page(adapter_page(session))) {
  std::string error;
  if (!kernel_.open(error)) std::fprintf(stderr, "lamd: adapters are not watched: %s\n", error.c_str());
  look(Clock::now(), false);
}

void AdapterServer::look(Time now, bool was_told) {
  look_times_.looked(now, was_told, has_ports_ ? kPortPause : kQuietPause);
  if (kernel_.descriptor() < 0) return;
  kernel_.look();
  auto seen = read_interfaces(kernel_.table());
  const auto ports = read_ports(kDevices, seen);
  has_ports_ = !ports.empty();
  seen.insert(seen.end(), ports.begin(), ports.end());
  set_own(updated(table_.own_row().adapters, seen, milliseconds_since_1970()));
}

void AdapterServer::set_own(std::vector<AdapterStatus> adapters) {
  if (!table_.set_own(std::move(adapters))) return;
  news_.changed({table_.own_row().node}, std::nullopt);
  tell_changes();
}

void AdapterServer::neighbour_linked(std::uint32_t neighbour) {
  table_.own_row();
  news_.linked(neighbour);
}

void AdapterServer::from_neighbour(std::uint32_t neighbour, const AdaptersMessage& message) {
  links_.send(neighbour, AdaptersTaken{});
  std::vector<std::uint32_t> nodes;
  for (const NodeAdapters& row : message.rows) {
    if (table_.apply(row)) nodes.push_back(row.node);
  }
  if (nodes.empty()) return;
  news_.changed(nodes, neighbour);
  tell_changes();
}

void AdapterServer::node_changed(std::uint32_t node) {
  if (!universe_.is_member(node)) news_.gone(node);
  table_.node_changed(node);
  tell_changes();
}

bool AdapterServer::take(std::uint64_t tool, const DaemonMessage& message) {
  const auto* request = std::get_if<MatrixRequest>(&message);
  if (request == nullptr) return false;
  if (request->known == table_.version()) {
    waiting_[tool] = *request;
  } else {
    answer(tool, *request);
  }
  return true;
}

void AdapterServer::answer(std::uint64_t tool, const MatrixRequest& request) {
  MatrixMessage matrix{table_.version(), 0, {}, {}};
  std::size_t bytes = 0;
  for (auto row = table_.rows().lower_bound(request.first_node); row != table_.rows().end(); ++row) {
    if (bytes >= kMatrixBytes) {
      matrix.next_node = row->first;
      break;
    }
    matrix.rows.push_back(row->second);
    bytes += size_of(row->second);
  }
  if (request.history != 0) matrix.changes.assign(table_.changes().begin(), table_.changes().end());
  tools_.answer(tool, matrix);
}

// Tools that wait for it, and tasks, that may have read nothing since they were told last.
void AdapterServer::tell_changes() {
  std::erase_if(waiting_, [this](const auto& entry) {
    const bool is_news = entry.second.known != table_.version();
    if (is_news) answer(entry.first, entry.second);
    return is_news;
  });
  if (!page_ || !page_->write(table_.rows())) return;
  for (Task& task : tasks_) {
    if (task.over || task.connection.has_outgoing()) continue;
    task.connection.send(AdaptersChanged{});
    task.over = !task.connection.flush();
  }
}

void AdapterServer::add_task(Connection connection) {
  if (tasks_.size() >= most_followers() || !page_) return;
  Task& task = tasks_.emplace_back(Task{std::move(connection)});
  task.connection.send(AdaptersChanged{});
  task.over = !task.connection.flush();
}

void AdapterServer::serve_task(Task& task) {
  task.over = !task.connection.serve();
  while (const auto bytes = task.connection.stream().next()) {
    const auto message = decode(*bytes);
    const auto* report = message ? std::get_if<PathReport>(&*message) : nullptr;
    if (report == nullptr) task.over = true;
    if (report != nullptr) take_report(*report);
  }
}

// The daemons of both ends try out their own adapter: which of the two fails, each can say of its own only.
void AdapterServer::take_report(const PathReport& report) {
  const Time now = Clock::now();
  doubts_.doubt(report.here, report.there, now);
  std::erase_if(told_doubts_, [now](const auto& entry) { return entry.second <= now; });
  if (told_doubts_.contains(report.there) || told_doubts_.size() >= kMostDoubts) return;
  const auto node = table_.node_of(report.there);
  if (!node) return;
  told_doubts_[report.there] = now + kDoubtPause;
  forwarder_.forward({*node, report.there, report.here});
}

void AdapterServer::watch(PollSet& poll_set) {
  for (Task& task : tasks_) {
    if (!task.over) poll_set.add(task.connection.fd(), task.connection.events(), [this, &task] { serve_task(task); });
  }
  doubts_.watch(poll_set);
  if (look_times_.pauses() || kernel_.descriptor() < 0) return;
  poll_set.add(kernel_.descriptor(), POLLIN, [this] { look(Clock::now(), true); });
}

void AdapterServer::tick(Time now) {
  std::erase_if(tasks_, [](const Task& task) { return task.over; });
  doubts_.tick(now);
  if (now >= look_times_.next()) look(now, false);
}

}  // namespace openlapi::daemon
