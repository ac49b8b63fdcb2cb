// Lock sharing (chapter 12): calls with the lock held, who runs which handler with it, who gets it during calls that
// poll, several threads. Usage: lapirun -n N api_lock_sharing [interrupt|polling]
#include "tests/system/api_lock_case.h"

using namespace api_case;

namespace {

lapi_ret_flags_t style = LAPI_NORMAL;

// ---- the functions by themselves ----

void functions_are_offered() {
  lapi_util_t command;
  std::memset(&command, 0, sizeof command);
  command.Util_type = LAPI_GET_THREAD_FUNC;
  RETURNS(LAPI_Util(handle + 16, &command), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Util(handle, nullptr), LAPI_ERR_UTIL_CMD);
  CALL(LAPI_Util(handle, &command));
  const lapi_thread_func_t& all = command.ThreadFunc;
  EXPECT(all.mutex_lock && all.mutex_unlock && all.mutex_trylock && all.mutex_getowner && all.cond_wait &&
         all.cond_timedwait && all.cond_signal && all.cond_init && all.cond_destroy);
  command.Util_type = static_cast<lapi_util_type_t>(1000);
  RETURNS(LAPI_Util(handle, &command), LAPI_ERR_UTIL_CMD);
}

void wrong_uses_are_refused() {
  const lapi_handle_t wrong = handle + 16;
  lapi_cond_t condition;
  std::memset(&condition, 0, sizeof condition);
  timespec moment = from_now(0);
  pthread_t owner{};
  DOES(mutex_lock(wrong), EINVAL);
  DOES(mutex_unlock(wrong), EINVAL);
  DOES(mutex_trylock(wrong), EINVAL);
  DOES(mutex_getowner(wrong, &owner), EINVAL);
  DOES(mutex_getowner(handle, nullptr), EINVAL);
  DOES(cond_init(wrong, &condition), EINVAL);
  DOES(cond_init(handle, nullptr), EINVAL);
  // Not initialized.
  DOES(cond_signal(handle, &condition), EINVAL);
  DOES(cond_destroy(handle, &condition), EINVAL);
  DOES(mutex_unlock(handle), EPERM);
  const Locked locked;
  DOES(cond_wait(handle, &condition), EINVAL);
  DOES(cond_init(handle, &condition), 0);
  for (lapi_cond_t* place : {static_cast<lapi_cond_t*>(nullptr), &condition}) {
    const lapi_handle_t which = place == nullptr ? handle : wrong;
    DOES(cond_wait(which, place), EINVAL);
    DOES(cond_timedwait(which, place, &moment), EINVAL);
    DOES(cond_signal(which, place), EINVAL);
    DOES(cond_destroy(which, place), EINVAL);
  }
  DOES(cond_timedwait(handle, &condition, nullptr), EINVAL);
  for (const long nanoseconds : {-1L, 1000000000L}) {
    moment.tv_nsec = nanoseconds;
    DOES(cond_timedwait(handle, &condition, &moment), EINVAL);
  }
  DOES(cond_destroy(handle, &condition), 0);
  DOES(cond_wait(handle, &condition), EINVAL);
}

void owner_is_known() {
  pthread_t owner{};
  lapi_cond_t condition;
  DOES(cond_init(handle, &condition), 0);
  DOES(cond_wait(handle, &condition), EPERM);
  DOES(mutex_lock(handle), 0);
  EXPECT(is_mine(handle));
  DOES(mutex_lock(handle), EDEADLK);
  DOES(mutex_trylock(handle), EBUSY);
  const pthread_t me = pthread_self();
  std::thread([me, &condition] {
    pthread_t seen{};
    DOES(mutex_getowner(handle, &seen), 0);
    EXPECT(pthread_equal(seen, me));
    DOES(mutex_trylock(handle), EBUSY);
    DOES(mutex_unlock(handle), EPERM);
    DOES(cond_wait(handle, &condition), EPERM);
  }).join();
  EXPECT(is_mine(handle));
  DOES(mutex_unlock(handle), 0);
  DOES(mutex_unlock(handle), EPERM);
  // The library's thread may have it for a moment.
  AWAIT(lock_sharing.mutex_trylock(handle) == 0, 20);
  EXPECT(is_mine(handle));
  DOES(mutex_unlock(handle), 0);
  AWAIT(lock_sharing.mutex_getowner(handle, &owner) == 0 && owner == LAPI_NULL_THREAD_ID, 20);
}

// ---- calls ----

struct Numbers {
  int word = 0;
  long long wide = 0;
  char bytes[64] = {};
};
Numbers numbers;
std::vector<Numbers*> everywhere;

// Everything that neither waits nor makes progress.
void begin_one_of_each(lapi_cntr_t& done, unsigned target) {
  static int operand = 1;
  static long long wide_operand = 1;
  static int before = 0;
  static long long wide_before = 0;
  static char buffer[64] = {};
  lapi_cntr_t scratch{};
  int value = 0;
  void* address = nullptr;
  CALL(LAPI_Put(handle, target, 8, everywhere[target]->bytes, buffer, nullptr, nullptr, &done));
  CALL(LAPI_Get(handle, target, 8, everywhere[target]->bytes, buffer + 32, nullptr, &done));
  CALL(LAPI_Rmw(handle, FETCH_AND_ADD, target, &everywhere[target]->word, &operand, &before, &done));
  CALL(LAPI_Rmw64(handle, FETCH_AND_ADD, target, &everywhere[target]->wide, &wide_operand, &wide_before, &done));
  CALL(LAPI_Amsend(handle, target, reinterpret_cast<void*>(kNull), nullptr, 0, nullptr, 0, nullptr, nullptr, &done));
  CALL(LAPI_Setcntr(handle, &scratch, 3));
  CALL(LAPI_Getcntr(handle, &scratch, &value));
  CALL(LAPI_Qenv(handle, TASK_ID, &value));
  CALL(LAPI_Senv(handle, ACK_THRESHOLD, 30));
  CALL(LAPI_Addr_get(handle, &address, kNull));
}

void* empty_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) { return nullptr; }

