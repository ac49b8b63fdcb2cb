// Two contexts in each task, whose handlers send on each other's: what finds the other one busy begins when that is
// free, in order, with what it named when it was called.
#include <atomic>
#include <cerrno>
#include <vector>

#include "tests/system/two_contexts.h"

using namespace two_contexts;

namespace {

enum Index { kForwarded = 1, kArrived, kExchanged, kNumbered, kFlood };

std::atomic<lapi_ret_flags_t> style{LAPI_NORMAL};

void* arrived_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) { return nullptr; }

// ---- at the same time, sending ----

// What arrives at the right neighbour on one side, in the order in which it does.
struct Arrivals {
  std::atomic<int> next{1};
  std::atomic<int> wrong{0};
  alignas(8) int words[4] = {};  // what the left neighbour puts here
  long long sum = 0;
};
Arrivals arrivals[kSides];
std::vector<Arrivals*> arrivals_there[kSides];  // by task
struct Replies {
  lapi_cntr_t done{}, set{};
  int word = 0;
  long long before = 0;
};
Replies replies[kSides];
std::atomic<int> gathered{0}, left_behind{0};

constexpr int kPieces = 2, kWordsEach = 2;
constexpr unsigned kDataBytes = 3000;

struct Numbered {
  int round, part;
};

// Two messages come in each round: one from inside the handler, then one from outside.
void* numbered_handler(lapi_handle_t* which, void* header, uint*, ulong* length, compl_hndlr_t**, void**) {
  Numbered is{};
  std::memcpy(&is, header, sizeof is);
  Arrivals& here = arrivals[number_of(side_of(*which))];
  const int position = is.round * 2 + is.part;
  if (here.next.exchange(position + 1) != position) ++here.wrong;
  const auto* info = reinterpret_cast<lapi_return_info_t*>(length);
  if (is.part == 0 && info->msg_len != kDataBytes) ++here.wrong;
  if (is.part == 0 && info->udata_one_pkt_ptr != nullptr &&
      !holds(info->udata_one_pkt_ptr, kDataBytes, static_cast<unsigned>(is.round))) {
    ++here.wrong;
  }
  return nullptr;
}

// Everything that it names but the replies is gone when it returns.
int send_from_stack(lapi_handle_t which, Arrivals& there, Replies& reply, int round) {
  int put[kPieces * kWordsEach] = {round, round + 1, round + 2, round + 3};
  void* from[kPieces] = {&put[0], &put[kWordsEach]};
  void* to[kPieces] = {&there.words[kWordsEach], &there.words[0]};
  ulong lengths[kPieces] = {sizeof put / kPieces, sizeof put / kPieces};
  static int lasting_words[kSides][kPieces * kWordsEach];
  int* const data = lasting_words[which == sides[0].own];
  std::memcpy(data, put, sizeof put);  // a vector's data stays the program's until the counter has moved
  from[0] = data;
  from[1] = data + kWordsEach;
  lapi_vec_t source{LAPI_GEN_IOVECTOR, kPieces, from, lengths}, destination{LAPI_GEN_IOVECTOR, kPieces, to, lengths};
  int wrong = UNLIKE(LAPI_Putv(which, right(), &destination, &source, nullptr, nullptr, &reply.done), LAPI_SUCCESS);
  std::memset(to, 0, sizeof to);
  std::memset(from, 0, sizeof from);
  long long add = 1;
  wrong += UNLIKE(LAPI_Rmw64(which, FETCH_AND_ADD, right(), &there.sum, &add, &reply.before, &reply.done),
                  LAPI_SUCCESS);
  add = 0;
  std::vector<unsigned char> text(kDataBytes);
  fill(text.data(), text.size(), static_cast<unsigned>(round));
  Numbered header{round, 0};
  wrong += UNLIKE(LAPI_Amsend(which, right(), index_of(kNumbered), &header, sizeof header, text.data(), kDataBytes,
                              nullptr, nullptr, &reply.done),
                  LAPI_SUCCESS);
  std::memset(text.data(), 0, text.size());
  header = {};
  return wrong;
}

