#include "control/client/pmix_session.h"

#include <pmix.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace openlapi {
namespace {

// A launcher that answers does so in well under a millisecond; one that is stuck must not keep the process from ending.
constexpr std::chrono::seconds kFinalizeLimit{1};

struct Session {
  std::mutex lock;
  bool tried = false;
  bool connected = false;
  pid_t owner = 0;  // a forked child must not say good-bye for its parent
  PmixIdentity identity;
  std::string error;
};

// Never destroyed: exit handlers may still ask.
Session& session() {
  static Session* instance = new Session;
  return *instance;
}

// Restores what libpmix's start must not change for the calling thread. Threads made meanwhile have all signals
// blocked.
class CallerState {
 public:
  CallerState() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &signals_);
    affinity_known_ = sched_getaffinity(0, sizeof affinity_, &affinity_) == 0;
  }
  ~CallerState() {
    cpu_set_t now;
    if (affinity_known_ && sched_getaffinity(0, sizeof now, &now) == 0 && !CPU_EQUAL(&now, &affinity_))
      sched_setaffinity(0, sizeof affinity_, &affinity_);
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  }
  CallerState(const CallerState&) = delete;
  CallerState& operator=(const CallerState&) = delete;

 private:
  sigset_t signals_;
  cpu_set_t affinity_;
  bool affinity_known_ = false;
};

struct Farewell {
  std::mutex lock;
  std::condition_variable done;
  bool finished = false;
};

void finalize_at_exit() {
  if (session().owner != getpid()) return;
  CallerState restore_caller;
  try {
    static Farewell* const farewell = new Farewell;  // never destroyed: the thread may outlive the wait
    std::thread([] {
      PMIx_Finalize(nullptr, 0);
      std::lock_guard held(farewell->lock);
      farewell->finished = true;
      farewell->done.notify_one();
    }).detach();
    std::unique_lock held(farewell->lock);
    farewell->done.wait_for(held, kFinalizeLimit, [&] { return farewell->finished; });
  } catch (...) {
    return;  // no memory or no thread: the launcher sees the process end without a good-bye
  }
}

void connect(Session& state) {
  // Every PMIx launcher sets both. Without them PMIx_Init only finds out, in 14 ms, that there is nobody.
  if (std::getenv("PMIX_NAMESPACE") == nullptr || std::getenv("PMIX_RANK") == nullptr) {
    state.error =
        "no PMIx launcher: PMIX_NAMESPACE and PMIX_RANK are not set (start with lapirun, mpirun or srun --mpi=pmix)";
    if (std::getenv("PMI_RANK") != nullptr) {
      state.error += ", but a launcher that offers PMI only, as MPICH's mpiexec: see MPI in lapi(7)";
    }
    return;
  }
  pmix_proc_t self{};
  pmix_status_t status = PMIX_SUCCESS;
  {
    CallerState restore_caller;
    status = PMIx_Init(&self, nullptr, 0);
  }
  if (status != PMIX_SUCCESS) {
    state.error = std::string("the PMIx launcher does not answer: PMIx_Init: ") + PMIx_Error_string(status);
    return;
  }
  state.identity = {self.nspace, self.rank};
  state.owner = getpid();
  state.connected = true;
  std::atexit(finalize_at_exit);
}

}  // namespace

const PmixIdentity* open_pmix_session(std::string& error) {
  Session& state = session();
  std::lock_guard held(state.lock);
  if (!state.tried) {
    state.tried = true;
    connect(state);
  }
  if (!state.connected) {
    error = state.error;
    return nullptr;
  }
  return &state.identity;
}

}  // namespace openlapi