// A second thread tries all the time to get the lock: it must not find it free between the calls or inside them.
void calls_keep_the_lock() {
  everywhere = exchange(&numbers);
  std::atomic<bool> watch{false}, stop{false};
  std::atomic<long> tries{0}, found_free{0};
  std::thread watcher([&] {
    while (!stop) {
      if (!watch) {
        std::this_thread::yield();
        continue;
      }
      if (lock_sharing.mutex_trylock(handle) == 0) {
        if (watch) ++found_free;
        lock_sharing.mutex_unlock(handle);
      }
      ++tries;
    }
  });
  lapi_cntr_t done{};
  for (int round = 0; round < 50; ++round) {
    {
      const Locked locked;
      watch = true;
      const long before = tries;
      for (const unsigned target : {static_cast<unsigned>(task), right()}) begin_one_of_each(done, target);
      AWAIT(tries > before + 10, 20);
      watch = false;
      EXPECT(is_mine(handle));
    }
    CALL(LAPI_Waitcntr(handle, &done, 10, nullptr));
  }
  stop = true;
  watcher.join();
  EXPECT_EQUAL(found_free.load(), 0);
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(numbers.word, 100);
  EXPECT_EQUAL(numbers.wide, 100);
}

// They may release it, but the caller has it when they return.
void calls_that_wait_return_with_the_lock() {
  lapi_cntr_t done{};
  lapi_msg_info_t message;
  std::vector<void*> table(static_cast<std::size_t>(tasks));
  std::vector<lapi_long_t> wide_table(static_cast<std::size_t>(tasks));
  const Locked locked;
  for (int round = 0; round < 20; ++round) {
    CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(kNull), nullptr, 0, nullptr, 0, nullptr, nullptr, &done));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    EXPECT(is_mine(handle));
    CALL(LAPI_Probe(handle));
    EXPECT(is_mine(handle));
    CALL(LAPI_Msgpoll(handle, 10, &message));
    EXPECT(is_mine(handle));
    CALL(LAPI_Fence(handle));
    EXPECT(is_mine(handle));
    CALL(LAPI_Gfence(handle));
    EXPECT(is_mine(handle));
    CALL(LAPI_Address_init(handle, &done, table.data()));
    EXPECT(is_mine(handle) && table[static_cast<std::size_t>(task)] == &done);
    CALL(LAPI_Address_init64(handle, 5, wide_table.data()));
    EXPECT(is_mine(handle));
  }
}

void begin_and_end_refuse_the_holder() {
  lapi_info_t info = cleared_info();
  lapi_handle_t other = 0;
  {
    const Locked locked;
    RETURNS(LAPI_Term(handle), EDEADLK);
    RETURNS(LAPI_Init(&other, &info), EDEADLK);
    EXPECT(is_mine(handle));
  }
  CALL(open_context(&other, info));
  {
    const Locked locked;
    RETURNS(LAPI_Term(other), EDEADLK);
  }
  CALL(LAPI_Gfence(other));
  CALL(LAPI_Term(other));
}

