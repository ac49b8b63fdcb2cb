// What handlers may call and what they may not, replies, errors of handlers, and the threads of the library.
#include <dlfcn.h>
#include <pthread.h>

#include "tests/system/api_handler_case.h"

using namespace api_case;

namespace {

lapi_ret_flags_t style = LAPI_NORMAL;
lapi_handle_t handle_at_start = 0;  // what `handle` was when the newest thread was made

void* empty_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) { return nullptr; }

// ---- what handlers may not call ----

int calls_that_communicate(lapi_handle_t which, int wanted) {
  static int variable = 0;
  static long long wide = 0;
  static int operand[2] = {0, 0};
  static long long wide_operand[2] = {0, 0};
  static lapi_vec_t vector = {LAPI_GEN_IOVECTOR, 0, nullptr, nullptr};
  const auto me = static_cast<unsigned>(task);
  int wrong = 0;
  const int codes[] = {
      LAPI_Put(which, me, 4, &variable, operand, nullptr, nullptr, nullptr),
      LAPI_Get(which, me, 4, operand, &variable, nullptr, nullptr),
      LAPI_Rmw(which, FETCH_AND_ADD, me, &variable, operand, nullptr, nullptr),
      LAPI_Rmw64(which, FETCH_AND_ADD, me, &wide, wide_operand, nullptr, nullptr),
      LAPI_Amsend(which, me, reinterpret_cast<void*>(kNull), nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr),
      LAPI_Putv(which, me, &vector, &vector, nullptr, nullptr, nullptr),
      LAPI_Getv(which, me, &vector, &vector, nullptr, nullptr),
      LAPI_Amsendv(which, me, reinterpret_cast<void*>(kNull), nullptr, 0, &vector, nullptr, nullptr, nullptr),
  };
  for (const int code : codes) wrong += code != wanted;
  return wrong;
}

int calls_that_wait(lapi_handle_t which) {
  lapi_cntr_t counter{};
  counter.cntr = 1;
  lapi_msg_info_t message;
  std::vector<void*> table(static_cast<std::size_t>(tasks));
  std::vector<lapi_long_t> wide_table(static_cast<std::size_t>(tasks));
  lapi_info_t info = cleared_info();
  lapi_handle_t other = 0;
  const int codes[] = {
      LAPI_Waitcntr(which, &counter, 1, nullptr),
      LAPI_Probe(which),
      LAPI_Msgpoll(which, 1, &message),
      LAPI_Fence(which),
      LAPI_Gfence(which),
      LAPI_Address_init(which, nullptr, table.data()),
      LAPI_Address_init64(which, 0, wide_table.data()),
      LAPI_Init(&other, &info),
      LAPI_Term(which),
  };
  int wrong = 0;
  int position = 0;
  for (const int code : codes) {
    if (code != EDEADLK) {
      std::printf("# call %d from a handler returned %d\n", position, code);
      ++wrong;
    }
    ++position;
  }
  return wrong;
}

// Everywhere allowed.
int local_calls(lapi_handle_t which) {
  lapi_cntr_t counter{};
  int value = 0;
  void* address = nullptr;
  ulong number_of = 0;
  char text[LAPI_MAX_ERR_STRING];
  int wrong = LAPI_Setcntr(which, &counter, 4) != LAPI_SUCCESS;
  wrong += LAPI_Getcntr(which, &counter, &value) != LAPI_SUCCESS || value != 4;
  wrong += LAPI_Qenv(which, TASK_ID, &value) != LAPI_SUCCESS || value != task;
  wrong += LAPI_Senv(which, ACK_THRESHOLD, 30) != LAPI_SUCCESS;
  wrong += LAPI_Addr_set(which, &counter, 60) != LAPI_SUCCESS;
  wrong += LAPI_Addr_get(which, &address, 60) != LAPI_SUCCESS || address != &counter;
  wrong += LAPI_Addr_set(which, nullptr, 60) != LAPI_SUCCESS;
  wrong += LAPI_Address(&counter, &number_of) != LAPI_SUCCESS;
  wrong += LAPI_Msg_string(LAPI_ERR_TGT, text) != LAPI_SUCCESS;
  return wrong;
}

std::atomic<int> wrong_in_header{0};
std::atomic<int> wrong_in_completion{0};

void forbidden_completion(lapi_handle_t* which, void* info) {
  const bool inline_completion = style != LAPI_NORMAL;
  wrong_in_completion += local_calls(*which);
  if (inline_completion) wrong_in_completion += calls_that_wait(*which);
  if (!inline_completion) wrong_in_completion += calls_that_communicate(*which, LAPI_SUCCESS);
  count_completion(which, info);
}

