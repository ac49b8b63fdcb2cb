#include "dataplane/base/memory_fault_guard.h"

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>

namespace openlapi {

namespace {

struct RecoveryPoint {
  sigjmp_buf place;
};

// Of this thread; its signal handler reads it between any two instructions.
constinit thread_local RecoveryPoint* volatile innermost = nullptr;

// Whatever point becomes the innermost one while it lives, the one before is so again afterwards, also by an exception.
class Entered {
 public:
  Entered() : outer_(innermost) {}
  ~Entered() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    innermost = outer_;
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  RecoveryPoint* const outer_;
};

// What a signal did before we came.
struct FormerHandler {
  struct sigaction action;
  std::atomic<bool> spent{false};  // SA_RESETHAND: it has had its one signal
};

FormerHandler of_segmentation_faults, of_bus_errors;

constinit std::atomic<void (*)(const siginfo_t&, const void*)> explainer{nullptr};

// Raised by the instruction that was under way, and not by a kill() or by failing hardware.
bool is_bad_access(int signal, const siginfo_t& info) {
  if (signal == SIGBUS && (info.si_code == BUS_MCEERR_AO || info.si_code == BUS_MCEERR_AR)) return false;
  return info.si_code > 0;
}

// A fault that is not handled, or cannot be ignored, comes again as soon as we return.
void take_default_action(int signal, bool comes_again) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  if (!comes_again) raise(signal);
}

// As the kernel would have called it, but for the stack: which signals are blocked ends with our return.
void hand_on(int signal, siginfo_t* info, void* context) {
  FormerHandler& former = signal == SIGSEGV ? of_segmentation_faults : of_bus_errors;
  const struct sigaction& action = former.action;
  const bool comes_again = info->si_code > 0 && !(signal == SIGBUS && info->si_code == BUS_MCEERR_AO);
  const bool takes_info = (action.sa_flags & SA_SIGINFO) != 0;
  const bool spent = (action.sa_flags & SA_RESETHAND) != 0 && former.spent.exchange(true);
  if (spent || (!takes_info && action.sa_handler == SIG_DFL)) {
    const auto explain = explainer.load();
    if (explain != nullptr && comes_again) explain(*info, context);
    return take_default_action(signal, comes_again);
  }
  if (!takes_info && action.sa_handler == SIG_IGN) {
    if (comes_again) take_default_action(signal, comes_again);
    return;
  }
  sigset_t blocked = action.sa_mask;
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  if (takes_info) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  RecoveryPoint* const point = innermost;
  if (point == nullptr || !is_bad_access(signal, *info)) return hand_on(signal, info, context);
  // A handler of the user's that has called this one may have blocked signals.
  pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
  siglongjmp(point->place, 1);
}

bool install(int signal, FormerHandler& former) {
  sigaction(signal, nullptr, &former.action);  // known before the first signal can come
  struct sigaction ours {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | (former.action.sa_flags & SA_RESTART);
  sigemptyset(&ours.sa_mask);
  return sigaction(signal, &ours, nullptr) == 0;
}

}  // namespace

void catch_memory_faults() {
  [[maybe_unused]] static const bool installed =
      install(SIGSEGV, of_segmentation_faults) && install(SIGBUS, of_bus_errors);
}

void explain_unhandled_faults(void (*explain)(const siginfo_t& info, const void* context)) { explainer = explain; }

bool in_guarded_copy() { return innermost != nullptr; }

// Never inlined: what lives in the caller's frame is in memory when the second return comes.
[[gnu::noinline]] bool run_guarded(void (*copy)(void*), void* argument) {
  RecoveryPoint point;
  const Entered entered;
  if (sigsetjmp(point.place, 0) != 0) return false;
  innermost = &point;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copy(argument);
  return true;
}

WithoutGuard::WithoutGuard() : guard_(innermost) { innermost = nullptr; }
WithoutGuard::~WithoutGuard() { innermost = static_cast<RecoveryPoint*>(guard_); }

}  // namespace openlapi