// Threads that take the lock by hand and threads that call, on data that nothing else protects.
void threads_exclude_each_other() {
  constexpr int kThreads = 4;
  constexpr int kRounds = 500;
  long sum = 0;
  lapi_cntr_t done[kThreads]{};
  std::vector<std::thread> threads;
  for (lapi_cntr_t& mine : done) {
    threads.emplace_back([&sum, &mine] {
      for (int round = 0; round < kRounds; ++round) {
        const Locked locked;
        const long before = sum;
        std::this_thread::yield();
        sum = before + 1;
        CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(kNull), nullptr, 0, nullptr, 0, nullptr, nullptr,
                         round % 2 == 0 ? &mine : nullptr));
        if (round % 100 == 99) CALL(LAPI_Waitcntr(handle, &mine, 50, nullptr));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQUAL(sum, kThreads * kRounds);
}

// ---- handlers ----

lapi_cond_t signaled;

// In a handler that runs with the lock held, by the thread that runs it.
void check_inside(lapi_handle_t which) {
  timespec moment = from_now(1000);
  check(is_mine(which));
  check(lock_sharing.mutex_lock(which) == EDEADLK);
  check(lock_sharing.mutex_trylock(which) == EBUSY);
  check(lock_sharing.mutex_unlock(which) == EPERM);
  check(lock_sharing.cond_wait(which, &signaled) == EDEADLK);
  check(lock_sharing.cond_timedwait(which, &signaled, &moment) == EDEADLK);
  check(lock_sharing.cond_signal(which, &signaled) == 0);
  check(is_mine(which));
}

void inline_completion(lapi_handle_t* which, void* info) {
  check_inside(*which);
  count_completion(which, info);
}

void separate_completion(lapi_handle_t* which, void* info) {
  check(!is_mine(*which));
  check(lock_sharing.mutex_unlock(*which) == EPERM);
  check(lock_sharing.mutex_lock(*which) == 0);
  // Calls with the lock held, one that waits among them.
  lapi_cntr_t done{};
  check(LAPI_Put(*which, static_cast<unsigned>(task), 0, nullptr, nullptr, nullptr, nullptr, &done) == LAPI_SUCCESS);
  check(LAPI_Waitcntr(*which, &done, 1, nullptr) == LAPI_SUCCESS);
  check(is_mine(*which));
  check(lock_sharing.mutex_unlock(*which) == 0);
  count_completion(which, info);
}

void* header_handler(lapi_handle_t* which, void*, uint*, ulong* length, compl_hndlr_t** completion, void** info) {
  check_inside(*which);
  reinterpret_cast<lapi_return_info_t*>(length)->ret_flags = style;
  *completion = style == LAPI_NORMAL ? separate_completion : inline_completion;
  *info = &seen;
  ++seen.headers;
  return inbox;
}

void sent(lapi_handle_t* which, void* info, lapi_sh_info_t*) {
  check_inside(*which);
  check(info == &seen);
  ++seen.completions;
}

void handlers_run_as_said(bool held) {
  static unsigned char data[100000];
  DOES(cond_init(handle, &signaled), 0);
  for (const lapi_ret_flags_t how : {LAPI_NORMAL, LAPI_LOCAL_STATE, LAPI_SEND_REPLY}) {
    for (const std::size_t length : {std::size_t{0}, std::size_t{64}, sizeof data}) {
      start();
      style = how;
      CALL(LAPI_Gfence(handle));
      if (held) DOES(mutex_lock(handle), 0);
      exchange_message(kStyle, nullptr, 0, data, length);
      if (held) DOES(mutex_unlock(handle), 0);
      EXPECT_EQUAL(seen.headers.load(), 1);
      EXPECT_EQUAL(seen.completions.load(), 1);
    }
  }
  DOES(cond_destroy(handle, &signaled), 0);
}

void send_handlers_run_inside() {
  static unsigned char data[100000];
  DOES(cond_init(handle, &signaled), 0);
  std::vector<lapi_long_t> inboxes(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init64(handle, reinterpret_cast<lapi_long_t>(inbox), inboxes.data()));
  for (const std::size_t length : {std::size_t{8}, sizeof data}) {
    start();
    lapi_xfer_t command;
    std::memset(&command, 0, sizeof command);
    command.Put.Xfer_type = LAPI_PUT_XFER;
    command.Put.tgt = right();
    command.Put.tgt_addr = inboxes[right()];
    command.Put.org_addr = data;
    command.Put.len = length;
    command.Put.shdlr = sent;
    command.Put.sinfo = &seen;
    const Locked locked;
    CALL(LAPI_Xfer(handle, &command));
    CALL(LAPI_Fence(handle));
    EXPECT_EQUAL(seen.completions.load(), 1);
    EXPECT(seen.right);
  }
  CALL(LAPI_Gfence(handle));
  DOES(cond_destroy(handle, &signaled), 0);
}

std::atomic<int> errors{0};

void on_error(lapi_handle_t* which, int* code, lapi_err_t*, int*, int*) {
  check(*code == LAPI_ERR_HDR_HNDLR_NULL);
  check(!is_mine(*which));
  check(lock_sharing.mutex_lock(*which) == 0);
  check(lock_sharing.mutex_unlock(*which) == 0);
  ++errors;
}

// An index that nobody registered. The thread that makes the call which finds out holds the lock before and after.
void error_handler_runs_without() {
  start();
  errors = 0;
  CALL(LAPI_Gfence(handle));
  {
    const Locked locked;
    CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(200), nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr));
    while (errors == 0) {
      CALL(LAPI_Probe(handle));
      EXPECT(is_mine(handle));
    }
  }
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(errors.load(), 1);
  EXPECT(seen.right);
}

