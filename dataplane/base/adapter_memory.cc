#include "dataplane/base/adapter_memory.h"

#include <pthread.h>
#include <unistd.h>

#include <new>

namespace openlapi {
namespace {

constinit AdapterMemory own_adapter_memory;
std::atomic<AdapterMemory*> process_adapter_memory{&own_adapter_memory};

}  // namespace

AdapterMemory& AdapterMemory::of_process() {
  [[maybe_unused]] static const int handler = pthread_atfork(nullptr, nullptr, begin_child);
  return *process_adapter_memory.load(std::memory_order_relaxed);
}

void AdapterMemory::share(AdapterMemory& of_library) {
  AdapterMemory* expected = &own_adapter_memory;
  process_adapter_memory.compare_exchange_strong(expected, &of_library);
}

void AdapterMemory::begin_child() { own_adapter_memory.forget_parent(); }

// Another thread may have had the lock, in the middle of a round. Those who have inherited what was pinned do nothing
// about it.
void AdapterMemory::forget_parent() {
  new (&mutex_) std::mutex;
  new (&pinned_) LinkedList<Pinned, &Pinned::links_>;
  bytes_ = 0;
  watcher_ = nullptr;
  follower_.store(nullptr);
  changes_.finish_round();
}

void AdapterMemory::Pinned::begin(std::uint64_t begin, std::uint64_t end) {
  AdapterMemory& memory = of_process();
  const Still still(memory);
  begin_ = begin;
  end_ = end;
  process_ = getpid();
  used_.store(true);
  memory.bytes_ += end - begin;
  memory.pinned_.push_back(*this);
}

void AdapterMemory::Pinned::end() {
  if (process_ != getpid()) return;
  AdapterMemory& memory = of_process();
  const Still still(memory);
  process_ = 0;
  memory.bytes_ -= end_ - begin_;
  memory.pinned_.remove(*this);
}

void AdapterMemory::begin(Watcher& watcher) {
  const Still still(*this);
  watcher_ = &watcher;
}

void AdapterMemory::begin(Follower& follower) {
  const Still still(*this);
  follower_.store(&follower);
}

void AdapterMemory::end(Watcher& watcher) {
  const Still still(*this);
  if (watcher_ == &watcher) watcher_ = nullptr;
}

void AdapterMemory::end(Follower& follower) {
  const Still still(*this);
  if (follower_.load() == &follower) follower_.store(nullptr);
}

bool AdapterMemory::follows(std::uint64_t begin, std::uint64_t end) {
  if (follower_.load() == nullptr) return false;
  const Still still(*this);
  Follower* const follower = follower_.load();
  return follower != nullptr && follower->follows(begin, end);
}

bool AdapterMemory::settled() {
  if (follower_.load() == nullptr) return true;
  const Still still(*this);
  Follower* const follower = follower_.load();
  return follower == nullptr || follower->settled();
}

AdapterMemory::Change::Change(AdapterMemory& memory) : memory_(memory), still_(memory) {
  memory.changes_.begin_round();
}

bool AdapterMemory::Change::is_used(std::uint64_t begin, std::uint64_t end) const {
  for (const Pinned* one = memory_.pinned_.first(); one != nullptr; one = memory_.pinned_.next(*one)) {
    if (one->begin_ < end && one->end_ > begin && one->used_.load()) return true;
  }
  return false;
}

void AdapterMemory::Change::take(std::uint64_t begin, std::uint64_t end) {
  tell(begin, end);
  if (memory_.watcher_ != nullptr) memory_.watcher_->hand_over(begin, end);
}

}  // namespace openlapi
