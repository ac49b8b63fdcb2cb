// The calls of modules. A request for MPI_ANY_SOURCE that several modules may serve has a part in each; the first part
// that a module gives a message to is the request's, and the others are cancelled before another module is called.
// Modules give messages to requests only while they are called, so that there is never a second one.
#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/rpi/host/host.h"
#include "control/ssi/ssi_error.h"

namespace openlapi::rpi {

void Host::fail(const DrivenModule& module, const char* function) {
  throw ssi::SsiError("rpi module " + module.name + ": lsra_" + function + " failed");
}

void Host::build_in(DrivenModule& module, HostRequest& request) {
  if (module.actions.lsra_build(&request) != 0) fail(module, "build");
}

void Host::start_in(DrivenModule& module, HostRequest& request) {
  if (module.actions.lsra_start(module.top, &request) != 0) fail(module, "start");
}

void Host::start_parts(HostRequest& whole) {
  // What a probe has named comes first; other messages that have come lie in one queue: the oldest is its module's. A
  // cancelled send's is dropped when its module looks for one.
  lam_ssi_rpi_envl wanted = {0, whole.rq_tag, 0, MPI_ANY_SOURCE, whole.rq_cid, 0};
  if (DrivenModule* module = probed_module(wanted)) {
    probed_.erase(whole.rq_cid);
    start_part(whole, *module);
    if (whole.rq_state != LAM_RQSSTART) return;
  }
  while (lam_ssi_rpi_cbuf_msg* message = lam_ssi_rpi_cbuf_find(&wanted)) {
    DrivenModule* module = module_of_(*message->cm_proc);
    if (module == nullptr || has_part(whole, *module)) break;
    start_part(whole, *module);
    if (whole.rq_state != LAM_RQSSTART) return;
  }
  for (DrivenModule* module : modules_) {
    if (!has_part(whole, *module)) start_part(whole, *module);
    if (whole.rq_state != LAM_RQSSTART) return;
  }
}

// nullptr: none has named what is asked for.
DrivenModule* Host::probed_module(const lam_ssi_rpi_envl& wanted) {
  const auto found = probed_.find(wanted.ce_cid);
  if (found == probed_.end()) return nullptr;
  lam_ssi_rpi_envl asked = wanted;
  return lam_ssi_rpi_envl_cmp(&found->second.envelope, &asked) == 0 ? found->second.module : nullptr;
}

bool Host::has_part(const HostRequest& whole, const DrivenModule& module) {
  for (const auto& part : whole.parts) {
    if (part->module == &module) return true;
  }
  return false;
}

void Host::start_part(HostRequest& whole, DrivenModule& module) {
  auto made = std::make_unique<HostRequest>(whole);
  build_in(module, *made);
  HostRequest& part = *whole.parts.emplace_back(std::move(made));
  part.module = &module;
  part.is_started = true;
  module.add(part);
  start_in(module, part);
  settle_all();
}

void Host::settle(HostRequest& whole) {
  HostRequest* winner = nullptr;
  for (const auto& part : whole.parts) {
    if (part->rq_state == LAM_RQSSTART) continue;
    if (winner != nullptr) {
      throw ssi::SsiError("rpi modules " + winner->module->name + " and " + part->module->name +
                          " have both given a message to one request");
    }
    winner = part.get();
  }
  if (winner == nullptr) return;
  whole.take_over(*winner);
  std::unique_ptr<HostRequest> kept;
  for (auto& part : whole.parts) {
    if (part.get() == winner) kept = std::move(part);
  }
  std::erase(whole.parts, nullptr);
  end_parts(whole);
  whole.parts.push_back(std::move(kept));
  if (whole.rq_state == LAM_RQSDONE) end_parts(whole);
}

void Host::settle_all() {
  for (HostRequest* whole : divided_) {
    if (whole->is_active()) settle(*whole);
  }
}

void Host::end_parts(HostRequest& whole) {
  for (auto& part : std::exchange(whole.parts, {})) {
    if (part->rq_state == LAM_RQSSTART) part->rq_flags |= LAM_RQFCANCEL;
    part->rq_state = LAM_RQSDONE;
    end_life(part.release());
  }
}

bool Host::advance(bool may_block) {
  bool changed = false;
  for (DrivenModule* module : modules_) {
    if (module->top == nullptr) continue;
    const int result = module->actions.lsra_advance(module->top, may_block ? 1 : 0);
    if (result < 0) fail(*module, "advance");
    changed = changed || result > 0;
    settle_all();
  }
  for (std::size_t n = 0; n < divided_.size(); ++n) {
    HostRequest& probe = *divided_[n];
    if (probe.rq_type == LAM_RQIPROBE && probe.is_active() && probe_parts(probe)) {
      probe.rq_state = LAM_RQSDONE;
      changed = true;
    }
  }
  collect_orphans();
  return changed;
}

bool Host::iprobe(MPI_Comm comm, int source, int tag, MPI_Status* status) {
  HostRequest probe({.type = LAM_RQIPROBE, .peer = source, .tag = tag, .comm = comm}, limits_.tag);
  const std::lock_guard lock(mutex_);
  advance(false);
  bool found = source == MPI_PROC_NULL;
  probe.rq_status = {MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0};
  if (source == MPI_ANY_SOURCE) {
    found = probe_parts(probe);
  } else if (!found) {
    found = probe_in(module_of(probe), probe);
  }
  if (found && status != MPI_STATUS_IGNORE) *status = probe.rq_status;
  return found;
}

// In the order in which a receive asks for it.
bool Host::probe_parts(HostRequest& probe) {
  std::vector<DrivenModule*> order;
  const auto add = [&](DrivenModule* module) {
    if (std::ranges::find(order, module) == order.end()) order.push_back(module);
  };
  lam_ssi_rpi_envl wanted = {0, probe.rq_tag, 0, MPI_ANY_SOURCE, probe.rq_cid, 0};
  if (DrivenModule* module = probed_module(wanted)) add(module);
  const lam_ssi_rpi_cbuf_msg* oldest = lam_ssi_rpi_cbuf_find(&wanted);
  if (DrivenModule* module = oldest == nullptr ? nullptr : module_of_(*oldest->cm_proc)) add(module);
  std::ranges::for_each(modules_, add);
  for (DrivenModule* module : order) {
    if (!probe_in(*module, probe)) continue;
    const bool is_kept_apart = module->actions.lsra_tv_queue_support == 0;  // others' messages are not older than its
    probed_.erase(probe.rq_cid);
    if (is_kept_apart) {
      const MPI_Status& status = probe.rq_status;
      probed_[probe.rq_cid] = {module, {0, status.MPI_TAG, 0, status.MPI_SOURCE, probe.rq_cid, 0}};
    }
    return true;
  }
  return false;
}

// A probe is not in the module's list: it is built, started, asked for and destroyed at once.
bool Host::probe_in(DrivenModule& module, HostRequest& probe) {
  HostRequest part(probe);
  part.rq_state = LAM_RQSSTART;
  part.rq_flags = 0;
  build_in(module, part);
  const int started = module.actions.lsra_start(module.top, &part);
  const int result = started != 0 ? LAMERROR : part.rq_state == LAM_RQSDONE ? 1 : module.actions.lsra_iprobe(&part);
  const int destroyed = module.actions.lsra_destroy(&part);
  if (result < 0 || destroyed != 0) fail(module, "iprobe");
  if (result == 1) probe.rq_status = part.rq_status;
  settle_all();
  return result == 1;
}

MPI_Status Host::probe(MPI_Comm comm, int source, int tag) {
  return run({.type = LAM_RQIPROBE, .peer = source, .tag = tag, .comm = comm});
}

}  // namespace openlapi::rpi
