#include "control/daemon/service/daemon.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "control/base/deadline.h"

namespace openlapi::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kFarewellTime{2};  // for the last messages to go

}  // namespace

Daemon::Daemon(UniverseTable table, SessionFolder& session, DaemonSetup setup)
    : table_(std::move(table)),
      session_(session),
      signals_(std::move(setup.signals)),
      agent_(std::move(setup.agent)),
      tools_(table_),
      membership_(table_, *this, Clock::now, setup.joins),
      links_(setup.key, table_, std::move(setup.peer_listener), setup.promiscuous, membership_, *this),
      jobs_(table_, links_, session.path()),
      networks_(table_, links_, jobs_, tools_),
      adapters_(table_, links_, tools_, session.path()),
      changes_(table_, membership_, setup.key, setup.promiscuous,
               [this](std::uint64_t tool, const DaemonMessage& message) { tools_.answer(tool, message); }),
      tool_server_(std::move(setup.tool_listener), tools_, {membership_, changes_, jobs_, networks_, adapters_}) {}

void Daemon::node_lost(std::uint32_t node) {
  std::fprintf(stderr, "lamd: the daemon of n%u (%s) is lost\n", node, table_.nodes()[node].host.c_str());
  // Perhaps it is this side that is cut off; the other one then takes this daemon for lost, and must not add another
  // beside it.
  if (node == table_.origin()) session_.leave_universe();
}

// Lost, or removed by lamshrink: its helpers end in any case.
void Daemon::node_changed(std::uint32_t node) {
  changes_.node_changed(node);
  adapters_.node_changed(node);
  if (table_.is_member(node)) return;
  jobs_.node_lost(node);
  networks_.node_lost(node);
}

// The folder goes before anybody hears of the end, so that nothing is left when a tool has its answer.
void Daemon::ended(const std::set<std::uint32_t>& nodes, const std::set<std::uint32_t>& silent) {
  if (nodes.empty())
    std::fprintf(stderr,
                 "lamd: the other daemons take this one for lost, or do not come, or lamboot has ended: it ends\n");
  cut_off_ = nodes.empty();
  over_ = true;
  session_.remove();
  tools_.halted(nodes, silent);
}

void Daemon::take_signals() {
  signalfd_siginfo info{};
  if (read(signals_.get(), &info, sizeof info) == sizeof info) over_ = true;
}

// Nothing comes from it but its end. A linked daemon needs it no more.
void Daemon::watch_agent(PollSet& poll_set) {
  if (!membership_.needs_agent()) agent_.reset();
  if (!agent_.is_open()) return;
  poll_set.add(agent_.get(), POLLIN, [this] {
    agent_.reset();
    membership_.agent_gone();
  });
}

void Daemon::wait_once(std::optional<Time> limit) {
  PollSet poll_set;
  poll_set.add(signals_.get(), POLLIN, [this] { take_signals(); });
  watch_agent(poll_set);
  links_.watch(poll_set);
  tool_server_.watch(poll_set);
  jobs_.watch(poll_set);
  networks_.watch(poll_set);
  adapters_.watch(poll_set);
  poll_set.wait(milliseconds_until(limit));
  const Time now = Clock::now();
  membership_.tick(now);
  links_.tick(now);
  jobs_.tick();
  if (!jobs_.is_ending()) networks_.jobs_ended();
  networks_.tick(now);
  adapters_.tick(now);
  tool_server_.tick();
}

void Daemon::run() {
  membership_.start();
  while (!over_) {
    wait_once(earliest({membership_.deadline(), links_.deadline(), tool_server_.deadline(), jobs_.deadline(),
                        networks_.deadline(), adapters_.deadline()}));
  }
  if (!cut_off_) jobs_.end_helpers();
  session_.remove();
  const Time farewell = Clock::now() + kFarewellTime;
  while ((links_.has_outgoing() || tools_.has_outgoing()) && Clock::now() < farewell) wait_once(farewell);
}

}  // namespace openlapi::daemon
