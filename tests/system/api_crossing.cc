// Two contexts in each task, whose handlers call each other: what runs inside a context may not use another one, so
// that no two can wait for each other; a completion handler in its own thread may.
#include <pthread.h>

#include <atomic>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr int kSides = 2;
enum Index { kRefused = 1, kMeeting, kForwarded, kArrived };

struct Side {
  lapi_handle_t own = 0;
  lapi_handle_t other = 0;
  std::atomic<int> wrong{0};  // calls that did not return what they should
  std::atomic<int> runs{0};   // handlers that have run
};
Side sides[kSides];

lapi_thread_func_t lock_functions;

Side& side_of(lapi_handle_t which) { return which == sides[0].own ? sides[0] : sides[1]; }

void* index_of(Index index) { return reinterpret_cast<void*>(static_cast<long>(index)); }

// How many calls on `which` return something else.
int calls_unlike(lapi_handle_t which, int wanted) {
  static std::atomic<int> variable{0};
  auto* word = reinterpret_cast<int*>(&variable);
  int operand = 0;
  long long wide = 0, wide_operand = 0;
  const auto me = static_cast<unsigned>(task);
  lapi_cntr_t counter{};
  lapi_msg_info_t message;
  void* address = nullptr;
  int value = 0;
  lapi_xfer_t transfer;
  std::memset(&transfer, 0, sizeof transfer);
  transfer.Put.Xfer_type = LAPI_PUT_XFER;
  transfer.Put.tgt = me;
  lapi_util_t no_function;
  std::memset(&no_function, 0, sizeof no_function);
  no_function.Util_type = LAPI_REG_DDM_FUNC;
  const int codes[] = {
      LAPI_Put(which, me, 4, word, &operand, nullptr, nullptr, nullptr),
      LAPI_Get(which, me, 0, nullptr, nullptr, nullptr, nullptr),
      LAPI_Rmw(which, FETCH_AND_ADD, me, word, &operand, nullptr, nullptr),
      LAPI_Rmw64(which, FETCH_AND_ADD, me, &wide, &wide_operand, nullptr, &counter),
      LAPI_Waitcntr(which, &counter, wanted == LAPI_SUCCESS ? 1 : 0, nullptr),
      LAPI_Amsend(which, me, index_of(kArrived), nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr),
      LAPI_Xfer(which, &transfer),
      LAPI_Util(which, &no_function),
      LAPI_Setcntr(which, &counter, 0),
      LAPI_Probe(which),
      LAPI_Msgpoll(which, 1, &message),
      LAPI_Fence(which),
      LAPI_Qenv(which, TASK_ID, &value),
      LAPI_Senv(which, ACK_THRESHOLD, 30),
      LAPI_Addr_set(which, nullptr, 60),
      LAPI_Addr_get(which, &address, 60),
  };
  int wrong = 0;
  int position = 0;
  for (const int code : codes) {
    if (code != wanted) {
      std::printf("# call %d on the other context returned %d\n", position, code);
      ++wrong;
    }
    ++position;
  }
  return wrong;
}

// Collective calls, which are refused inside, too.
int collective_calls_unlike(lapi_handle_t which, int wanted) {
  std::vector<void*> table(static_cast<std::size_t>(tasks));
  lapi_info_t info = cleared_info();
  lapi_handle_t more = 0;
  int wrong = LAPI_Gfence(which) != wanted;
  wrong += LAPI_Address_init(which, nullptr, table.data()) != wanted;
  wrong += LAPI_Term(which) != wanted;
  wrong += LAPI_Init(&more, &info) != wanted;
  return wrong;
}

void use_other_inside(lapi_handle_t which) {
  Side& side = side_of(which);
  side.wrong += calls_unlike(side.other, EDEADLK) + collective_calls_unlike(side.other, EDEADLK);
  lapi_cntr_t counter{};
  counter.cntr = 8;
  int value = 0;
  side.wrong += LAPI_Getcntr(side.other, &counter, &value) != LAPI_SUCCESS || value != 8;
  side.wrong += lock_functions.mutex_lock(side.other) != EDEADLK;
  ++side.runs;
}

