// Operations that reach memory of the node without a message (OPENLAPI_DIRECT): the same results as by message, and no
// packets once the memory is hot, where the system allows that. The cases are true of messages, too.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr int kHot = 64;  // operations, after which memory is open
constexpr int kRounds = 2000;

// What a task offers; on a page of its own, for what lies beside it is opened with it.
struct Offered {
  unsigned long long word;
  unsigned long long slots[64];
  unsigned char bytes[8192];
  lapi_cntr_t counter;
};

Offered* own = nullptr;
std::vector<Offered*> all;
lapi_cntr_t* counter_of(unsigned target) { return &all[target]->counter; }

// Whether operations between tasks can go directly here: the right to stop threads at a page, and to files of any size.
bool is_possible() {
  const char* const wanted = std::getenv("OPENLAPI_DIRECT");
  if (wanted == nullptr || std::strcmp(wanted, "auto") != 0 || query(QUERY_SHM_ENABLED) != 1) return false;
  rlimit files{};
  if (getrlimit(RLIMIT_FSIZE, &files) != 0 || files.rlim_cur != RLIM_INFINITY) return false;
  const int fault = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
  const int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
  if (fault >= 0) close(fault);
  if (device >= 0) close(device);
  return fault >= 0 || device >= 0;
}

unsigned long packets_sent() {
  lapi_statistics_t statistics;
  CALL(LAPI_Qenv(handle, QUERY_SHM_STATISTICS, reinterpret_cast<int*>(&statistics)));
  return static_cast<unsigned long>(statistics.Tot_pkt_sent_cnt);
}

void wait_for(lapi_cntr_t& counter, int value) { CALL(LAPI_Waitcntr(handle, &counter, value, nullptr)); }

long long add(unsigned target, long long summand) {
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  long long before = 0;
  CALL(LAPI_Rmw64(handle, FETCH_AND_ADD, target, reinterpret_cast<long long*>(&all[target]->word), &summand, &before,
                  &done));
  wait_for(done, 1);
  return before;
}

void put_and_count(unsigned target, unsigned long long& place, unsigned long long value) {
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  CALL(LAPI_Put(handle, target, sizeof value, &place, &value, counter_of(target), nullptr, &done));
  wait_for(done, 1);
}

void put_and_get_bring_every_length() {
  unsigned char sent[8192], seen[8192];
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  CALL(LAPI_Setcntr(handle, &own->counter, 0));
  CALL(LAPI_Gfence(handle));
  const unsigned target = right();
  int puts = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t length = 1; length <= sizeof sent; length += length < 140 ? 1 : 613, ++puts) {
      fill(sent, length, length);
      CALL(LAPI_Put(handle, target, length, all[target]->bytes, sent, counter_of(target), nullptr, &done));
      wait_for(done, 1);
      CALL(LAPI_Get(handle, target, length, all[target]->bytes, seen, nullptr, &done));
      wait_for(done, 1);
      EXPECT(holds(seen, length, length));
    }
  }
  wait_for(own->counter, puts);
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(counter_value(own->counter), 0);
}

void sums_are_exact() {
  own->word = 0;
  CALL(LAPI_Gfence(handle));
  for (int round = 0; round < kRounds; ++round) {
    for (unsigned target = 0; target < static_cast<unsigned>(tasks); ++target) add(target, task + 1);
  }
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(own->word, kRounds * tasks * (tasks + 1) / 2);
}

void hot_memory_takes_no_packets() {
  const unsigned target = right();
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  CALL(LAPI_Setcntr(handle, &own->counter, 0));
  CALL(LAPI_Gfence(handle));
  unsigned long long value = 0;
  const auto each = [&](int times) {
    for (int time = 0; time < times; ++time) {
      put_and_count(target, all[target]->slots[0], static_cast<unsigned long long>(time));
      CALL(LAPI_Get(handle, target, sizeof value, all[target]->slots, &value, nullptr, &done));
      wait_for(done, 1);
      EXPECT_EQUAL(value, time);
      add(target, 1);
    }
  };
  each(kHot);
  // What the target has not taken yet is not overtaken: the last message may still be under way.
  CALL(LAPI_Gfence(handle));
  const unsigned long before = packets_sent();
  each(kRounds);
  const unsigned long sent = packets_sent() - before;
  if (is_possible()) {
    EXPECT(sent < kRounds);
  } else if (query(QUERY_SHM_ENABLED) == 1) {
    EXPECT(sent >= 3 * kRounds);
  }
  wait_for(own->counter, kHot + kRounds);
}

// Two tasks take turns: each sleeps, or polls, until the other one has moved its counter.
void turns(int (*wait)()) {
  CALL(LAPI_Setcntr(handle, &own->counter, 0));
  CALL(LAPI_Gfence(handle));
  const int partner = task ^ 1;
  if (partner < tasks) {
    const auto target = static_cast<unsigned>(partner);
    for (unsigned long long round = 1; round <= kRounds; ++round) {
      if (task > partner) CALL(wait());
      if (task > partner) EXPECT_EQUAL(own->slots[1], round);
      CALL(
          LAPI_Put(handle, target, sizeof round, &all[target]->slots[1], &round, counter_of(target), nullptr, nullptr));
      if (task < partner) CALL(wait());
      if (task < partner) EXPECT_EQUAL(own->slots[1], round);
    }
  }
  CALL(LAPI_Gfence(handle));
}

