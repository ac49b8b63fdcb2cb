// Two contexts in each task, whose handlers call each other: what runs inside a context never waits for another one, so
// that no two can wait for each other. What it sends there begins when that one is free.
#include <atomic>
#include <cerrno>
#include <vector>

#include "tests/system/two_contexts.h"

using namespace two_contexts;

namespace {

enum Index { kCrossing = 1, kMeeting, kArrived };

// Where what is begun inside a handler may still read and write when the handler has returned.
struct Lasting {
  int word = 0;
  long long wide = 0;
  lapi_cntr_t updated{};  // by each LAPI_Rmw64, at any time after it
  lapi_cntr_t set{};      // by the calls that every handler may make alone
};
Lasting lasting[kSides];

// How many calls that send return something else. Sent to the task itself.
int sends_unlike(lapi_handle_t which, int wanted) {
  Lasting& there = lasting[which == sides[0].own];
  int operand = 0;
  long long wide_operand = 0;
  const auto me = static_cast<unsigned>(task);
  lapi_xfer_t transfer;
  std::memset(&transfer, 0, sizeof transfer);
  transfer.Put.Xfer_type = LAPI_PUT_XFER;
  transfer.Put.tgt = me;
  return UNLIKE(LAPI_Put(which, me, 4, &there.word, &operand, nullptr, nullptr, nullptr), wanted) +
         UNLIKE(LAPI_Get(which, me, 0, nullptr, nullptr, nullptr, nullptr), wanted) +
         UNLIKE(LAPI_Rmw(which, FETCH_AND_ADD, me, &there.word, &operand, nullptr, nullptr), wanted) +
         UNLIKE(LAPI_Rmw64(which, FETCH_AND_ADD, me, &there.wide, &wide_operand, nullptr, &there.updated), wanted) +
         UNLIKE(LAPI_Amsend(which, me, index_of(kArrived), nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr), wanted) +
         UNLIKE(LAPI_Xfer(which, &transfer), wanted);
}

// A wrong argument is found by the call itself, wherever the operation begins.
int wrong_sends(lapi_handle_t which, int wanted) {
  int word = 0;
  const auto none = static_cast<unsigned>(tasks);
  return UNLIKE(LAPI_Put(which, none, 4, &word, &word, nullptr, nullptr, nullptr), wanted) +
         UNLIKE(LAPI_Amsend(which, none, index_of(kArrived), nullptr, 0, &word, 4, nullptr, nullptr, nullptr),
                wanted);
}

int waits_unlike(lapi_handle_t which, int wanted) {
  static lapi_cntr_t counter{};
  lapi_msg_info_t message;
  return UNLIKE(LAPI_Waitcntr(which, &counter, wanted == LAPI_SUCCESS ? 0 : 1, nullptr), wanted) +
         UNLIKE(LAPI_Probe(which), wanted) + UNLIKE(LAPI_Msgpoll(which, 1, &message), wanted) +
         UNLIKE(LAPI_Fence(which), wanted);
}

// What every handler may call.
int local_calls_unlike(lapi_handle_t which) {
  lapi_cntr_t& counter = lasting[which == sides[0].own].set;
  void* address = nullptr;
  int value = 0;
  int wrong = UNLIKE(LAPI_Setcntr(which, &counter, 7), LAPI_SUCCESS);
  wrong += UNLIKE(LAPI_Getcntr(which, &counter, &value), LAPI_SUCCESS) + unlike("the counter's value", value, 7);
  wrong += UNLIKE(LAPI_Qenv(which, TASK_ID, &value), LAPI_SUCCESS) + unlike("TASK_ID", value, task);
  wrong += UNLIKE(LAPI_Addr_set(which, &counter, 60), LAPI_SUCCESS);
  wrong += UNLIKE(LAPI_Addr_get(which, &address, 60), LAPI_SUCCESS);
  return wrong + unlike("whether the address is the one that was set", address == &counter, 1);
}

// What needs the context itself: it says so when a thread is inside.
int calls_that_try_unlike(lapi_handle_t which) {
  lapi_util_t no_function;
  std::memset(&no_function, 0, sizeof no_function);
  no_function.Util_type = LAPI_REG_DDM_FUNC;
  lapi_statistics_t statistics;
  const int codes[] = {LAPI_Util(which, &no_function), LAPI_Senv(which, ACK_THRESHOLD, 30),
                       LAPI_Qenv(which, QUERY_STATISTICS, reinterpret_cast<int*>(&statistics))};
  int wrong = 0;
  for (const int code : codes) {
    if (code != EAGAIN) wrong += unlike("a call that tries", code, LAPI_SUCCESS);
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

// `sends`: what calls that send return.
void use_other_inside(lapi_handle_t which, int sends) {
  Side& side = side_of(which);
  side.wrong += sends_unlike(side.other, sends) + waits_unlike(side.other, EDEADLK);
  side.wrong += wrong_sends(side.other, LAPI_ERR_TGT);
  side.wrong += collective_calls_unlike(side.other, EDEADLK);
  side.wrong += local_calls_unlike(side.other) + calls_that_try_unlike(side.other);
  side.wrong += UNLIKE(lock_functions.mutex_lock(side.other), EDEADLK);
  ++side.runs;
}

void inside_completion(lapi_handle_t* which, void*) { use_other_inside(*which, LAPI_SUCCESS); }

void send_completion(lapi_handle_t* which, void*, lapi_sh_info_t*) { use_other_inside(*which, LAPI_SUCCESS); }

// In a thread of its own everything is allowed.
void outside_completion(lapi_handle_t* which, void*) {
  Side& side = side_of(*which);
  side.wrong += sends_unlike(side.other, LAPI_SUCCESS) + waits_unlike(side.other, LAPI_SUCCESS);
  side.wrong += local_calls_unlike(side.other);
  ++side.runs;
}

std::atomic<lapi_ret_flags_t> style{LAPI_NORMAL};

void* crossing_handler(lapi_handle_t* which, void*, uint*, ulong* length, compl_hndlr_t** completion, void**) {
  use_other_inside(*which, EDEADLK);
  reinterpret_cast<lapi_return_info_t*>(length)->ret_flags = style;
  *completion = style == LAPI_NORMAL ? outside_completion : inside_completion;
  return nullptr;
}

void* arrived_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) { return nullptr; }

// From the right neighbour's context of the same side; three handlers run: its two, and the sender's own.
void send_crossing(const Side& side) {
  lapi_cntr_t done{};
  lapi_xfer_t transfer;
  std::memset(&transfer, 0, sizeof transfer);
  lapi_am_t& message = transfer.Am;
  message.Xfer_type = LAPI_AM_XFER;
  message.tgt = right();
  message.hdr_hdl = kCrossing;
  message.shdlr = send_completion;
  message.cmpl_cntr = &done;
  CALL(LAPI_Xfer(side.own, &transfer));
  CALL(LAPI_Waitcntr(side.own, &done, 1, nullptr));
  CALL(LAPI_Gfence(side.own));
  EXPECT_EQUAL(side.runs.load(), 3);
}

void crossings() {
  for (const lapi_ret_flags_t kind : {LAPI_NORMAL, LAPI_LOCAL_STATE, LAPI_SEND_REPLY}) {
    style = kind;
    for (Side& side : sides) {
      CALL(LAPI_Gfence(side.own));
      side.runs = 0;
      CALL(LAPI_Gfence(side.own));
      send_crossing(side);
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
  use_other_inside(*which, EDEADLK);
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

void meetings() {
  inside = 0;
  for (Side& side : sides) side.runs = 0;
  on_both_sides(meet, [] { return sides[0].runs == kMeetings && sides[1].runs == kMeetings; });
  for (const Side& side : sides) {
    EXPECT_EQUAL(side.runs.load(), kMeetings);
    EXPECT_EQUAL(side.wrong.load(), 0);
  }
}

}  // namespace

int main(int count, char** arguments) {
  open_both(count, arguments);
  set_handler(crossing_handler, kCrossing);
  set_handler(meeting_handler, kMeeting);
  set_handler(arrived_handler, kArrived);
  fence_both();
  run("handlers may do to another context what they may do to their own", 30, crossings);
  run("handlers of two contexts never wait for each other", 60, meetings);
  return finish_both();
}