void* forbidden_handler(lapi_handle_t* which, void*, uint*, ulong* length, compl_hndlr_t** completion, void** info) {
  wrong_in_header += calls_that_communicate(*which, EDEADLK) + calls_that_wait(*which) + local_calls(*which);
  reinterpret_cast<lapi_return_info_t*>(length)->ret_flags = style;
  *completion = forbidden_completion;
  *info = &seen;
  return inbox;
}

void forbidden() {
  for (const lapi_ret_flags_t kind : {LAPI_NORMAL, LAPI_LOCAL_STATE, LAPI_SEND_REPLY}) {
    start();
    style = kind;
    CALL(LAPI_Gfence(handle));
    int data = 4;
    exchange_message(kForbidden, nullptr, 0, &data, sizeof data);
    EXPECT_EQUAL(seen.completions.load(), 1);
    EXPECT_EQUAL(wrong_in_header.load(), 0);
    EXPECT_EQUAL(wrong_in_completion.load(), 0);
  }
}

// ---- replies and blocking calls from completion handlers ----

std::atomic<int> reply_code{0};

void reply(lapi_handle_t* which, void* info) {
  int value = 1000 + task;
  // The message came from the left neighbour; the answer goes back there.
  reply_code =
      LAPI_Amsend(*which, static_cast<unsigned>(left()), reinterpret_cast<void*>(kAnswer), &value, sizeof value,
                  nullptr, 0, &windows[static_cast<unsigned>(left())]->answered, nullptr, nullptr);
  count_completion(which, info);
}

void* reply_handler(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t** completion, void** info) {
  reinterpret_cast<lapi_return_info_t*>(length)->ret_flags = LAPI_SEND_REPLY;
  *completion = reply;
  *info = &seen;
  return inbox;
}

std::atomic<int> answer_sum{0};

void* answer_handler(lapi_handle_t*, void* header, uint*, ulong*, compl_hndlr_t**, void**) {
  int value = 0;
  std::memcpy(&value, header, sizeof value);
  answer_sum += value;
  return nullptr;
}

void replies() {
  constexpr int kMany = 500;
  start();
  answer_sum = 0;
  CALL(LAPI_Gfence(handle));
  int data = 6;
  for (int turn = 0; turn < kMany; ++turn) {
    CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(kReply), nullptr, 0, &data, sizeof data,
                     &windows[right()]->arrived, nullptr, nullptr));
  }
  CALL(LAPI_Waitcntr(handle, &window.arrived, kMany, nullptr));
  CALL(LAPI_Waitcntr(handle, &window.answered, kMany, nullptr));
  EXPECT_EQUAL(seen.completions.load(), kMany);
  EXPECT_EQUAL(reply_code.load(), LAPI_SUCCESS);
  EXPECT_EQUAL(answer_sum.load(), kMany * (1000 + static_cast<int>(right())));
}

std::atomic<int> blocking_wrong{0};

// In its own thread a completion handler may put, get and wait.
void blocking_completion(lapi_handle_t* which, void* info) {
  lapi_cntr_t done{};
  const auto to = static_cast<unsigned>(left());
  int value = 5000 + task;
  int back = 0;
  blocking_wrong += LAPI_Put(*which, to, sizeof value, &windows[to]->word, &value, nullptr, nullptr, &done) != 0;
  blocking_wrong += LAPI_Waitcntr(*which, &done, 1, nullptr) != 0;
  blocking_wrong += LAPI_Get(*which, to, sizeof back, &windows[to]->word, &back, nullptr, &done) != 0;
  blocking_wrong += LAPI_Waitcntr(*which, &done, 1, nullptr) != 0;
  blocking_wrong += back != value;
  blocking_wrong += LAPI_Fence(*which) != 0;
  blocking_wrong += LAPI_Probe(*which) != 0;
  count_completion(which, info);
}

void* blocking_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void** info) {
  *completion = blocking_completion;
  *info = &seen;
  return inbox;
}

void blocking() {
  for (int round = 0; round < 20; ++round) {
    start();
    int data = 4;
    exchange_message(kBlocking, nullptr, 0, &data, sizeof data);
    EXPECT_EQUAL(seen.completions.load(), 1);
    EXPECT_EQUAL(blocking_wrong.load(), 0);
    EXPECT_EQUAL(window.word, 5000 + static_cast<int>(right()));
  }
}

// ---- an index without handler ----

struct Fault {
  std::atomic<int> count{0};
  std::atomic<int> code{0};
  std::atomic<int> kind{-1};
  std::atomic<int> own{-1};
  std::atomic<int> source{-2};
} fault;

