#include "control/boot/algorithms/boot_run.h"

#include <algorithm>

#include "control/boot/errors/boot_error.h"
#include "control/boot/nodes/node_array.h"

namespace openlapi::boot {
namespace {

// What a report may fill in.
bool same_report(const lamnode& left, const lamnode& right) {
  return left.lnd_bootport == right.lnd_bootport && left.lnd_type == right.lnd_type &&
         left.lnd_ncpus == right.lnd_ncpus && left.lnd_addr.sin_port == right.lnd_addr.sin_port &&
         left.lnd_addr.sin_addr.s_addr == right.lnd_addr.sin_addr.s_addr && left.lnd_ssi == right.lnd_ssi;
}

void take_report(lamnode& node, const lamnode& report) {
  node.lnd_bootport = report.lnd_bootport;
  node.lnd_ncpus = report.lnd_ncpus;
  node.lnd_addr = report.lnd_addr;
  node.lnd_ssi = report.lnd_ssi;
}

}  // namespace

std::vector<int> nodes_to_boot(const BootRequest& request) {
  std::vector<int> indices;
  for (int n = 0; n < request.count; ++n) {
    if (is_to_be_booted(request.nodes[n])) indices.push_back(n);
  }
  return indices;
}

BootRun::BootRun(const BootRequest& request, NodeOperations& operations)
    : BootRun(request, operations, nodes_to_boot(request)) {}

BootRun::BootRun(const BootRequest& request, NodeOperations& operations, std::vector<int> only)
    : request_(request),
      operations_(operations),
      to_boot_(std::move(only)),
      states_(static_cast<std::size_t>(request.count), State::kNotToBoot),
      was_launched_(static_cast<std::size_t>(request.count)),
      reports_(request.startup_protocol ? static_cast<std::size_t>(request.count) : 0) {
  for (const int n : to_boot_) {
    state_of(n) = State::kWaiting;
    // A daemon's port, and so a report, is never 0.
    if (request_.startup_protocol) node(n).lnd_bootport = 0;
  }
}

bool BootRun::begin() {
  server_open_ = !needs_reports() || to_boot_.empty() || operations_.open_server(request_.nodes, request_.count);
  return server_open_;
}

bool BootRun::run_launch(int index) { return operations_.start(node(index), request_.which); }

void BootRun::end_launch(int index, bool launched) {
  was_launched_[static_cast<std::size_t>(index)] = launched;
  if (!launched) {
    fail(index);
  } else if (!needs_reports()) {
    set_started(index);
  } else if (state_of(index) == State::kReportedEarly) {
    take(index, reports_[static_cast<std::size_t>(index)]);
  } else {
    state_of(index) = State::kLaunched;
    ++awaited_;
  }
}

void BootRun::launch(int index) {
  prepare_launch(index);
  end_launch(index, run_launch(index));
}

BootRun::Wait BootRun::prepare_receive(bool early) const {
  Wait wait;
  for (const int index : to_boot_) {
    const State state = state_of(index);
    const bool not_launched = state == State::kWaiting || state == State::kLaunching;
    if (state == State::kLaunched) wait.awaited.push_back(index);
    if (state == State::kLaunched || (early && not_launched)) wait.before.push_back(node(index));
  }
  wait.after = wait.before;
  return wait;
}

bool BootRun::run_receive(Wait& wait) {
  return operations_.receive(wait.after.data(), static_cast<int>(wait.after.size()));
}

// The index of the node that reported; -1: the module did not say.
int BootRun::find_reporter(const Wait& wait) const {
  for (std::size_t n = 0; n < wait.before.size(); ++n) {
    if (wait.before.size() > 1 && same_report(wait.before[n], wait.after[n])) continue;
    const auto found =
        std::ranges::find_if(to_boot_, [&](int index) { return node(index).lnd_nodeid == wait.before[n].lnd_nodeid; });
    if (found != to_boot_.end()) return *found;
  }
  print_error("the boot module received a report and did not say of which node");
  return -1;
}

void BootRun::give_up(const Wait& wait) {
  for (const int index : wait.awaited) {
    if (state_of(index) != State::kLaunched) continue;
    print_error("node " + name_of(node(index)) + ": started, but its daemon did not report");
    --awaited_;
    fail(index);
  }
}

void BootRun::end_receive(const Wait& wait, bool heard) {
  const int reporter = heard ? find_reporter(wait) : -1;
  if (reporter < 0) return give_up(wait);
  const auto report = std::ranges::find_if(
      wait.after, [&](const lamnode& after) { return after.lnd_nodeid == node(reporter).lnd_nodeid; });
  if (state_of(reporter) == State::kLaunched) {
    --awaited_;
    take(reporter, *report);
  } else if (state_of(reporter) == State::kLaunching) {
    // Its node is in use by the agent that launches it.
    state_of(reporter) = State::kReportedEarly;
    reports_[static_cast<std::size_t>(reporter)] = *report;
  }
}

void BootRun::receive() {
  Wait wait = prepare_receive(false);
  const bool heard = run_receive(wait);
  end_receive(wait, heard);
}

void BootRun::set_started(int index) {
  state_of(index) = State::kStarted;
  node(index).lnd_type &= ~NT_BOOT;
}

void BootRun::fail(int index) {
  state_of(index) = State::kFailed;
  node(index).lnd_type |= NT_BOOT;
}

void BootRun::take(int index, const lamnode& report) {
  if (report.lnd_bootport == kDaemonEnded) {
    // Nothing of this boot is left to be ended there, but the universe may be for whose sake the daemon was refused.
    was_launched_[static_cast<std::size_t>(index)] = false;
    return fail(index);
  }
  take_report(node(index), report);
  set_started(index);
}

bool BootRun::all_started() const {
  return std::ranges::all_of(to_boot_, [&](int index) { return state_of(index) == State::kStarted; });
}

bool BootRun::tell_universe(lamnode* universe, int count) {
  for (int n = 0; n < count; ++n) {
    const auto found =
        std::ranges::find_if(to_boot_, [&](int index) { return node(index).lnd_nodeid == universe[n].lnd_nodeid; });
    if (found != to_boot_.end() && !operations_.send_universe(universe, count, n)) fail(*found);
  }
  return all_started();
}

bool BootRun::close() {
  if (needs_reports() && server_open_ && !to_boot_.empty() && !operations_.close_server()) return false;
  return all_started();
}

void BootRun::end_launched() {
  for (const int index : to_boot_) {
    if (!was_launched_[static_cast<std::size_t>(index)]) continue;
    const bool was_started = state_of(index) == State::kStarted;
    if (!operations_.start(node(index), LAM_SSI_BOOT_PROC_WIPE)) continue;
    fail(index);
    if (was_started) node(index).lnd_type |= NT_ENDED;
  }
}

BootReport BootRun::finish() {
  BootReport report;
  report.complete = close();
  if (report.complete && needs_reports()) report.complete = tell_universe(request_.nodes, request_.count);
  if (!report.complete && request_.clean_up && request_.which == LAM_SSI_BOOT_PROC_LAMD) end_launched();
  report.started =
      static_cast<int>(std::ranges::count_if(to_boot_, [&](int index) { return state_of(index) == State::kStarted; }));
  return report;
}

}  // namespace openlapi::boot