void inside_completion(lapi_handle_t* which, void*) { use_other_inside(*which); }

void send_completion(lapi_handle_t* which, void*, lapi_sh_info_t*) { use_other_inside(*which); }

// In a thread of its own everything is allowed.
void outside_completion(lapi_handle_t* which, void*) {
  Side& side = side_of(*which);
  side.wrong += calls_unlike(side.other, LAPI_SUCCESS);
  ++side.runs;
}

std::atomic<lapi_ret_flags_t> style{LAPI_NORMAL};

void* refused_handler(lapi_handle_t* which, void*, uint*, ulong* length, compl_hndlr_t** completion, void**) {
  use_other_inside(*which);
  reinterpret_cast<lapi_return_info_t*>(length)->ret_flags = style;
  *completion = style == LAPI_NORMAL ? outside_completion : inside_completion;
  return nullptr;
}

void* arrived_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) { return nullptr; }

// From the right neighbour's context of the same side; three handlers run: its two, and the sender's own.
void send_refused(const Side& side) {
  lapi_cntr_t done{};
  lapi_xfer_t transfer;
  std::memset(&transfer, 0, sizeof transfer);
  lapi_am_t& message = transfer.Am;
  message.Xfer_type = LAPI_AM_XFER;
  message.tgt = right();
  message.hdr_hdl = kRefused;
  message.shdlr = send_completion;
  message.cmpl_cntr = &done;
  CALL(LAPI_Xfer(side.own, &transfer));
  CALL(LAPI_Waitcntr(side.own, &done, 1, nullptr));
  CALL(LAPI_Gfence(side.own));
  EXPECT_EQUAL(side.runs.load(), 3);
}

void refused() {
  for (const lapi_ret_flags_t kind : {LAPI_NORMAL, LAPI_LOCAL_STATE, LAPI_SEND_REPLY}) {
    style = kind;
    for (Side& side : sides) {
      CALL(LAPI_Gfence(side.own));
      side.runs = 0;
      CALL(LAPI_Gfence(side.own));
      send_refused(side);
      EXPECT_EQUAL(side.wrong.load(), 0);
    }
  }
}

// ---- at the same time ----

std::atomic<int> inside{0};  // handlers that have come, over all rounds

// Stays until both sides' handlers of the round are inside, each with its context's lock; then calls the other.
void* meeting_handler(lapi_handle_t* which, void* header, uint*, ulong*, compl_hndlr_t**, void**) {
  int round = 0;
  std::memcpy(&round, header, sizeof round);
  ++inside;
  AWAIT(inside >= kSides * round, 30);
  use_other_inside(*which);
  return nullptr;
}

constexpr int kMeetings = 200;

void* meet(void* argument) {
  Side& side = *static_cast<Side*>(argument);
  for (int round = 1; round <= kMeetings; ++round) {
    lapi_cntr_t done{};
    side.wrong += LAPI_Amsend(side.own, static_cast<unsigned>(task), index_of(kMeeting), &round, sizeof round, nullptr,
                              0, nullptr, nullptr, &done) != LAPI_SUCCESS;
    side.wrong += LAPI_Waitcntr(side.own, &done, 1, nullptr) != LAPI_SUCCESS;
  }
  return nullptr;
}

// In polling mode, too, both contexts move.
template <class Done>
void probe_both_until(Done done) {
  while (!done()) {
    for (const Side& side : sides) CALL(LAPI_Probe(side.own));
  }
}

template <class Done>
void on_both_sides(void* (*body)(void*), Done done) {
  pthread_t threads[kSides];
  for (int index = 0; index < kSides; ++index) {
    EXPECT_EQUAL(pthread_create(&threads[index], nullptr, body, &sides[index]), 0);
  }
  probe_both_until(done);
  for (const pthread_t thread : threads) EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
}

void meetings() {
  inside = 0;
  for (Side& side : sides) side.runs = 0;
  on_both_sides(meet, [] { return sides[0].runs == kMeetings && sides[1].runs == kMeetings; });
  for (const Side& side : sides) {
    EXPECT_EQUAL(side.runs.load(), kMeetings);
    EXPECT_EQUAL(side.wrong.load(), 0);
  }
}