void on_error(lapi_handle_t* which, int* code, lapi_err_t* kind, int* own, int* source) {
  check(*which == handle);
  fault.code = *code;
  fault.kind = *kind;
  fault.own = *own;
  fault.source = *source;
  ++fault.count;
}

void unregistered() {
  start();
  std::vector<unsigned char> data(50000, 3);
  const int last = query(LOC_ADDRTBL_SZ) - 1;
  int faults = 0;
  for (const std::size_t length : {std::size_t{0}, std::size_t{100}, data.size()}) {
    lapi_cntr_t done{};
    CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(static_cast<long>(last)), nullptr, 0, data.data(), length,
                     &windows[right()]->arrived, nullptr, &done));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    CALL(LAPI_Waitcntr(handle, &window.arrived, 1, nullptr));
    ++faults;
    while (fault.count < faults) CALL(LAPI_Probe(handle));
    EXPECT_EQUAL(fault.code.load(), LAPI_ERR_HDR_HNDLR_NULL);
    EXPECT_EQUAL(fault.kind.load(), LAPI_PROGRAM_ERROR);
    EXPECT_EQUAL(fault.own.load(), task);
    EXPECT_EQUAL(fault.source.load(), left());
    CALL(LAPI_Gfence(handle));
  }
  EXPECT_EQUAL(fault.count.load(), faults);
  EXPECT(seen.right);
}

// ---- threads of the library ----

std::atomic<int> started{0};
int start_argument = 0;

void thread_starts(void* argument) {
  if (argument == &start_argument) ++started;
}

std::atomic<int> at_once{0};
std::atomic<int> most_at_once{0};
std::atomic<int> thread_stack_right{0};
constexpr std::size_t kStack = 3u << 20;
constexpr int kThreads = 4;

// Holds its thread until all threads hold one.
void hold(lapi_handle_t* which, void* info) {
  const int now = ++at_once;
  int most = most_at_once;
  while (now > most && !most_at_once.compare_exchange_weak(most, now)) {
  }
  for (int turn = 0; turn < 5000 && most_at_once < kThreads; ++turn) usleep(1000);
  pthread_attr_t attributes;
  std::size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_destroy(&attributes);
  }
  if (size == kStack) ++thread_stack_right;
  --at_once;
  count_completion(which, info);
}

void* hold_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void** info) {
  *completion = hold;
  *info = &seen;
  return nullptr;
}

void several_threads() {
  start();
  AWAIT(started.load() >= kThreads + 1, 10);  // and the dataplane thread
  EXPECT_EQUAL(started.load(), kThreads + 1);
  lapi_cntr_t done{};
  for (int turn = 0; turn < kThreads; ++turn) {
    CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(kHold), nullptr, 0, nullptr, 0,
                     &windows[right()]->arrived, nullptr, &done));
  }
  CALL(LAPI_Waitcntr(handle, &window.arrived, kThreads, nullptr));
  CALL(LAPI_Waitcntr(handle, &done, kThreads, nullptr));
  EXPECT_EQUAL(most_at_once.load(), kThreads);
  EXPECT_EQUAL(thread_stack_right.load(), kThreads);
}

// A handler may run, and use the program's handle, before LAPI_Init has returned.
void handle_comes_first() { EXPECT_EQUAL(handle_at_start, handle); }

}  // namespace

// In place of the C library's, for everybody in this program.
extern "C" [[gnu::visibility("default")]] int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                             void* (*body)(void*), void* argument) noexcept {
  static const auto create = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  handle_at_start = handle;
  return create(thread, attributes, body, argument);
}

int main(int count, char** arguments) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  com_thread_info_t threads{&attributes, thread_starts, &start_argument};
  lapi_info_t info = cleared_info();
  info.num_compl_hndlr_thr = kThreads;
  info.lapi_thread_attr = &threads;
  info.err_hndlr = on_error;
  begin(count, arguments, info);
  register_all({{kNull, empty_handler},
                {kForbidden, forbidden_handler},
                {kReply, reply_handler},
                {kAnswer, answer_handler},
                {kBlocking, blocking_handler},
                {kHold, hold_handler}});
  windows = exchange(&window);
  run("the handle is known before any thread of its context begins", 10, handle_comes_first);
  run("handlers may not call what communicates or waits", 20, forbidden);
  run("LAPI_SEND_REPLY handlers answer", 30, replies);
  run("completion handlers may wait", 30, blocking);
  run("an index without handler is an error at the target", 30, unregistered);
  run("several completion threads, started as asked", 30, several_threads);
  return finish();
}
