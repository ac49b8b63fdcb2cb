// Condition variables of the shared lock (chapter 12), and several contexts. Usage:
//   lapirun -n N api_lock_conditions [interrupt|polling]
#include <unistd.h>

#include <atomic>

#include "tests/system/api_lock_case.h"

using namespace api_case;

namespace {

// Another thread of this task makes progress until the object goes. Polling mode needs somebody.
class Progress {
 public:
  Progress()
      : thread_([this] {
          while (!stop_) {
            if (LAPI_Probe(handle) != LAPI_SUCCESS) fail("LAPI_Probe in a second thread");
          }
        }) {}
  ~Progress() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

struct Queue {
  lapi_cond_t filled;
  int messages = 0;
  int waiting = 0;
};
Queue queue;

void* queueing_handler(lapi_handle_t* which, void*, uint*, ulong*, compl_hndlr_t**, void**) {
  ++queue.messages;
  check(lock_sharing.cond_signal(*which, &queue.filled) == 0);
  return nullptr;
}

// Threads wait for what header handlers bring; every message wakes one, nobody polls in interrupt mode.
void messages_wake_threads() {
  constexpr int kThreads = 3;
  constexpr int kEach = 40;
  start();
  queue.messages = 0;
  DOES(cond_init(handle, &queue.filled), 0);
  CALL(LAPI_Gfence(handle));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([] {
      for (int message = 0; message < kEach; ++message) {
        const Locked locked;
        while (queue.messages == 0) DOES(cond_wait(handle, &queue.filled), 0);
        EXPECT(is_mine(handle));
        --queue.messages;
      }
    });
  }
  for (int message = 0; message < kThreads * kEach; ++message) {
    CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(kHold), nullptr, 0, nullptr, 0, nullptr, nullptr,
                     nullptr));
  }
  if (polling) {
    const Progress progress;
    for (std::thread& thread : threads) thread.join();
  } else {
    for (std::thread& thread : threads) thread.join();
  }
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(queue.messages, 0);
  EXPECT(seen.right);
  DOES(cond_destroy(handle, &queue.filled), 0);
}

// A signal wakes exactly one thread, in the order in which they came; signals without a waiter are forgotten.
void signals_wake_one_each() {
  constexpr int kThreads = 4;
  queue.waiting = 0;
  DOES(cond_init(handle, &queue.filled), 0);
  DOES(cond_signal(handle, &queue.filled), 0);
  std::atomic<int> woken{0};
  std::vector<int> order;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&order, &woken, thread] {
      const Locked locked;
      ++queue.waiting;
      DOES(cond_wait(handle, &queue.filled), 0);
      EXPECT(is_mine(handle));
      order.push_back(thread);
      ++woken;
    });
    AWAIT(([] {
            const Locked locked;
            return queue.waiting;
          }()) == thread + 1,
          20);
  }
  DOES(cond_destroy(handle, &queue.filled), EBUSY);
  for (int thread = 0; thread < kThreads; ++thread) {
    EXPECT_EQUAL(woken.load(), thread);
    if (thread % 2 == 0) {
      DOES(cond_signal(handle, &queue.filled), 0);
    } else {
      const Locked locked;
      DOES(cond_signal(handle, &queue.filled), 0);
    }
    AWAIT(woken == thread + 1, 20);
  }
  for (std::thread& thread : threads) thread.join();
  for (int thread = 0; thread < kThreads; ++thread) EXPECT_EQUAL(order[static_cast<std::size_t>(thread)], thread);
  DOES(cond_destroy(handle, &queue.filled), 0);
}

bool reached(const timespec& moment) {
  const timespec now = from_now(0);
  return now.tv_sec > moment.tv_sec || (now.tv_sec == moment.tv_sec && now.tv_nsec >= moment.tv_nsec);
}

void waits_end_at_their_time() {
  DOES(cond_init(handle, &queue.filled), 0);
  timespec past{};
  timespec before_all{-5, 0};
  timespec soon = from_now(50);
  timespec late = from_now(600000);
  const Locked locked;
  DOES(cond_timedwait(handle, &queue.filled, &past), ETIMEDOUT);
  DOES(cond_timedwait(handle, &queue.filled, &before_all), ETIMEDOUT);
  EXPECT(is_mine(handle));
  DOES(cond_timedwait(handle, &queue.filled, &soon), ETIMEDOUT);
  EXPECT(reached(soon));
  EXPECT(is_mine(handle));
  // The thread cannot signal before the wait has released the lock.
  std::thread signaler([] {
    const Locked inner;
    DOES(cond_signal(handle, &queue.filled), 0);
  });
  DOES(cond_timedwait(handle, &queue.filled, &late), 0);
  EXPECT(is_mine(handle) && !reached(late));
  signaler.join();
  DOES(cond_destroy(handle, &queue.filled), 0);
}

int waiting_threads() {
  const Locked locked;
  return queue.waiting;
}

struct Wait {
  int type;    // of the thread's cancellation
  bool timed;  // it waits with a time, which is late
  std::atomic<bool> woken{false};
  pthread_t thread{};
};

