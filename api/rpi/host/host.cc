#include "api/rpi/host/host.h"

#include <algorithm>
#include <string>
#include <thread>

#include "control/ssi/ssi_error.h"

namespace openlapi::rpi {
namespace {

DrivenModule driven(const RpiModules& modules) {
  if (modules.actions() == nullptr) throw ssi::SsiError("no rpi module is initialised");
  return {.name = modules.name(), .actions = *modules.actions()};
}

constexpr MPI_Status kInactive = {MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS, 0};

}  // namespace

Host::Host(const RpiModules& modules, MessageLimits limits, int thread_level)
    : only_(std::make_unique<DrivenModule>(driven(modules))),
      modules_{only_.get()},
      module_of_([this](const _proc&) { return only_.get(); }),
      limits_(limits) {
  mutex_.use(thread_level == MPI_THREAD_MULTIPLE);
  share_unexpected_messages(mutex_.is_used());
  lam_seqnum = 0;
}

Host::Host(std::vector<DrivenModule*> modules, ModuleOfProcess module_of, MessageLimits limits, int thread_level)
    : modules_(std::move(modules)), module_of_(std::move(module_of)), limits_(limits) {
  mutex_.use(thread_level == MPI_THREAD_MULTIPLE);
  share_unexpected_messages(mutex_.is_used());
  lam_seqnum = 0;
}

Host::~Host() {
  for (HostRequest* orphan : orphans_) end_life(orphan);
  share_unexpected_messages(false);
}

DrivenModule& Host::module_of(const HostRequest& request) const {
  DrivenModule* module = module_of_(*request.rq_proc);
  if (module != nullptr) return *module;
  throw ssi::SsiError("no rpi module reaches rank " + std::to_string(request.rq_rank));
}

MPI_Request Host::build(const Operation& operation) {
  auto request = std::make_unique<HostRequest>(operation, limits_.tag);
  request->rq_marks |= LAM_RQFDYNREQ;
  const std::lock_guard lock(mutex_);
  if (request->rq_proc != nullptr) {
    request->module = &module_of(*request);
  } else if (request->rq_rank == MPI_ANY_SOURCE && modules_.size() == 1) {
    request->module = modules_.front();
  }
  if (request->module != nullptr) build_in(*request->module, *request);
  return request.release();
}

void Host::start(MPI_Request handle) {
  const std::lock_guard lock(mutex_);
  HostRequest& request = host_part(handle);
  if (request.is_started) throw ssi::SsiError("a request is started that is active");
  request.rq_flags = 0;
  request.rq_status = kInactive;
  if (request.rq_rank == MPI_ANY_SOURCE) request.rq_proc = nullptr;  // a module may have set it
  if (request.is_send()) {
    request.rq_seq = lam_seqnum++;
    request.pack();
  }
  request.is_started = true;
  request.rq_state = LAM_RQSSTART;
  if (request.module != nullptr) {
    request.module->add(request);
    start_in(*request.module, request);
    settle_all();
  } else if (request.is_divided()) {
    divided_.push_back(&request);
    if (request.rq_type != LAM_RQIPROBE) start_parts(request);
  } else {
    request.rq_status.MPI_SOURCE = MPI_PROC_NULL;
    request.rq_state = LAM_RQSDONE;
  }
}

MPI_Request Host::build_and_start(const Operation& operation) {
  MPI_Request request = build(operation);
  start(request);
  return request;
}

bool Host::test(MPI_Request& request, MPI_Status* status) {
  const std::lock_guard lock(mutex_);
  if (request != MPI_REQUEST_NULL && host_part(request).is_active()) advance(false);
  if (request != MPI_REQUEST_NULL && host_part(request).is_active()) return false;
  complete(request, status);
  return true;
}

MPI_Status Host::wait(MPI_Request& request) {
  MPI_Status status{};
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      while (request != MPI_REQUEST_NULL && host_part(request).is_active()) {
        host_part(request).rq_flags |= LAM_RQFBLOCK;
        if (!advance(may_block())) break;
      }
      if (request == MPI_REQUEST_NULL || !host_part(request).is_active()) {
        complete(request, &status);
        return status;
      }
    }
    std::this_thread::yield();  // somebody else's turn
  }
}

