// lam_ssi_boot_base_run_helper: what lamtree, the helper of the tree algorithm, does on an interior node.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <system_error>
#include <thread>

#include "control/base/fork_failure.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/interface/topology_origin.h"
#include "control/boot/modules/module_operations.h"
#include "control/boot/startup/boot_key.h"
#include "control/boot/startup/dropped_connections.h"
#include "control/boot/startup/startup_messages.h"
#include "control/boot/startup/startup_protocol.h"
#include "control/boot/tree/tree_link.h"
#include "control/ssi/kept_errors.h"
#include "dataplane/base/byte_codec.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::boot {
namespace {

constexpr std::chrono::seconds kCallTime{60};
constexpr int kSignMilliseconds = 1000;  // often enough for HelperSubtree

// A process at the limit of its user's threads, or without room for a stack.
template <typename Work>
std::jthread start_thread(Work work) {
  try {
    return std::jthread(work);
  } catch (const std::system_error& error) {
    throw BootError("a helper of the tree algorithm boots none of its nodes, as its thread cannot be started: " +
                    fork_failure(error.code().value()) + memory_limit());
  }
}

// While a helper boots it hears nothing from its parent: it ends with it all the same, at once, and with it the
// connections of its daemons and helpers, which end in turn. And it has nothing to tell yet: its parent, who does not
// wait for a helper that is stopped, gets signs of life.
class EndWithParent {
 public:
  explicit EndWithParent(TreeLink& parent)
      : stop_(eventfd(0, EFD_CLOEXEC)), watcher_(start_thread([this, &parent] { watch(parent); })) {}
  ~EndWithParent() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
  }
  EndWithParent(const EndWithParent&) = delete;
  EndWithParent& operator=(const EndWithParent&) = delete;

 private:
  void watch(TreeLink& parent) const {
    pollfd waits[] = {{parent.socket(), POLLRDHUP, 0}, {stop_.get(), POLLIN, 0}};
    int ready = 0;
    while ((ready = poll(waits, 2, kSignMilliseconds)) <= 0) {
      ssi::trim_kept_errors();
      if (ready == 0 && !parent.send_sign_of_life()) _exit(1);
    }
    if (waits[1].revents == 0) _exit(1);
  }

  FileDescriptor stop_;
  std::jthread watcher_;  // ends before stop_
};

TreeLink call_parent(OPT* args) {
  StartupBytes hello;
  append_number(hello, node_id_of(args));
  return TreeLink(send_startup_message(agent_of(args), boot_key(), StartupKind::kTree,
                                       std::chrono::steady_clock::now() + kCallTime, nullptr, [&] { return hello; }));
}

// The module as in the booting agent, with the nodes of this subtree: the first one is here, and daemons report here.
const lam_ssi_boot_actions_1_1_0_t& prepare_module(OPT* args, TreeJobWithNodes& job) {
  if (lam_ssi_boot_open(args) != 0 || lam_ssi_boot_select(LAM_SSI_BOOT_LOCATION_INTERIOR) != 0) {
    throw BootError("a helper of the tree algorithm has no boot module");
  }
  const lam_ssi_boot_actions_1_1_0_t* actions = lam_ssi_boot_selected_actions();
  for (int n = 0; n < job.nodes.count(); ++n) {
    lamnode& node = job.nodes[static_cast<std::size_t>(n)];
    node.lnd_type &= ~(NT_ME | NT_ORIGIN);
    if (n == 0) node.lnd_type |= NT_ME | NT_ORIGIN;
  }
  set_topology_origin(job.job.origin);
  if (actions->lsba_verify_nodes(&job.nodes[0], job.nodes.count()) != 0 || actions->lsba_prepare_boot() != 0) {
    throw BootError("a helper of the tree algorithm cannot use its nodes");
  }
  return *actions;
}

std::vector<NodeReport> reports_of_job(TreeJobWithNodes& job) {
  return reports_of({&job.nodes[0], &job.nodes[0] + job.nodes.count()});
}

void tell(TreeLink& link, TreeBoot& boot, TreeJobWithNodes& job) {
  const auto message = link.receive();
  auto universe = message ? decode_universe(*message) : std::nullopt;
  // Some node has failed: its daemons end by themselves, or are ended.
  if (!universe) return;
  std::vector<NodeReport> reports = reports_of_job(job);
  for (int n = 0; n < universe->count(); ++n) {
    lamnode& node = (*universe)[static_cast<std::size_t>(n)];
    for (const NodeReport& report : reports) {
      if (report.node_id == node.lnd_nodeid) node.lnd_bootport = report.boot_port;
    }
  }
  // Whatever fails here, the lines about it go with the answer.
  const bool could_tell = universe->count() == 0 || catch_errors(false, [&] {
                            const EndWithParent end_with_parent(link);
                            boot.tell_universe(&(*universe)[0], universe->count());
                            return true;
                          });
  report_dropped_connections();
  std::vector<int> told;
  for (const NodeReport& report : reports_of_job(job)) {
    if (could_tell && report.started) told.push_back(report.node_id);
  }
  link.send(encode_told(told, ssi::take_kept_errors()));
}

int run_helper(OPT* args) {
  ssi::keep_errors();
  TreeLink link = call_parent(args);
  const auto message = link.receive();
  auto job = message ? decode_job(*message) : std::nullopt;
  if (!job) return LAMERROR;
  std::optional<EndWithParent> end_with_parent;
  std::optional<TreeBoot> boot;
  std::optional<ModuleOperations> operations;
  // Whatever fails here, the lines about it reach the booting agent with the reports.
  const int status = catch_errors(LAMERROR, [&] {
    end_with_parent.emplace(link);
    const auto& actions = prepare_module(args, *job);
    const BootRequest request{&job->nodes[0], job->nodes.count(), job->job.startup_protocol, job->job.which, false};
    operations.emplace(actions, request, job->job.origin);
    boot.emplace(request, *operations, job->job.shape);
    boot->gather();
    return 0;
  });
  // From here on it waits for its parent itself.
  end_with_parent.reset();
  report_dropped_connections();
  if (!link.send(encode_reports(reports_of_job(*job), ssi::take_kept_errors())) || status != 0) return LAMERROR;
  if (job->job.startup_protocol) tell(link, *boot, *job);
  boot.reset();
  lam_ssi_boot_close();
  return 0;
}

}  // namespace
}  // namespace openlapi::boot

int lam_ssi_boot_base_run_helper(OPT* args) {
  return openlapi::boot::catch_errors(LAMERROR, [&] { return openlapi::boot::run_helper(args); });
}