// ---- long critical sections ----

// Whoever polls while it holds the lock lets a completion handler and other threads have it.
template <class Poll>
void polling_lets_others_in(Poll poll) {
  start();
  style = LAPI_NORMAL;
  DOES(cond_init(handle, &signaled), 0);
  CALL(LAPI_Gfence(handle));
  std::atomic<int> entered{0};
  std::vector<std::thread> threads;
  {
    const Locked locked;
    for (int thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&entered] {
        for (int time = 0; time < 20; ++time) {
          const Locked inner;
          ++entered;
        }
      });
    }
    CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(kStyle), nullptr, 0, nullptr, 0, nullptr, nullptr,
                     nullptr));
    while (entered < 60 || seen.completions < 1) {
      poll();
      EXPECT(is_mine(handle));
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT(seen.right);
  CALL(LAPI_Gfence(handle));
  DOES(cond_destroy(handle, &signaled), 0);
}

// Whether a thread of this task waits in the kernel.
bool sleeps(long number_of_thread) {
  std::FILE* file = std::fopen(("/proc/self/task/" + std::to_string(number_of_thread) + "/stat").c_str(), "r");
  if (file == nullptr) return false;
  char state = 0;
  const int found = std::fscanf(file, "%*d (%*[^)]) %c", &state);
  std::fclose(file);
  return found == 1 && state == 'S';
}

// A thread sleeps in LAPI_Waitcntr; the other sets its counter with the lock held.
void counter_set_under_the_lock_wakes() {
  lapi_cntr_t counter{};
  for (int round = 0; round < 3; ++round) {
    std::atomic<bool> through{false};
    std::atomic<long> sleeper{0};
    std::thread waiter([&] {
      sleeper = thread_number();
      CALL(LAPI_Waitcntr(handle, &counter, 1, nullptr));
      through = true;
    });
    AWAIT(sleeper != 0 && sleeps(sleeper), 20);
    {
      const Locked locked;
      CALL(LAPI_Setcntr(handle, &counter, 1));
    }
    AWAIT(through.load(), 10);
    waiter.join();
  }
}

}  // namespace

int main(int count, char** arguments) {
  // Who sleeps without being woken sleeps longer than a case may take.
  setenv("MP_POLLING_INTERVAL", "100000000", 1);
  lapi_info_t info = cleared_info();
  info.err_hndlr = on_error;
  begin(count, arguments, info);
  get_lock_functions();
  register_all({{kNull, empty_handler}, {kStyle, header_handler}});
  windows = exchange(&window);
  CALL(LAPI_Gfence(handle));
  run("LAPI_Util offers the functions", 20, functions_are_offered);
  run("wrong uses are refused", 20, wrong_uses_are_refused);
  run("the owner is known", 30, owner_is_known);
  run("calls keep the lock", 40, calls_keep_the_lock);
  run("calls that wait return with the lock", 40, calls_that_wait_return_with_the_lock);
  run("LAPI_Init and LAPI_Term refuse who holds the lock", 30, begin_and_end_refuse_the_holder);
  run("threads exclude each other", 40, threads_exclude_each_other);
  run("handlers run with or without the lock", 40, [] { handlers_run_as_said(false); });
  run("handlers do so when the program holds it", 40, [] { handlers_run_as_said(true); });
  run("send completion handlers run with it", 30, send_handlers_run_inside);
  run("the error handler runs without it", 30, error_handler_runs_without);
  run("LAPI_Probe lets others have it", 40, [] { polling_lets_others_in([] { CALL(LAPI_Probe(handle)); }); });
  run("LAPI_Msgpoll lets others have it", 40, [] {
    polling_lets_others_in([] {
      lapi_msg_info_t message;
      CALL(LAPI_Msgpoll(handle, 3, &message));
    });
  });
  run("LAPI_Setcntr wakes with the lock held", 40, counter_set_under_the_lock_wakes);
  return finish();
}