// Both sides' handlers of a round come together, each with its context's lock; both have sent before either returns, so
// that neither context was free.
void exchange_inside(lapi_handle_t which, int round) {
  Side& side = side_of(which);
  const int other = 1 - number_of(side);
  ++gathered;
  AWAIT(gathered >= kSides * round, 30);
  side.wrong += send_from_stack(side.other, *arrivals_there[other][right()], replies[other], round);
  int value = 0;
  side.wrong += UNLIKE(LAPI_Setcntr(side.other, &replies[other].set, round), LAPI_SUCCESS);
  side.wrong += UNLIKE(LAPI_Qenv(side.other, TASK_ID, &value), LAPI_SUCCESS) + unlike("TASK_ID", value, task);
  // These need the other context itself, which is not free.
  lapi_util_t no_function;
  std::memset(&no_function, 0, sizeof no_function);
  no_function.Util_type = LAPI_REG_DDM_FUNC;
  side.wrong += UNLIKE(LAPI_Util(side.other, &no_function), EAGAIN);
  side.wrong += UNLIKE(LAPI_Senv(side.other, ACK_THRESHOLD, 30), EAGAIN);
  side.wrong += UNLIKE(LAPI_Qenv(side.other, PRINT_STATISTICS, &value), EAGAIN);
  side.wrong += UNLIKE(LAPI_Setcntr_wstatus(side.other, &replies[other].set, 0, nullptr, nullptr), EAGAIN);
  ++left_behind;
  AWAIT(left_behind >= kSides * round, 30);
  ++side.runs;
}

int exchange_round = 0;  // of both sides: a side begins a round when both have ended the one before

void exchange_completion(lapi_handle_t* which, void*) { exchange_inside(*which, exchange_round); }
void exchange_send_completion(lapi_handle_t* which, void*, lapi_sh_info_t*) { exchange_inside(*which, exchange_round); }

void* exchange_handler(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t** completion, void**) {
  reinterpret_cast<lapi_return_info_t*>(length)->ret_flags = LAPI_SEND_REPLY;
  *completion = exchange_completion;
  return nullptr;
}

constexpr int kExchanges = 100;
bool by_send_handler = false;

// A message to the task itself, one of whose handlers does the round.
int begin_exchange(const Side& side, lapi_cntr_t* done) {
  lapi_xfer_t transfer;
  std::memset(&transfer, 0, sizeof transfer);
  lapi_am_t& message = transfer.Am;
  message.Xfer_type = LAPI_AM_XFER;
  message.tgt = static_cast<unsigned>(task);
  message.hdr_hdl = by_send_handler ? kArrived : kExchanged;
  message.shdlr = by_send_handler ? exchange_send_completion : nullptr;
  message.cmpl_cntr = done;
  return LAPI_Xfer(side.own, &transfer);
}

pthread_barrier_t between_rounds;

void* exchange_many(void* argument) {
  Side& side = *static_cast<Side*>(argument);
  const int index = number_of(side);
  Replies& reply = replies[index];
  for (int round = 1; round <= kExchanges; ++round) {
    if (pthread_barrier_wait(&between_rounds) == PTHREAD_BARRIER_SERIAL_THREAD) exchange_round = round;
    pthread_barrier_wait(&between_rounds);
    lapi_cntr_t done{};
    side.wrong += UNLIKE(begin_exchange(side, &done), LAPI_SUCCESS);
    side.wrong += UNLIKE(LAPI_Waitcntr(side.own, &done, 1, nullptr), LAPI_SUCCESS);
    AWAIT(side.runs >= round, 30);
    // What this thread sends now on the other context comes after what its handler has sent there.
    Numbered header{round, 1};
    side.wrong += UNLIKE(LAPI_Amsend(side.other, right(), index_of(kNumbered), &header, sizeof header, nullptr, 0,
                                     nullptr, nullptr, nullptr),
                         LAPI_SUCCESS);
    side.wrong += UNLIKE(LAPI_Waitcntr(side.own, &reply.set, round, nullptr), LAPI_SUCCESS);
    side.wrong += UNLIKE(LAPI_Waitcntr(side.own, &reply.done, 3, nullptr), LAPI_SUCCESS);
    side.wrong += unlike("the sum before", static_cast<int>(reply.before), round - 1);
  }
  return nullptr;
}

void exchanges() {
  gathered = left_behind = 0;
  for (int index = 0; index < kSides; ++index) {
    arrivals[index].next = 2;
    arrivals[index].sum = 0;
    replies[index].done = lapi_cntr_t{};
    sides[index].runs = 0;
    arrivals_there[index] = exchange(&arrivals[index]);
    CALL(LAPI_Gfence(sides[index].own));
  }
  constexpr int kAll = kExchanges * 2 + 2;
  on_both_sides(exchange_many, [] { return arrivals[0].next == kAll && arrivals[1].next == kAll; });
  fence_both();
  for (int index = 0; index < kSides; ++index) {
    EXPECT_EQUAL(sides[index].wrong.load(), 0);
    EXPECT_EQUAL(arrivals[index].wrong.load(), 0);
    EXPECT_EQUAL(arrivals[index].sum, kExchanges);
    const int wanted[] = {kExchanges + 2, kExchanges + 3, kExchanges, kExchanges + 1};
    EXPECT(std::memcmp(arrivals[index].words, wanted, sizeof wanted) == 0);
  }
}