// ---- passing on ----

int forwards = 300;
std::atomic<int> forwarded[kSides];

int number_of(const Side& side) { return static_cast<int>(&side - sides); }

// What came on one context goes on to the right neighbour on the other.
void forward(lapi_handle_t* which, void*) {
  Side& side = side_of(*which);
  side.wrong += LAPI_Amsend(side.other, right(), index_of(kArrived), nullptr, 0, nullptr, 0, nullptr, nullptr,
                            nullptr) != LAPI_SUCCESS;
  ++side.runs;
}

void* forwarded_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void**) {
  *completion = forward;
  return nullptr;
}

void* counting_handler(lapi_handle_t* which, void*, uint*, ulong*, compl_hndlr_t**, void**) {
  ++forwarded[number_of(side_of(*which))];
  return nullptr;
}

void* send_many(void* argument) {
  Side& side = *static_cast<Side*>(argument);
  for (int turn = 0; turn < forwards; ++turn) {
    side.wrong += LAPI_Amsend(side.own, right(), index_of(kForwarded), nullptr, 0, nullptr, 0, nullptr, nullptr,
                              nullptr) != LAPI_SUCCESS;
  }
  return nullptr;
}

void passed_on() {
  static lapi_cntr_t finished{};  // by how many tasks
  const std::vector<lapi_cntr_t*> counters = exchange(&finished);
  for (Side& side : sides) {
    side.runs = 0;
    CALL(LAPI_Addr_set(side.own, reinterpret_cast<void*>(counting_handler), kArrived));
    CALL(LAPI_Gfence(side.own));
  }
  on_both_sides(send_many, [] {
    return forwarded[0] == forwards && forwarded[1] == forwards && sides[0].runs == forwards &&
           sides[1].runs == forwards;
  });
  for (const Side& side : sides) {
    EXPECT_EQUAL(side.runs.load(), forwards);
    EXPECT_EQUAL(side.wrong.load(), 0);
  }
  // In polling mode a fence would serve one context only, and others may still need both.
  for (int other = 0; other < tasks; ++other) {
    const auto to = static_cast<unsigned>(other);
    CALL(LAPI_Put(handle, to, 0, nullptr, nullptr, counters[to], nullptr, nullptr));
  }
  probe_both_until([] { return counter_value(finished) == tasks; });
  for (const Side& side : sides) CALL(LAPI_Gfence(side.own));
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  if (!words.empty()) forwards = std::stoi(words[0]);
  sides[0].own = sides[1].other = handle;
  CALL(open_context(&sides[1].own, cleared_info()));
  sides[0].other = sides[1].own;
  if (polling) CALL(LAPI_Senv(sides[1].own, INTERRUPT_SET, 0));
  CALL(LAPI_Senv(sides[1].own, ERROR_CHK, 1));
  lapi_util_t command;
  std::memset(&command, 0, sizeof command);
  command.Util_type = LAPI_GET_THREAD_FUNC;
  CALL(LAPI_Util(handle, &command));
  lock_functions = command.ThreadFunc;
  for (const Side& side : sides) {
    CALL(LAPI_Addr_set(side.own, reinterpret_cast<void*>(refused_handler), kRefused));
    CALL(LAPI_Addr_set(side.own, reinterpret_cast<void*>(meeting_handler), kMeeting));
    CALL(LAPI_Addr_set(side.own, reinterpret_cast<void*>(forwarded_handler), kForwarded));
    CALL(LAPI_Addr_set(side.own, reinterpret_cast<void*>(arrived_handler), kArrived));
    CALL(LAPI_Gfence(side.own));
  }
  run("handlers may not use another context", 30, refused);
  run("handlers of two contexts never wait for each other", 60, meetings);
  run("a completion handler passes messages on", 60, passed_on);
  CALL(LAPI_Gfence(sides[1].own));
  CALL(LAPI_Term(sides[1].own));
  return finish();
}
