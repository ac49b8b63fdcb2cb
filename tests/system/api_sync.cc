// Counters, LAPI_Probe, LAPI_Msgpoll, fences, exchanged addresses, read-modify-write.
#include <pthread.h>

#include <atomic>
#include <set>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

struct Window {
  std::atomic<int> word{0};
  std::atomic<long long> wide{0};
  std::atomic<int> flags{0};
  std::atomic<int> spin{0};
  lapi_cntr_t arrived{};
  int slots[64] = {};
  int echo = 0;
} window;
std::vector<Window*> windows;

void counter_values() {
  lapi_cntr_t counter;
  std::memset(&counter, 0, sizeof counter);
  EXPECT_EQUAL(counter_value(counter), 0);
  int rest = -1;
  for (const int value : {5, 0, -3, 2147483647, -2147483647 - 1}) {
    CALL(LAPI_Setcntr(handle, &counter, value));
    EXPECT_EQUAL(counter_value(counter), value);
  }
  CALL(LAPI_Setcntr(handle, &counter, 10));
  CALL(LAPI_Waitcntr(handle, &counter, 4, &rest));
  EXPECT_EQUAL(rest, 6);
  EXPECT_EQUAL(counter_value(counter), 6);
  CALL(LAPI_Waitcntr(handle, &counter, 6, &rest));
  EXPECT_EQUAL(rest, 0);
  CALL(LAPI_Waitcntr(handle, &counter, 0, &rest));
  EXPECT_EQUAL(rest, 0);
  CALL(LAPI_Setcntr(handle, &counter, 3));
  CALL(LAPI_Waitcntr(handle, &counter, -2, &rest));
  EXPECT_EQUAL(rest, 5);
  CALL(LAPI_Waitcntr(handle, &counter, 5, nullptr));
  EXPECT_EQUAL(counter_value(counter), 0);
}

void* set_later(void* counter) {
  usleep(20000);
  if (LAPI_Setcntr(handle, static_cast<lapi_cntr_t*>(counter), 1) != LAPI_SUCCESS) _exit(1);
  return nullptr;
}

// LAPI_Setcntr of one thread wakes another that waits.
void another_thread_sets() {
  for (int round = 0; round < 5; ++round) {
    lapi_cntr_t counter{};
    pthread_t thread;
    EXPECT_EQUAL(pthread_create(&thread, nullptr, set_later, &counter), 0);
    CALL(LAPI_Waitcntr(handle, &counter, 1, nullptr));
    EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
  }
}

// Polling with LAPI_Probe alone, as the guide's examples do.
void probing() {
  const int value = task + 100;
  lapi_cntr_t done{};
  CALL(LAPI_Put(handle, right(), sizeof value, &windows[right()]->echo, const_cast<int*>(&value),
                &windows[right()]->arrived, nullptr, &done));
  while (counter_value(window.arrived) < 1) CALL(LAPI_Probe(handle));
  EXPECT_EQUAL(window.echo, left() + 100);
  while (counter_value(done) < 1) CALL(LAPI_Probe(handle));
  CALL(LAPI_Setcntr(handle, &window.arrived, 0));
  for (int round = 0; round < 1000; ++round) CALL(LAPI_Probe(handle));
}

unsigned poll_state(unsigned rounds) {
  lapi_msg_info_t info;
  std::memset(&info, 0xff, sizeof info);
  CALL(LAPI_Msgpoll(handle, rounds, &info));
  EXPECT((info.status & ~(LAPI_DISP_CNTR | LAPI_SEND_COMPLETE | LAPI_RECV_COMPLETE | LAPI_BOTH_COMPLETE)) == 0);
  const bool sent = (info.status & LAPI_SEND_COMPLETE) != 0;
  const bool received = (info.status & LAPI_RECV_COMPLETE) != 0;
  EXPECT_EQUAL((info.status & LAPI_BOTH_COMPLETE) != 0, sent && received);
  EXPECT_EQUAL((info.status & LAPI_DISP_CNTR) != 0, !sent && !received);
  return info.status;
}