void exchanges_by_send_handlers() {
  by_send_handler = true;
  exchanges();
}

// ---- passing on ----

int forwards = 300;
std::atomic<int> forwarded[kSides];

// What came on one context goes on to the right neighbour on the other.
void forward(lapi_handle_t* which, void*) {
  Side& side = side_of(*which);
  side.wrong += LAPI_Amsend(side.other, right(), index_of(kArrived), nullptr, 0, nullptr, 0, nullptr, nullptr,
                            nullptr) != LAPI_SUCCESS;
  ++side.runs;
}

void* forwarded_handler(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t** completion, void**) {
  reinterpret_cast<lapi_return_info_t*>(length)->ret_flags = style;
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
  for (Side& side : sides) {
    side.runs = 0;
    forwarded[number_of(side)] = 0;
  }
  set_handler(counting_handler, kArrived);
  fence_both();
  on_both_sides(send_many, [] {
    return forwarded[0] == forwards && forwarded[1] == forwards && sides[0].runs == forwards &&
           sides[1].runs == forwards;
  });
  for (const Side& side : sides) {
    EXPECT_EQUAL(side.runs.load(), forwards);
    EXPECT_EQUAL(side.wrong.load(), 0);
  }
  fence_both();
}

// ---- without end ----

constexpr int kMostKept = 1024;  // calls that a context keeps while a thread is inside
std::atomic<int> accepted{0}, refused{0}, counted{0};
std::atomic<bool> held{false}, over{false};

void* count_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) {
  ++counted;
  return nullptr;
}

// More than are kept.
void flood(lapi_handle_t* which, void*) {
  const Side& side = side_of(*which);
  for (int turn = 0; turn < kMostKept + 10; ++turn) {
    const int code =
        LAPI_Amsend(side.other, right(), index_of(kArrived), nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr);
    code == LAPI_SUCCESS ? ++accepted : ++refused;
    if (code != LAPI_SUCCESS && code != EAGAIN) side_of(*which).wrong += unlike("LAPI_Amsend", code, EAGAIN);
  }
}

void* flood_handler(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t** completion, void**) {
  reinterpret_cast<lapi_return_info_t*>(length)->ret_flags = LAPI_SEND_REPLY;
  *completion = flood;
  return nullptr;
}

void* hold_other(void*) {
  CALL(lock_functions.mutex_lock(sides[0].other));
  held = true;
  AWAIT(over.load(), 30);
  CALL(lock_functions.mutex_unlock(sides[0].other));
  return nullptr;
}

void bounded() {
  set_handler(flood_handler, kFlood);
  set_handler(count_handler, kArrived);
  fence_both();
  pthread_t holder;
  EXPECT_EQUAL(pthread_create(&holder, nullptr, hold_other, nullptr), 0);
  AWAIT(held.load(), 30);
  lapi_cntr_t done{};
  CALL(LAPI_Amsend(sides[0].own, static_cast<unsigned>(task), index_of(kFlood), nullptr, 0, nullptr, 0, nullptr,
                   nullptr, &done));
  CALL(LAPI_Waitcntr(sides[0].own, &done, 1, nullptr));
  EXPECT_EQUAL(accepted.load(), kMostKept);
  EXPECT_EQUAL(refused.load(), 10);
  over = true;
  EXPECT_EQUAL(pthread_join(holder, nullptr), 0);
  probe_both_until([] { return counted == kMostKept; });
  fence_both();
  EXPECT_EQUAL(counted.load(), kMostKept);
  EXPECT_EQUAL(sides[0].wrong.load(), 0);
}

}  // namespace

int main(int count, char** arguments) {
  open_both(count, arguments);
  if (!words.empty()) forwards = std::stoi(words[0]);
  set_handler(forwarded_handler, kForwarded);
  set_handler(arrived_handler, kArrived);
  set_handler(exchange_handler, kExchanged);
  set_handler(numbered_handler, kNumbered);
  fence_both();
  EXPECT_EQUAL(pthread_barrier_init(&between_rounds, nullptr, kSides), 0);
  run("handlers that are inside at the same time send on each other's context", 60, exchanges);
  run("so do send completion handlers", 60, exchanges_by_send_handlers);
  run("a completion handler passes messages on", 60, passed_on);
  style = LAPI_SEND_REPLY;
  run("an inline completion handler passes messages on", 60, passed_on);
  run("what no thread inside takes is bounded", 60, bounded);
  return finish_both();
}
