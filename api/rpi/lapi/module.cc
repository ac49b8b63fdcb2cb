// The rpi module `lapi` for LAM/MPI 7.1 (interface 1.1.0): MPI's messages over openlapi's transports.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#define LAM_SSI_RPI_1_1_0
#include "api/lock/context_lock.h"
#include "api/rpi/lapi/aligned_calls.h"
#include "api/rpi/lapi/arena_locks.h"
#include "api/rpi/lapi/cancel_calls.h"
#include "api/rpi/lapi/checkpoint.h"
#include "api/rpi/lapi/endpoint_world.h"
#include "api/rpi/lapi/fast_messages.h"
#include "api/rpi/lapi/joined_worlds.h"
#include "api/rpi/lapi/lam_host.h"
#include "api/rpi/lapi/lam_layer.h"
#include "api/rpi/lapi/lam_messages.h"
#include "api/rpi/lapi/process_group.h"
#include "api/rpi/lapi/request_engine.h"
#include "api/rpi/lapi/transfer_memory.h"

namespace openlapi::rpi {

namespace {

constexpr int kPriority = 80;      // LAM's own have 75 at most
constexpr int kMostShort = 16384;  // bytes of a message that goes with its envelope
constexpr int kProgress = 0;       // 1: a thread goes on while the program is in no call
constexpr int kTimeout = 900, kLeastTimeout = 10, kLongestTimeout = 86400;  // seconds without an answer
constexpr int kSilence = 60;                                                // of the peer's host as well

JoinedWorlds::Open over_transports(const LostAfter& after) {
  return [after](JoinedJob& job, std::span<const WorldProcess> group, WorldListener& listener, std::string& reason) {
    return open_endpoint_world(job, group, after, listener, reason);
  };
}

void call_meanwhile(void (*function)());

// From init to finalize.
struct Running {
  // Null lock: no thread goes on while the program is in no call.
  Running(std::size_t most_short, const LostAfter& lost_after, ContextLock* lock)
      : engine(layer, most_short),
        open(over_transports(lost_after)),
        lock(lock),
        worlds(std::make_unique<JoinedWorlds>(engine, open, lock)) {}

  LamLayer layer{call_meanwhile};
  RequestEngine engine;
  const JoinedWorlds::Open open;
  ContextLock* const lock;
  CancelCalls cancels{};
  std::vector<_proc*> processes{};  // by Peer; null: it was finalised
  std::vector<JoinedGroup> groups{};
  std::unique_ptr<JoinedWorlds> worlds;  // ends before the engine that it calls
  FastMessages fast{engine, layer};
  bool is_quiet = false;  // from a checkpoint on, until the job goes on or is restarted
};

struct Parameters {
  int priority = LAMERROR, most_short = LAMERROR, timeout = LAMERROR, silence = LAMERROR, progress = LAMERROR;
};

Parameters parameters;
Running* running = nullptr;

ContextLock thread_lock;  // of all that runs, while there is a thread

// Inside a call, for others who call the module: they may move messages, which the call looks for afterwards.
class Suspended {
 public:
  Suspended() : lock_(running->lock) {
    if (lock_ == nullptr) return;
    running->worlds->end_call();
    lock_->unlock();
  }
  ~Suspended() {
    if (lock_ != nullptr) lock_->lock();
  }
  Suspended(const Suspended&) = delete;
  Suspended& operator=(const Suspended&) = delete;