// What has completed since the last LAPI_Msgpoll; nothing: LAPI_DISP_CNTR.
void msgpoll() {
  while ((poll_state(0) & LAPI_DISP_CNTR) == 0) {
  }
  EXPECT_EQUAL(poll_state(100), LAPI_DISP_CNTR);
  CALL(LAPI_Gfence(handle));
  const int value = 1;
  lapi_cntr_t done{};
  if (task == 0) {
    CALL(LAPI_Put(handle, 1, sizeof value, &windows[1]->echo, const_cast<int*>(&value), nullptr, nullptr, &done));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    EXPECT((poll_state(0) & LAPI_SEND_COMPLETE) != 0);
    EXPECT_EQUAL(poll_state(0), LAPI_DISP_CNTR);
  }
  if (task == 1) {
    while ((poll_state(1000) & LAPI_RECV_COMPLETE) == 0) {
    }
    EXPECT_EQUAL(window.echo, 1);
  }
  CALL(LAPI_Gfence(handle));
  while ((poll_state(0) & LAPI_DISP_CNTR) == 0) {
  }
  // To itself: sent and received at once.
  CALL(LAPI_Put(handle, static_cast<unsigned>(task), sizeof value, &window.echo, const_cast<int*>(&value), nullptr,
                nullptr, nullptr));
  EXPECT_EQUAL(poll_state(10), LAPI_SEND_COMPLETE | LAPI_RECV_COMPLETE | LAPI_BOTH_COMPLETE);
}

bool another_polls() {
  lapi_msg_info_t info{};
  CALL(LAPI_Msgpoll(handle, 1, &info));
  return (info.status & LAPI_POLLING_NET) != 0;
}

void* wait_polling(void* counter) {
  if (LAPI_Waitcntr(handle, static_cast<lapi_cntr_t*>(counter), 1, nullptr) != LAPI_SUCCESS) _exit(1);
  return nullptr;
}

void* wait_patiently(void* counter) {
  if (LAPI_Nopoll_wait(handle, static_cast<lapi_cntr_t*>(counter), 1, nullptr) != LAPI_SUCCESS) _exit(1);
  return nullptr;
}

// LAPI_POLLING_NET: while another thread polls, and only then. One in LAPI_Nopoll_wait does not.
void msgpoll_beside_others() {
  for (int round = 0; round < 3; ++round) {
    EXPECT(!another_polls());
    lapi_cntr_t counter{}, patient{};
    pthread_t thread, patient_one;
    EXPECT_EQUAL(pthread_create(&patient_one, nullptr, wait_patiently, &patient), 0);
    for (int turn = 0; turn < 100; ++turn) EXPECT(!another_polls());
    EXPECT_EQUAL(pthread_create(&thread, nullptr, wait_polling, &counter), 0);
    while (!another_polls()) {
    }
    EXPECT(another_polls());
    CALL(LAPI_Setcntr(handle, &counter, 1));
    EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
    EXPECT(!another_polls());
    CALL(LAPI_Setcntr(handle, &patient, 1));
    EXPECT_EQUAL(pthread_join(patient_one, nullptr), 0);
  }
}

// After LAPI_Fence the data of this task's puts is in place, whether it has been waited for or not.
void fence() {
  std::vector<int> values(64);
  for (int round = 1; round <= 50; ++round) {
    for (int slot = 0; slot < 64; ++slot) {
      values[static_cast<std::size_t>(slot)] = round * 64 + slot;
      CALL(LAPI_Put(handle, right(), sizeof(int), &windows[right()]->slots[slot],
                    &values[static_cast<std::size_t>(slot)], nullptr, nullptr, nullptr));
    }
    CALL(LAPI_Fence(handle));
    int there[64] = {};
    lapi_cntr_t got{};
    CALL(LAPI_Get(handle, right(), sizeof there, windows[right()]->slots, there, nullptr, &got));
    CALL(LAPI_Fence(handle));
    EXPECT_EQUAL(counter_value(got), 1);  // a fence covers gets
    for (int slot = 0; slot < 64; ++slot) EXPECT_EQUAL(there[slot], round * 64 + slot);
  }
}

// After LAPI_Gfence everybody's data is in place, long messages too, and nobody is through before all have come.
void gfence() {
  static std::vector<int> table(static_cast<std::size_t>(tasks));
  static std::vector<unsigned char> large(200000 * static_cast<std::size_t>(tasks));
  static std::vector<unsigned char> own(200000);
  const std::vector<int*> tables = exchange(table.data());
  const std::vector<unsigned char*> larges = exchange(large.data());
  for (int round = 1; round <= 20; ++round) {
    int value = round * 100 + task;
    fill(own.data(), own.size(), static_cast<unsigned long>(value));
    for (unsigned other = 0; other < static_cast<unsigned>(tasks); ++other) {
      CALL(LAPI_Put(handle, other, sizeof value, tables[other] + task, &value, nullptr, nullptr, nullptr));
      CALL(LAPI_Put(handle, other, own.size(), larges[other] + static_cast<std::size_t>(task) * own.size(), own.data(),
                    nullptr, nullptr, nullptr));
    }
    CALL(LAPI_Gfence(handle));
    for (int other = 0; other < tasks; ++other) {
      EXPECT_EQUAL(table[static_cast<std::size_t>(other)], round * 100 + other);
      EXPECT(holds(large.data() + static_cast<std::size_t>(other) * own.size(), own.size(),
                   static_cast<unsigned long>(round * 100 + other)));
    }
    CALL(LAPI_Gfence(handle));
  }
}

