// Drives rpi modules through the life of requests as an MPI layer does (rpi SSI specification, 1.2): for tests and
// benchmarks, and to use many modules at once (5.1), by any number of threads (5.2).
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "api/rpi/host/host_request.h"
#include "api/rpi/modules/rpi_modules.h"
#include "api/rpi/services/optional_lock.h"

namespace openlapi::rpi {

// Which of the modules reaches this process.
using ModuleOfProcess = std::function<DrivenModule*(const _proc&)>;

// All functions throw SsiError if a module returns LAMERROR, or does what the specification does not allow. With
// MPI_THREAD_MULTIPLE any thread may call any function, with different requests; otherwise nothing is ever locked.
class Host {
 public:
  // One module for all processes, selected and initialised; `modules` lives longer.
  Host(const RpiModules& modules, MessageLimits limits, int thread_level);
  // Several, which live longer.
  Host(std::vector<DrivenModule*> modules, ModuleOfProcess module_of, MessageLimits limits, int thread_level);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // ---- A request's life: the caller has it until it is MPI_REQUEST_NULL ----
  MPI_Request build(const Operation& operation);
  void start(MPI_Request request);
  MPI_Request build_and_start(const Operation& operation);
  // True: it is complete, and `status` is filled; a persistent one is inactive again, another one is
  // MPI_REQUEST_NULL. MPI_ERROR is MPI_ERR_TRUNCATE if the message was longer, MPI_SOURCE is MPI_CANCEL_SOURCE if it
  // was cancelled. An inactive one is complete at once, with source MPI_ANY_SOURCE.
  bool test(MPI_Request& request, MPI_Status* status = MPI_STATUS_IGNORE);
  MPI_Status wait(MPI_Request& request);
  // Which of them is complete; -1: none is active.
  int wait_any(std::vector<MPI_Request>& requests, MPI_Status* status = MPI_STATUS_IGNORE);
  // Does nothing unless it can still be cancelled; it is to be waited for in any case.
  void cancel(MPI_Request request);
  // One that is active goes when it is done; its buffer must stay until then.
  void free(MPI_Request& request);

  // ---- Whole operations ----
  MPI_Status run(Operation operation);  // blocking
  // True: there is such a message.
  bool iprobe(MPI_Comm comm, int source, int tag, MPI_Status* status);
  MPI_Status probe(MPI_Comm comm, int source, int tag);
  // Lets modules work. True: some request's state has changed.
  bool progress();
  // All processes call it: nothing is on its way between them until they call one of the next two (4.16 to 4.18).
  void checkpoint();
  void go_on();
  // All paths are made anew.
  void restart();
  // Requests that were freed and are not done yet.
  std::size_t orphans() const;

 private:
  [[noreturn]] static void fail(const DrivenModule& module, const char* function);
  static void build_in(DrivenModule& module, HostRequest& request);
  static void start_in(DrivenModule& module, HostRequest& request);
  DrivenModule& module_of(const HostRequest& request) const;
  void start_parts(HostRequest& whole);
  bool run_fast(const Operation& operation, MPI_Status& status);
  DrivenModule* probed_module(const lam_ssi_rpi_envl& wanted);
  static bool has_part(const HostRequest& whole, const DrivenModule& module);
  void start_part(HostRequest& whole, DrivenModule& module);
  void settle(HostRequest& whole);
  void settle_all();
  void end_parts(HostRequest& whole);
  bool advance(bool may_block);
  bool probe_parts(HostRequest& probe);
  bool probe_in(DrivenModule& module, HostRequest& probe);
  void complete(MPI_Request& request, MPI_Status* status);
  void for_each_module(const char* function, lam_ssi_rpi_checkpoint_fn_t lam_ssi_rpi_actions_1_1_0_t::*member);
  void leave_lists(HostRequest& request);
  void end_life(HostRequest* request);
  void collect_orphans();
  bool may_block() const { return modules_.size() == 1 && !mutex_.is_used(); }

  std::unique_ptr<DrivenModule> only_{};
  std::vector<DrivenModule*> modules_;
  ModuleOfProcess module_of_;
  MessageLimits limits_;
  mutable OptionalMutex mutex_{};
  std::vector<HostRequest*> divided_{}, orphans_{};
  // What the last probe of several modules has found with a module that keeps its messages out of the common queue, by
  // context id: the next receive that asks for it has it.
  struct Probed {
    DrivenModule* module = nullptr;
    lam_ssi_rpi_envl envelope{};
  };
  std::unordered_map<int, Probed> probed_{};
};

}  // namespace openlapi::rpi
