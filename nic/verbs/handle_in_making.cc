#include "nic/verbs/handle_in_making.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "dataplane/base/cancellation.h"
#include "nic/verbs/monotonic_time.h"

namespace openlapi::verbs {
namespace {

class ByThread final : public HandleInMaking {
 public:
  ByThread(ibv_pd& domain, const ibv_ah_attr& route) : domain_(domain), route_(route) {}
  ~ByThread() override {
    const CancellationOff off;
    if (!maker_.joinable()) return;
    if (getpid() == process_) {
      maker_.join();
    } else {
      maker_.detach();  // a forked child has the object, but not the thread
    }
  }

  // The thread takes none of the process's signals.
  bool start() {
    const CancellationOff off;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      maker_ = std::thread([this] { make(); });
    } catch (const std::system_error&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return maker_.joinable();
  }

  bool wait(std::uint64_t milliseconds) override {
    const CancellationOff off;
    std::unique_lock guard(mutex_);
    return ended_.wait_for(guard, std::chrono::milliseconds(milliseconds), [this] { return has_ended_; });
  }

  Made take() override {
    const std::lock_guard guard(mutex_);
    return std::move(made_);
  }

 private:
  void make() {
    pthread_setname_np(pthread_self(), "lapi-neighbour");
    Made made = make_handle(domain_, route_);
    const std::lock_guard guard(mutex_);
    made_ = std::move(made);
    has_ended_ = true;
    ended_.notify_one();
  }

  ibv_pd& domain_;
  const ibv_ah_attr route_;
  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  Made made_;
  std::thread maker_;
};

}  // namespace

std::unique_ptr<HandleInMaking> HandleInMaking::begin(ibv_pd& domain, const ibv_ah_attr& route) {
  auto begun = std::make_unique<ByThread>(domain, route);
  if (!begun->start()) return nullptr;
  return begun;
}

HandleInMaking::Made make_handle(ibv_pd& domain, const ibv_ah_attr& route) {
  const CancellationOff off;
  ibv_ah_attr wanted = route;
  HandleInMaking::Made made{.handle = std::shared_ptr<ibv_ah>(AddressHandle(ibv_create_ah(&domain, &wanted)))};
  if (!made.handle) made.error = errno;
  made.ended = milliseconds();
  return made;
}

}  // namespace openlapi::verbs