void addresses() {
  std::vector<lapi_long_t> table(static_cast<std::size_t>(tasks), 1);
  const lapi_long_t mine = 0xfedcba9800000000ull + static_cast<lapi_long_t>(task);
  CALL(LAPI_Address_init64(handle, mine, table.data()));
  for (int other = 0; other < tasks; ++other) {
    EXPECT(table[static_cast<std::size_t>(other)] == 0xfedcba9800000000ull + static_cast<lapi_long_t>(other));
  }
  std::vector<void*> pointers(static_cast<std::size_t>(tasks), &table);
  CALL(LAPI_Address_init(handle, task % 2 == 0 ? nullptr : &window, pointers.data()));
  for (int other = 0; other < tasks; ++other) {
    EXPECT(pointers[static_cast<std::size_t>(other)] ==
           (other % 2 == 0 ? nullptr : windows[static_cast<unsigned>(other)]));
  }
  const int last = query(LOC_ADDRTBL_SZ) - 1;
  EXPECT(last >= 63);
  void* found = &window;
  CALL(LAPI_Addr_get(handle, &found, last));
  EXPECT(found == nullptr);
  CALL(LAPI_Addr_set(handle, &window, last));
  CALL(LAPI_Addr_get(handle, &found, last));
  EXPECT(found == &window);
  CALL(LAPI_Addr_set(handle, &windows, last));
  CALL(LAPI_Addr_get(handle, &found, last));
  EXPECT(found == &windows);
  CALL(LAPI_Addr_set(handle, nullptr, last));
  CALL(LAPI_Addr_get(handle, &found, last));
  EXPECT(found == nullptr);
}

template <class Word>
Word modify(RMW_ops_t operation, unsigned to, Word* variable, Word input, Word swap_value = 0) {
  Word operands[2] = {input, swap_value};
  Word previous = -77;
  lapi_cntr_t done{};
  if constexpr (sizeof(Word) == 4) {
    CALL(LAPI_Rmw(handle, operation, to, variable, operands, &previous, &done));
  } else {
    CALL(LAPI_Rmw64(handle, operation, to, variable, operands, &previous, &done));
  }
  operands[0] = operands[1] = 12345;  // read before the call returned
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  return previous;
}

template <class Word, class Atomic>
void four_operations(Atomic Window::*member, Word high) {
  for (const unsigned to : {right(), static_cast<unsigned>(task)}) {
    CALL(LAPI_Gfence(handle));
    window.*member = high;
    CALL(LAPI_Gfence(handle));
    auto* variable = reinterpret_cast<Word*>(&(windows[to]->*member));
    EXPECT_EQUAL(modify<Word>(FETCH_AND_ADD, to, variable, 5), high);
    EXPECT_EQUAL(modify<Word>(FETCH_AND_ADD, to, variable, -6), high + 5);
    EXPECT_EQUAL(modify<Word>(SWAP, to, variable, 0x50), high - 1);
    EXPECT_EQUAL(modify<Word>(FETCH_AND_OR, to, variable, 0x0f), 0x50);
    EXPECT_EQUAL(modify<Word>(COMPARE_AND_SWAP, to, variable, 0x50, 1), FALSE);
    EXPECT_EQUAL(modify<Word>(COMPARE_AND_SWAP, to, variable, 0x5f, -1), TRUE);
    EXPECT_EQUAL(modify<Word>(SWAP, to, variable, 3), -1);
    // Without a place for the previous value and without a counter.
    Word operand = 4;
    lapi_cntr_t done{};
    if constexpr (sizeof(Word) == 4) {
      CALL(LAPI_Rmw(handle, FETCH_AND_ADD, to, variable, &operand, nullptr, &done));
      CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
      CALL(LAPI_Rmw(handle, FETCH_AND_ADD, to, variable, &operand, nullptr, nullptr));
    } else {
      CALL(LAPI_Rmw64(handle, FETCH_AND_ADD, to, variable, &operand, nullptr, &done));
      CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
      CALL(LAPI_Rmw64(handle, FETCH_AND_ADD, to, variable, &operand, nullptr, nullptr));
    }
    CALL(LAPI_Fence(handle));
    EXPECT_EQUAL(modify<Word>(FETCH_AND_ADD, to, variable, 0), 11);
  }
}

void rmw() { four_operations<int>(&Window::word, 0x7ffffff0); }
void rmw64() { four_operations<long long>(&Window::wide, 0x7ffffff012345678ll); }