int Host::wait_any(std::vector<MPI_Request>& requests, MPI_Status* status) {
  for (;;) {
    bool is_any_active = false;
    for (std::size_t n = 0; n < requests.size(); ++n) {
      if (requests[n] == MPI_REQUEST_NULL || !host_part(requests[n]).is_started) continue;
      is_any_active = true;
      if (test(requests[n], status)) return static_cast<int>(n);
    }
    if (!is_any_active) return -1;
    std::this_thread::yield();
  }
}

void Host::cancel(MPI_Request handle) {
  const std::lock_guard lock(mutex_);
  HostRequest& request = host_part(handle);
  if (!request.is_started || request.rq_state != LAM_RQSSTART) return;
  request.rq_flags |= LAM_RQFCANCEL;
  request.rq_state = LAM_RQSDONE;
  end_parts(request);
}

void Host::free(MPI_Request& handle) {
  const std::lock_guard lock(mutex_);
  HostRequest* request = &host_part(handle);
  handle = MPI_REQUEST_NULL;
  if (!request->is_active()) return end_life(request);
  request->rq_flags |= LAM_RQFORPHAN;
  orphans_.push_back(request);
}

MPI_Status Host::run(Operation operation) {
  MPI_Status status{};
  if (run_fast(operation, status)) return status;
  operation.marks |= LAM_RQFBLKTYPE;
  MPI_Request request = build_and_start(operation);
  return wait(request);
}

bool Host::progress() {
  const std::lock_guard lock(mutex_);
  return advance(false);
}

std::size_t Host::orphans() const {
  const std::lock_guard lock(mutex_);
  return orphans_.size();
}

void Host::complete(MPI_Request& handle, MPI_Status* status) {
  MPI_Status result = kInactive;
  if (handle != MPI_REQUEST_NULL && host_part(handle).is_started) {
    HostRequest& request = host_part(handle);
    if (!request.is_send() && request.rq_type != LAM_RQIPROBE) request.unpack();
    result = request.rq_status;
    if ((request.rq_flags & LAM_RQFTRUNC) != 0) result.MPI_ERROR = MPI_ERR_TRUNCATE;
    if ((request.rq_flags & LAM_RQFCANCEL) != 0) result.MPI_SOURCE = MPI_CANCEL_SOURCE;
    leave_lists(request);
    request.rq_state = LAM_RQSINIT;
    if (!request.is_persistent()) {
      end_life(&request);
      handle = MPI_REQUEST_NULL;
    }
  }
  if (status != MPI_STATUS_IGNORE) *status = result;
}

void Host::leave_lists(HostRequest& request) {
  if (!request.is_started) return;
  request.is_started = false;
  if (request.module != nullptr) {
    request.module->remove(request);
  } else {
    end_parts(request);
    std::erase(divided_, &request);
  }
}

void Host::end_life(HostRequest* request) {
  const std::unique_ptr<HostRequest> ended(request);
  leave_lists(*ended);
  if (ended->module == nullptr) return;
  if (ended->module->actions.lsra_destroy(request) != 0) fail(*ended->module, "destroy");
}

void Host::collect_orphans() {
  for (std::size_t n = 0; n < orphans_.size();) {
    HostRequest* orphan = orphans_[n];
    if (orphan->is_active()) {
      ++n;
      continue;
    }
    orphans_[n] = orphans_.back();
    orphans_.pop_back();
    if (!orphan->is_send()) orphan->unpack();
    end_life(orphan);
  }
}

// ---- Checkpoints (4.16 to 4.18) ----

// The three functions have one type.
void Host::for_each_module(const char* function, lam_ssi_rpi_checkpoint_fn_t lam_ssi_rpi_actions_1_1_0_t::*member) {
  const std::lock_guard lock(mutex_);
  for (const DrivenModule* module : modules_) {
    if (module->actions.*member == nullptr) throw ssi::SsiError("rpi module " + module->name + " has no checkpoints");
  }
  for (const DrivenModule* module : modules_) {
    if ((module->actions.*member)() != 0) fail(*module, function);
    settle_all();
  }
}

void Host::checkpoint() { for_each_module("checkpoint", &lam_ssi_rpi_actions_1_1_0_t::lsra_checkpoint); }
void Host::go_on() { for_each_module("continue", &lam_ssi_rpi_actions_1_1_0_t::lsra_continue); }
void Host::restart() { for_each_module("restart", &lam_ssi_rpi_actions_1_1_0_t::lsra_restart); }

}  // namespace openlapi::rpi