 private:
  ContextLock* const lock_;
};

void call_meanwhile(void (*function)()) {
  const Suspended meanwhile;
  function();
}

// A call of the program's, without the thread meanwhile. LAM calls the module inside calls of the module, too.
class Call {
 public:
  Call() : Call(running == nullptr ? nullptr : running->lock) {}
  explicit Call(ContextLock* lock) : lock_(lock == nullptr || lock->owned_by_caller() ? nullptr : lock) {
    if (lock_ != nullptr) lock_->lock();
  }
  ~Call() {
    if (lock_ == nullptr) return;
    const int error = errno;  // as the call has left it
    if (running != nullptr && running->worlds != nullptr) running->worlds->end_call();
    lock_->unlock();
    errno = error;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  ContextLock* const lock_;
};

int refuse(const std::string& what) {
  std::fprintf(stderr, "openlapi: rpi module 'lapi', process %d of its MPI_COMM_WORLD: %s\n",
               lam_myproc != nullptr ? lam_myproc->p_gps.gps_grank : -1, what.c_str());
  return LAMERROR;
}

// No exception leaves the module.
template <class Function>
int without_exceptions(Function function) {
  const Call call;
  try {
    return function();
  } catch (const std::bad_alloc&) {
    if (running == nullptr) std::fputs("openlapi: rpi module 'lapi': there is no memory to begin with\n", stderr);
    errno = ENOMEM;
    return LAMERROR;
  } catch (const std::exception& error) {
    errno = EIO;
    return refuse(error.what());
  }
}

bool host_is_known() {
  return host_has_messages() && &lam_rq_nactv != nullptr && &lam_seqnum != nullptr && &lam_homog != nullptr &&
         _mpi_req_start != nullptr && lam_mkerr != nullptr;
}

int open_module(OPT*) {
  parameters.priority = lam_ssi_base_param_register_int("rpi", "lapi", "priority", nullptr, kPriority);
  parameters.most_short = lam_ssi_base_param_register_int("rpi", "lapi", "short", nullptr, kMostShort);
  parameters.timeout = lam_ssi_base_param_register_int("rpi", "lapi", "timeout", nullptr, kTimeout);
  parameters.silence = lam_ssi_base_param_register_int("rpi", "lapi", "silence", nullptr, kSilence);
  parameters.progress = lam_ssi_base_param_register_int("rpi", "lapi", "progress", nullptr, kProgress);
  const bool all = parameters.priority >= 0 && parameters.most_short >= 0 && parameters.timeout >= 0;
  return all && parameters.silence >= 0 && parameters.progress >= 0 ? 1 : 0;
}

int decline(const char* reason) {
  if (lam_ssi_rpi_verbose >= 0) lam_debug(lam_ssi_rpi_did, "lapi: not usable: %s", reason);
  return 0;
}

// LAM tells nobody that it cancels a receive: no call may begin while the module's thread has one meet its message.
bool has_to_hold_calls() { return lam_ssi_base_param_lookup_int(parameters.progress) == 1 && CancelCalls().may_come(); }

int query(int* priority, int* thread_min, int* thread_max) {
  if (!host_is_known()) return decline("its host is not LAM 7.1: it has no nsend, ntry_recv or _mpi_req_start");
  *priority = lam_ssi_base_param_lookup_int(parameters.priority);
  if (*priority < 0) return decline("rpi_lapi_priority is negative");
  *thread_min = has_to_hold_calls() ? MPI_THREAD_SERIALIZED : MPI_THREAD_SINGLE;
  *thread_max = MPI_THREAD_SERIALIZED;
  return 1;
}

_proc* find(std::span<_proc* const> processes, const _gps& gps) {
  const auto found =
      std::ranges::find_if(processes, [&](const _proc* each) { return each != nullptr && is_same(each->p_gps, gps); });
  return found == processes.end() ? nullptr : *found;
}

// Of a group: those of `added` are new. `added` gets the order of the World's peers.
std::vector<JoinedWorlds::Member> members_of(const ProcessGroup& group, std::span<_proc* const> known,
                                             std::vector<_proc*>& added, JoinedGroup& joined) {
  std::vector<JoinedWorlds::Member> members;
  std::vector<_proc*> ordered;
  for (std::uint32_t rank = 0; rank < group.members.size(); ++rank) {
    const _gps& gps = group.members[rank];
    _proc* const found = find(added, gps);
    members.push_back(member_of(rank, gps, found != nullptr));
    joined.members.push_back({found != nullptr ? found : find(known, gps), found != nullptr});
    if (found != nullptr) ordered.push_back(found);
  }
  added = std::move(ordered);
  return members;
}

std::vector<_gps> places_of(std::span<_proc* const> processes) {
  std::vector<_gps> places;
  for (const _proc* process : processes) places.push_back(process->p_gps);
  return places;
}

int join(Running& run, const ProcessGroup& group, std::vector<_proc*> added) {
  std::string reason;
  JoinedGroup joined;
  const std::vector<JoinedWorlds::Member> members = members_of(group, run.processes, added, joined);
  if (!run.worlds->add(group.bootstrap, members, reason)) return refuse(reason);
  run.groups.push_back(std::move(joined));
  for (_proc* process : added) {
    run.engine.add_process(*process);
    run.processes.push_back(process);
    process->p_mode |= LAM_PRPIINIT | LAM_PRPICONNECT;
  }
  return 0;
}

int begin(std::span<_proc* const> processes, int most_short, const LostAfter& lost_after, ContextLock* lock) {
  const Call call(lock);
  lead_aligned_calls();
  keep_arena_locks();
  auto begun = std::make_unique<Running>(static_cast<std::size_t>(most_short), lost_after, lock);
  ProcessGroup group;
  std::string reason;
  const bool was_spawned = (lam_myproc->p_mode & LAM_PCLIENT) != 0;
  if (!meet_at_start(places_of(processes), lam_myproc->p_gps, was_spawned, group, reason)) return refuse(reason);
  begun->engine.use(*begun->worlds);
  if (join(*begun, group, {processes.begin(), processes.end()}) != 0) return LAMERROR;
  running = begun.release();
  return 0;
}

// What moves messages: after a restart that has failed there are no paths.
template <class Function>
int moving(Function function) {
  if (running->worlds != nullptr) return without_exceptions(function);
  errno = ENOTCONN;
  return LAMERROR;
}

// LAM also tells of processes that are known here: they may be new to others, who are told with us.
int add_told(std::span<_proc* const> processes) {
  std::vector<_proc*> added;
  std::ranges::copy_if(processes, std::back_inserter(added), [](_proc* process) {
    return std::ranges::find(running->processes, process) == running->processes.end();
  });
  // What others have not taken yet may be what they wait for before they are told, too.
  const WhileWaiting moving_on([] { running->engine.drain(); });
  ProcessGroup group;
  std::string reason;
  if (!meet_others(places_of(processes), !added.empty(), lam_myproc->p_gps, group, reason)) {
    errno = ENOTCONN;
    return refuse(reason);
  }
  return added.empty() ? 0 : join(*running, group, std::move(added));
}

int add_processes(struct _proc** processes, int count) {
  return moving([&] { return count <= 0 ? 0 : add_told({processes, static_cast<std::size_t>(count)}); });
}

int end_process(_proc* process) {
  const auto place = std::ranges::find(running->processes, process);
  if (place == running->processes.end()) return 0;
  const auto peer = static_cast<Peer>(place - running->processes.begin());
  if (running->worlds != nullptr) {
    running->worlds->take_begun(peer);  // who has been told that this process leaves gives it up soon
    running->engine.leave(*process);
  }
  running->engine.remove_process(*process);
  if (running->worlds != nullptr) running->worlds->remove(peer);
  for (JoinedGroup& group : running->groups) {
    for (JoinedGroup::Member& member : group.members) {
      if (member.process == process) member.process = nullptr;
    }
  }
  process->p_mode &= ~(LAM_PRPIINIT | LAM_PRPICONNECT);
  *place = nullptr;
  return 0;
}

int end() {
  if (running->worlds != nullptr) {
    running->engine.leave();
    running->worlds->drain();
  }
  for (_proc* process : running->processes) {
    if (process == nullptr) continue;
    running->engine.remove_process(*process);
    process->p_mode &= ~(LAM_PRPIINIT | LAM_PRPICONNECT);
  }
  delete running;
  running = nullptr;
  return 0;
}

int finalize(struct _proc* process) {
  if (running == nullptr) return 0;
  return without_exceptions([&] { return process != nullptr ? end_process(process) : end(); });
}

int build(MPI_Request request) {
  return without_exceptions([&] { return running->engine.build(request); });
}
int start(MPI_Request, MPI_Request request) {
  return moving([&] {
    if (running->lock != nullptr) running->engine.match_outside(!running->cancels.may_come());
    return running->engine.start(request);
  });
}
int advance(MPI_Request first, int block) {
  return moving([&] {
    const int moved = running->engine.advance(first, block != 0);
    if (block != 0 && moved == 0) running->layer.let_checkpoint_in();
    return moved;
  });
}
int destroy(MPI_Request request) {
  return without_exceptions([&] { return running == nullptr ? 0 : running->engine.destroy(request); });
}
int iprobe(MPI_Request request) {
  return moving([&] { return running->engine.iprobe(request); });
}
int fast_send(char* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return moving([&] { return running->fast.send({buffer, count, type, to, tag, comm}); });
}
int fast_receive(char* buffer, int count, MPI_Datatype type, int from, int* tag, MPI_Comm comm, MPI_Status* status,
                 int* number) {
  return moving([&] { return running->fast.receive({buffer, count, type, from, *tag, comm}, *tag, status, *number); });
}

// It outlives the module's use: so does what a program has allocated.
TransferMemory& transfer_memory() {
  static TransferMemory* memory = new TransferMemory;
  return *memory;
}

int allocate_memory(MPI_Aint size, MPI_Info, void* base) {
  if (size < 0) {
    errno = EINVAL;
    return refuse("MPI_Alloc_mem of " + std::to_string(size) + " bytes is not allowed: it is 0 or more");
  }
  void* const memory = transfer_memory().allocate(static_cast<std::size_t>(size));
  if (memory == nullptr) {
    errno = ENOMEM;
    return LAMERROR;
  }
  std::memcpy(base, &memory, sizeof memory);
  return 0;
}

int free_memory(void* base) {
  if (transfer_memory().free(base)) return 0;
  errno = EINVAL;
  char address[32];
  std::snprintf(address, sizeof address, "%p", base);
  return refuse(std::string("MPI_Free_mem of ") + address +
                " is not allowed: it is what MPI_Alloc_mem has given, once");
}

int interrupt() {
  if (running != nullptr && running->worlds != nullptr) running->worlds->interrupt();
  return 0;
}

int checkpoint_begins() {
  return moving([&] {
    std::string reason;
    running->worlds->stop_thread();
    running->is_quiet = make_quiet(running->engine, running->groups, reason);
    if (!running->is_quiet) {
      refuse(reason);
      if (!running->worlds->start_thread(reason)) refuse(reason);
    }
    return running->is_quiet ? 0 : LAMERROR;
  });
}

// The paths are still there.
int job_continues() {
  return moving([&] {
    std::string reason;
    const bool was_quiet = std::exchange(running->is_quiet, false);
    return !was_quiet || running->worlds->start_thread(reason) ? 0 : refuse(reason);
  });
}

int job_restarts() {
  return without_exceptions([&] {
    if (!std::exchange(running->is_quiet, false)) return refuse("no restart without a checkpoint before");
    std::string reason;
    running->worlds.reset();
    auto worlds = open_again(running->engine, running->open, running->lock, running->groups, reason);
    if (worlds == nullptr) return refuse(reason);
    running->engine.use(*worlds);
    running->worlds = std::move(worlds);
    return 0;
  });
}

const lam_ssi_rpi_actions_1_1_0_t actions{.lsra_addprocs = add_processes,
                                          .lsra_finalize = finalize,
                                          .lsra_build = build,
                                          .lsra_start = start,
                                          .lsra_advance = advance,
                                          .lsra_destroy = destroy,
                                          .lsra_iprobe = iprobe,
                                          .lsra_fastrecv = fast_receive,
                                          .lsra_fastsend = fast_send,
                                          .lsra_alloc_mem = allocate_memory,
                                          .lsra_free_mem = free_memory,
                                          .lsra_interrupt = interrupt,
                                          .lsra_checkpoint = checkpoint_begins,
                                          .lsra_continue = job_continues,
                                          .lsra_restart = job_restarts,
                                          .lsra_tv_queue_support = 1};

const lam_ssi_rpi_actions_1_1_0_t* initialise_module(struct _proc** processes, int count, int*, int*) {
  const int most_short = lam_ssi_base_param_lookup_int(parameters.most_short);
  if (most_short < 0) {
    refuse("rpi_lapi_short=" + std::to_string(most_short) +
           " is not allowed: it is a number of bytes, 0 to 2147483647");
    return nullptr;
  }
  const int timeout = lam_ssi_base_param_lookup_int(parameters.timeout);
  if (timeout < kLeastTimeout || timeout > kLongestTimeout) {
    refuse("rpi_lapi_timeout=" + std::to_string(timeout) + " is not allowed: it is a number of seconds, 10 to 86400");
    return nullptr;
  }
  const int silence = lam_ssi_base_param_lookup_int(parameters.silence);
  if (silence != 0 && (silence < kLeastTimeout || silence > kLongestTimeout)) {
    refuse("rpi_lapi_silence=" + std::to_string(silence) +
           " is not allowed: it is a number of seconds, 10 to 86400, or 0 for never");
    return nullptr;
  }
  const int progress = lam_ssi_base_param_lookup_int(parameters.progress);
  if (progress != 0 && progress != 1) {
    refuse("rpi_lapi_progress=" + std::to_string(progress) + " is not allowed: it is 0 or 1");
    return nullptr;
  }
  const std::span<_proc* const> all(processes, static_cast<std::size_t>(count));
  ContextLock* const lock = progress == 0 ? nullptr : &thread_lock;
  const LostAfter lost_after{static_cast<Nanoseconds>(timeout) * kSecond, static_cast<unsigned>(silence)};
  return without_exceptions([&] { return begin(all, most_short, lost_after, lock); }) == 0 ? &actions : nullptr;
}

}  // namespace

}  // namespace openlapi::rpi

extern "C" {
[[gnu::visibility("default")]] extern const lam_ssi_rpi_1_1_0_t lam_ssi_rpi_lapi_module;
const lam_ssi_rpi_1_1_0_t lam_ssi_rpi_lapi_module{.lsr_meta_info = {.ssi_major_version = 1,
                                                                    .ssi_minor_version = 0,
                                                                    .ssi_release_version = 0,
                                                                    .ssi_kind_name = "rpi",
                                                                    .ssi_kind_major_version = 1,
                                                                    .ssi_kind_minor_version = 1,
                                                                    .ssi_kind_release_version = 0,
                                                                    .ssi_module_name = "lapi",
                                                                    .ssi_module_major_version = 1,
                                                                    .ssi_module_minor_version = 0,
                                                                    .ssi_module_release_version = 0,
                                                                    .ssi_open_module = openlapi::rpi::open_module,
                                                                    .ssi_close_module = nullptr},
                                                  .lsr_query = openlapi::rpi::query,
                                                  .lsr_init = openlapi::rpi::initialise_module};
}