// All tasks, their own processor instructions too, on one variable of task 0.
void contended() {
  constexpr int kRounds = 300;
  CALL(LAPI_Gfence(handle));
  window.word = 0;
  window.wide = 0;
  window.flags = 0;
  window.spin = 0;
  std::memset(window.slots, 0, sizeof window.slots);
  CALL(LAPI_Gfence(handle));
  std::set<int> seen;
  int* lock = reinterpret_cast<int*>(&windows[0]->spin);
  for (int round = 0; round < kRounds; ++round) {
    seen.insert(modify<int>(FETCH_AND_ADD, 0, reinterpret_cast<int*>(&windows[0]->word), 1));
    modify<long long>(FETCH_AND_ADD, 0, reinterpret_cast<long long*>(&windows[0]->wide), 1ll << 31);
    if (task == 0) {
      seen.insert(window.word.fetch_add(1));
      window.wide += 1ll << 31;
    }
    if (round % 30 != 0) continue;
    // A lock made of COMPARE_AND_SWAP; `echo` is only changed under it.
    while (modify<int>(COMPARE_AND_SWAP, 0, lock, 0, task + 1) != TRUE) {
    }
    int value = 0;
    lapi_cntr_t done{};
    CALL(LAPI_Get(handle, 0, sizeof value, &windows[0]->slots[0], &value, nullptr, &done));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    ++value;
    CALL(LAPI_Put(handle, 0, sizeof value, &windows[0]->slots[0], &value, nullptr, nullptr, &done));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    EXPECT_EQUAL(modify<int>(SWAP, 0, lock, 0), task + 1);
  }
  EXPECT_EQUAL(seen.size(), task == 0 ? 2 * kRounds : kRounds);
  modify<int>(FETCH_AND_OR, 0, reinterpret_cast<int*>(&windows[0]->flags), 1 << task);
  CALL(LAPI_Gfence(handle));
  if (task != 0) return;
  EXPECT_EQUAL(window.word.load(), kRounds * (tasks + 1));
  EXPECT_EQUAL(window.wide.load(), (1ll << 31) * kRounds * (tasks + 1));
  EXPECT_EQUAL(window.flags.load(), (1 << tasks) - 1);
  EXPECT_EQUAL(window.slots[0], kRounds / 30 * tasks);
}

std::atomic<void*> table_of_handlers[64];
std::atomic<int> told, too_early;

// Of a task that is ahead: this one's dataplane thread runs it, perhaps while its program is still in the call.
void* use_table(lapi_handle_t*, void* user_header, uint*, ulong*, compl_hndlr_t** completion, void** information) {
  int source = 0;
  std::memcpy(&source, user_header, sizeof source);
  if (table_of_handlers[source] == nullptr) ++too_early;
  ++told;
  *completion = nullptr;
  *information = nullptr;
  return nullptr;
}

void tables_are_filled_before_anybody_uses_them() {
  EXPECT(tasks <= 64);
  void* handlers[64];
  CALL(LAPI_Address_init(handle, reinterpret_cast<void*>(use_table), handlers));
  for (int round = 0; round < 50; ++round) {
    for (auto& entry : table_of_handlers) entry = nullptr;
    told = 0;
    CALL(LAPI_Gfence(handle));
    CALL(LAPI_Address_init(handle, &window, reinterpret_cast<void**>(table_of_handlers)));
    for (int other = 0; other < tasks; ++other) {
      CALL(LAPI_Amsend(handle, static_cast<unsigned>(other), handlers[other], &task, sizeof task, nullptr, 0, nullptr,
                       nullptr, nullptr));
    }
    CALL(LAPI_Gfence(handle));
    EXPECT_EQUAL(told.load(), tasks);
  }
  EXPECT_EQUAL(too_early.load(), 0);
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  info.lib_vers = L2_LIB;
  begin(count, arguments, info);
  windows = exchange(&window);
  run("counters are set, read and waited for", 20, counter_values);
  run("LAPI_Setcntr wakes a waiting thread", 20, another_thread_sets);
  run("LAPI_Probe makes progress", 20, probing);
  run("LAPI_Msgpoll says what has completed", 20, msgpoll);
  run("LAPI_Msgpoll says that another thread polls", 20, msgpoll_beside_others);
  run("LAPI_Fence waits for this task's data", 20, fence);
  run("LAPI_Gfence waits for everybody's data", 40, gfence);
  run("addresses are exchanged and registered", 20, addresses);
  run("tables of addresses are filled before anybody uses them", 60, tables_are_filled_before_anybody_uses_them);
  run("LAPI_Rmw does its four operations", 20, rmw);
  run("LAPI_Rmw64 does its four operations", 20, rmw64);
  run("read-modify-write is atomic", 60, contended);
  return finish();
}