int wait_polling() { return LAPI_Waitcntr(handle, &own->counter, 1, nullptr); }
int wait_asleep() {
  int rest = 0;
  return LAPI_Nopoll_wait(handle, &own->counter, 1, &rest);
}

// A task that watches who moves its counter is told of each.
void statuses_are_kept() {
  CALL(LAPI_Setcntr(handle, &own->counter, 0));
  const unsigned target = right();
  CALL(LAPI_Gfence(handle));
  for (int time = 0; time < kHot; ++time) put_and_count(target, all[target]->slots[2], 1);
  wait_for(own->counter, kHot);
  uint from = static_cast<uint>(left());
  int status = 0;
  CALL(LAPI_Setcntr_wstatus(handle, &own->counter, 1, &from, &status));
  CALL(LAPI_Gfence(handle));
  put_and_count(target, all[target]->slots[2], 2);
  int rest = 0;
  CALL(LAPI_Nopoll_wait(handle, &own->counter, 1, &rest));
  EXPECT_EQUAL(status, LAPI_MSG_RECVD);
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Setcntr_wstatus(handle, &own->counter, 0, nullptr, nullptr));
}

void memory_lives_on_after_a_fork() {
  own->word = 0;
  CALL(LAPI_Gfence(handle));
  const unsigned target = right();
  for (int round = 0; round < 5; ++round) {
    for (int time = 0; time < kHot; ++time) add(target, 1);
    const pid_t child = fork();
    if (child == 0) _exit(own->word <= static_cast<unsigned long long>(5 * kHot) ? 0 : 1);
    int status = -1;
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
  }
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(own->word, 5 * kHot);
}

volatile std::sig_atomic_t may_go_on = 0;

// Gets that no message brings, one at least: it may take the target's threads a while to come to rest.
void get_without_messages(unsigned target, std::size_t length) {
  unsigned char seen[8192];
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  for (bool without = false; !without;) {
    const unsigned long before = packets_sent();
    std::memset(seen, 0, length);
    CALL(LAPI_Get(handle, target, length, all[target]->bytes, seen, nullptr, &done));
    wait_for(done, 1);
    EXPECT(holds(seen, length, 77));
    without = packets_sent() == before || !is_possible();
  }
}

// Task 1 computes, or is stopped, and calls nothing until task 0 has got what it wants. In polling mode no message
// would bring it.
void who_computes_is_read() {
  const std::vector<void*> numbers = exchange(reinterpret_cast<void*>(static_cast<std::intptr_t>(getpid())));
  const auto process = [&](int number) {
    return static_cast<pid_t>(reinterpret_cast<std::intptr_t>(numbers[static_cast<std::size_t>(number)]));
  };
  std::signal(SIGUSR1, [](int) { may_go_on = 1; });
  fill(own->bytes, sizeof own->bytes, 77);
  CALL(LAPI_Gfence(handle));
  if (polling && !is_possible()) return;
  if (task == 1) {
    EXPECT_EQUAL(kill(process(0), SIGUSR1), 0);  // from now on
    while (may_go_on == 0) continue;
  } else if (task == 0) {
    while (may_go_on == 0) continue;
    for (const std::size_t length : {std::size_t{1}, std::size_t{8}, std::size_t{8192}})
      get_without_messages(1, length);
    if (is_possible()) {
      EXPECT_EQUAL(kill(process(1), SIGSTOP), 0);
      for (int time = 0; time < 2 * kHot; ++time) get_without_messages(1, 8);
      EXPECT_EQUAL(kill(process(1), SIGCONT), 0);
    }
    for (int time = 0; time < 2 * kHot; ++time) get_without_messages(1, 64);
    EXPECT_EQUAL(kill(process(1), SIGUSR1), 0);
  }
  CALL(LAPI_Gfence(handle));
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  info.lib_vers = LAST_LIB;  // LAPI_Nopoll_wait
  begin(count, arguments, info);
  void* room = nullptr;
  EXPECT_EQUAL(posix_memalign(&room, 65536, sizeof(Offered) + 65536), 0);
  std::memset(room, 0, sizeof(Offered) + 65536);
  own = static_cast<Offered*>(room);
  all = exchange(own);
  run("puts and gets bring every length", 60, put_and_get_bring_every_length);
  run("sums are exact", 60, sums_are_exact);
  run("hot memory takes no packets", 60, hot_memory_takes_no_packets);
  run("counters are seen by who polls", 60, [] { turns(wait_polling); });
  if (!polling) run("counters wake who sleeps", 60, [] { turns(wait_asleep); });
  if (!polling) run("who watches a counter is told of its moves", 30, statuses_are_kept);
  run("who computes is read", 60, who_computes_is_read);
  run("memory lives on after a fork", 60, memory_lives_on_after_a_fork);
  return finish();
}
