// The threads that run completion handlers which do not run inline, and their queue. The queue is protected by the
// context's lock; handlers run without the lock and may make any LAPI call.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "dataplane/host/handler_host.h"
#include "dataplane/poller/library_thread.h"

namespace openlapi {

// What the threads need from the context. lock() and unlock() are the context's lock.
class CompletionOwner {
 public:
  virtual ~CompletionOwner() = default;
  virtual void lock() = 0;
  virtual void unlock() = 0;
  virtual void run_handler(const CompletionRun& run) = 0;      // without the lock
  virtual void handler_returned(const CompletionRun& run) = 0;  // with the lock
  virtual void thread_begins() = 0;                             // a thread's first act, with the lock
  virtual void thread_ends() = 0;  // a thread's last act, without the lock; the queue may be gone after it
};

// First in, first out. Grows by doubling and keeps its memory, so that nothing is allocated in the steady state.
class CompletionQueue {
 public:
  CompletionQueue() : ring_(kFirstRoom) {}
  bool empty() const { return count_ == 0; }
  void push(const CompletionRun& run) {
    if (count_ == ring_.size()) [[unlikely]] grow();
    ring_[(first_ + count_++) & (ring_.size() - 1)] = run;
  }
  CompletionRun pop() {
    const CompletionRun run = ring_[first_];
    first_ = (first_ + 1) & (ring_.size() - 1);
    --count_;
    return run;
  }

 private:
  static constexpr std::size_t kFirstRoom = 256;  // a power of two, as every later size
  void grow();

  std::vector<CompletionRun> ring_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

class CompletionThreads {
 public:
  explicit CompletionThreads(CompletionOwner& owner) : owner_(owner) {}
  CompletionThreads(const CompletionThreads&) = delete;
  CompletionThreads& operator=(const CompletionThreads&) = delete;

  // Starts one more thread. Returns 0 or an errno value. With the lock, or before any other thread uses the object.
  int start_one(const ThreadStart& how);

  // All of these with the lock held.
  void push(const CompletionRun& run) {
    queue_.push(run);
    announce(1);
  }
  bool idle() const { return queue_.empty() && running_ == 0; }
  // The threads end when the queue is empty.
  void request_stop();

  // Without the lock; see LibraryThread.
  void join(Nanoseconds at_most);

 private:
  static void main(void* self);
  void serve();
  void announce(int wake);

  CompletionOwner& owner_;
  CompletionQueue queue_;
  bool stop_ = false;
  unsigned running_ = 0;                  // handlers that run now
  unsigned sleeping_ = 0;                 // threads that wait for work
  std::atomic<std::uint32_t> signal_{0};  // changes with every push; what sleeping threads wait on
  std::deque<LibraryThread> threads_;
};

}  // namespace openlapi