// Its cleanup releases the lock, which it has when it is cancelled.
void* wait_cancellable(void* argument) {
  Wait& wait = *static_cast<Wait*>(argument);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, nullptr);
  const Locked locked;
  ++queue.waiting;
  timespec late = from_now(600000);
  pthread_setcanceltype(wait.type, nullptr);
  const int code = wait.timed ? lock_sharing.cond_timedwait(handle, &queue.filled, &late)
                              : lock_sharing.cond_wait(handle, &queue.filled);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, nullptr);
  EXPECT_EQUAL(code, 0);
  wait.woken = true;
  return nullptr;
}

void begin_wait(Wait& wait) {
  const int before = waiting_threads();
  EXPECT_EQUAL(pthread_create(&wait.thread, nullptr, wait_cancellable, &wait), 0);
  AWAIT(waiting_threads() == before + 1, 20);
}

bool ends_cancelled(const Wait& wait) {
  void* result = nullptr;
  EXPECT_EQUAL(pthread_join(wait.thread, &result), 0);
  return result == PTHREAD_CANCELED;
}

// What is left behind is a lock for others, and a condition that nobody waits on.
void waits_are_cancelled() {
  for (const int type : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS}) {
    for (const bool timed : {false, true}) {
      DOES(cond_init(handle, &queue.filled), 0);
      Wait wait{.type = type, .timed = timed};
      begin_wait(wait);
      DOES(cond_destroy(handle, &queue.filled), EBUSY);
      if (type == PTHREAD_CANCEL_ASYNCHRONOUS) usleep(2000);  // it has to be inside, see api_cancel
      EXPECT_EQUAL(pthread_cancel(wait.thread), 0);
      EXPECT(ends_cancelled(wait));
      EXPECT(!wait.woken);
      DOES(mutex_lock(handle), 0);  // which the dataplane thread may have at this moment
      DOES(cond_signal(handle, &queue.filled), 0);
      DOES(mutex_unlock(handle), 0);
      DOES(cond_destroy(handle, &queue.filled), 0);
    }
  }
}

// The first one is cancelled, and chosen before it can leave; neither is the last one disturbed.
void a_signal_for_a_cancelled_thread_wakes_the_next() {
  DOES(cond_init(handle, &queue.filled), 0);
  Wait cancelled{.type = PTHREAD_CANCEL_DEFERRED, .timed = false};
  Wait next{.type = PTHREAD_CANCEL_DEFERRED, .timed = false};
  Wait last{.type = PTHREAD_CANCEL_DEFERRED, .timed = true};
  for (Wait* wait : {&cancelled, &next, &last}) begin_wait(*wait);
  {
    const Locked locked;
    EXPECT_EQUAL(pthread_cancel(cancelled.thread), 0);
    DOES(cond_signal(handle, &queue.filled), 0);
  }
  EXPECT(ends_cancelled(cancelled));
  EXPECT(!ends_cancelled(next));
  EXPECT(!last.woken);
  DOES(cond_destroy(handle, &queue.filled), EBUSY);
  DOES(cond_signal(handle, &queue.filled), 0);
  EXPECT(!ends_cancelled(last));
  DOES(cond_destroy(handle, &queue.filled), 0);
}

// A second context: its lock is another one, concurrent waits name one handle, and its end sends waiting threads home.
void contexts_have_their_own_locks() {
  lapi_info_t info = cleared_info();
  lapi_handle_t other = 0;
  CALL(open_context(&other, info));
  lapi_cond_t shared;
  DOES(cond_init(handle, &shared), 0);
  std::atomic<int> outcome{-1};
  bool waits = false;  // of the other context's lock
  std::thread waiter([&] {
    DOES(mutex_lock(other), 0);
    waits = true;
    outcome = lock_sharing.cond_wait(other, &shared);
    DOES(mutex_unlock(other), EINVAL);
  });
  {
    const Locked locked;
    EXPECT(!is_mine(other));
    AWAIT(([&] {
            DOES(mutex_lock(other), 0);
            const bool now = waits;
            DOES(mutex_unlock(other), 0);
            return now;
          }()),
          20);
    DOES(cond_wait(handle, &shared), EINVAL);
    DOES(cond_destroy(handle, &shared), EBUSY);
  }
  CALL(LAPI_Gfence(other));
  CALL(LAPI_Term(other));
  waiter.join();
  EXPECT_EQUAL(outcome.load(), EINVAL);
  DOES(mutex_lock(other), EINVAL);
  DOES(mutex_trylock(other), EINVAL);
  DOES(cond_destroy(handle, &shared), 0);
}

}  // namespace

int main(int count, char** arguments) {
  // Who sleeps without being woken sleeps longer than a case may take.
  setenv("MP_POLLING_INTERVAL", "100000000", 1);
  begin(count, arguments);
  get_lock_functions();
  register_all({{kHold, queueing_handler}});
  CALL(LAPI_Gfence(handle));
  run("messages wake threads that wait", 40, messages_wake_threads);
  run("a signal wakes one thread", 40, signals_wake_one_each);
  run("timed waits end", 40, waits_end_at_their_time);
  run("waits are cancelled", 40, waits_are_cancelled);
  run("a signal for a cancelled thread wakes the next", 40, a_signal_for_a_cancelled_thread_wakes_the_next);
  run("contexts have their own locks", 40, contexts_have_their_own_locks);
  return finish();
}
