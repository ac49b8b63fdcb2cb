#include "api/context/completion_threads.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace openlapi {

void CompletionQueue::grow() {
  std::vector<CompletionRun> larger(ring_.size() * 2);
  for (std::size_t place = 0; place < count_; ++place) larger[place] = ring_[(first_ + place) & (ring_.size() - 1)];
  ring_ = std::move(larger);
  first_ = 0;
}

int CompletionThreads::start_one(const ThreadStart& how) {
  LibraryThread& thread = threads_.emplace_back();
  const int result = thread.start(how, &CompletionThreads::main, this);
  if (result != 0) threads_.pop_back();
  return result;
}

void CompletionThreads::announce(int wake) {
  signal_.fetch_add(1, std::memory_order_relaxed);
  if (sleeping_ > 0) syscall(SYS_futex, &signal_, FUTEX_WAKE_PRIVATE, wake, nullptr, nullptr, 0);
}

void CompletionThreads::request_stop() {
  stop_ = true;
  announce(INT_MAX);
}

void CompletionThreads::join(Nanoseconds at_most) {
  for (LibraryThread& thread : threads_) thread.join(at_most);
}

void CompletionThreads::main(void* self) { static_cast<CompletionThreads*>(self)->serve(); }

void CompletionThreads::serve() {
  CompletionOwner& owner = owner_;
  owner.lock();
  owner.thread_begins();
  for (;;) {
    if (!queue_.empty()) {
      const CompletionRun run = queue_.pop();
      ++running_;
      owner.unlock();
      owner.run_handler(run);
      owner.lock();
      --running_;
      owner.handler_returned(run);
      continue;
    }
    if (stop_) break;
    // Read under the lock, as pushes are: a push after the unlock changes it and the wait returns at once.
    const std::uint32_t seen = signal_.load(std::memory_order_relaxed);
    ++sleeping_;
    owner.unlock();
    syscall(SYS_futex, &signal_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    owner.lock();
    --sleeping_;
  }
  owner.unlock();
  owner.thread_ends();
}

}  // namespace openlapi
