// Operations that reach memory of the node without a message (OPENLAPI_DIRECT): the same results as by message, and no
// packets once the memory is hot, where the system allows that. The cases are true of messages, too.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstring>
#include <random>
#include <vector>

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

constexpr std::size_t kOwnRoom = 2 * 65536;

Offered* own = nullptr;
std::vector<Offered*> all;
lapi_cntr_t* counter_of(unsigned target) { return &all[target]->counter; }

// Whether operations between tasks can go directly here: the right to stop threads at a page, and to files of any size;
// or a heap that is shared from the beginning (api_direct_heap.py).
bool is_possible() {
  const char* const heap = std::getenv("API_DIRECT");
  if (heap != nullptr && std::strcmp(heap, "yes") == 0) return true;
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
    EXPECT(sent >= 2 * kRounds);  // gets from who sleeps need none
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

// Memory of three chunks, and some that nobody opens, as it is shared. What a neighbour puts there it knows itself.
constexpr std::size_t kWide = 3 * 65536, kNeverOpen = 4096;
struct Wide {
  unsigned char* bytes;
  unsigned char* never_open;
};
Wide wide;
std::vector<unsigned char*> all_wide, all_never_open;
std::vector<unsigned char> image(kWide + kNeverOpen);

// Places in them: what is behind kWide is in the latter.
struct Layout {
  std::vector<std::size_t> places;
  std::vector<ulong> lengths;
};

unsigned char* place_in(unsigned target, std::size_t place) {
  return place < kWide ? all_wide[target] + place : all_never_open[target] + (place - kWide);
}

void put_and_get_pieces(unsigned target, Layout& layout, unsigned seed) {
  std::vector<unsigned char> sent(20000), seen(20000, 0x5a), expected = seen;
  fill(sent.data(), sent.size(), seed);
  std::vector<void*> here, there, back;
  std::size_t at = 1;
  for (std::size_t i = 0; i < layout.places.size(); at += layout.lengths[i++] + seed % 3) {
    here.push_back(&sent[at]);
    there.push_back(place_in(target, layout.places[i]));
    back.push_back(&seen[at]);
    std::memcpy(&image[layout.places[i]], &sent[at], layout.lengths[i]);
  }
  at = 1;
  for (std::size_t i = 0; i < layout.places.size(); at += layout.lengths[i++] + seed % 3) {
    std::memcpy(&expected[at], &image[layout.places[i]], layout.lengths[i]);
  }
  const auto count = static_cast<uint>(here.size());
  lapi_vec_t source{LAPI_GEN_IOVECTOR, count, here.data(), layout.lengths.data()},
      target_vector{LAPI_GEN_IOVECTOR, count, there.data(), layout.lengths.data()},
      destination{LAPI_GEN_IOVECTOR, count, back.data(), layout.lengths.data()};
  lapi_cntr_t origin, completion;
  CALL(LAPI_Setcntr(handle, &origin, 0));
  CALL(LAPI_Setcntr(handle, &completion, 0));
  CALL(LAPI_Putv(handle, target, &target_vector, &source, counter_of(target), &origin, &completion));
  wait_for(origin, 1);
  wait_for(completion, 1);
  CALL(LAPI_Getv(handle, target, &target_vector, &destination, counter_of(target), &origin));
  wait_for(origin, 1);
  EXPECT(seen == expected);
}

// A column of 32-bit words becomes another column, and comes back.
void put_and_get_blocks(unsigned target, std::size_t blocks, std::size_t distance, unsigned seed) {
  std::vector<unsigned char> sent(8 * blocks + 8), seen(4 * blocks + 4);
  fill(sent.data(), sent.size(), seed);
  const auto info = [](void* base, std::size_t stride) {
    return std::array<void*, 3>{base, reinterpret_cast<void*>(4ul), reinterpret_cast<void*>(stride)};
  };
  auto here = info(sent.data(), 8), there = info(place_in(target, 8), distance), back = info(seen.data(), 4);
  const auto count = static_cast<uint>(blocks);
  lapi_vec_t source{LAPI_GEN_STRIDED_XFER, count, here.data(), nullptr},
      target_vector{LAPI_GEN_STRIDED_XFER, count, there.data(), nullptr},
      destination{LAPI_GEN_STRIDED_XFER, count, back.data(), nullptr};
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  CALL(LAPI_Putv(handle, target, &target_vector, &source, counter_of(target), nullptr, &done));
  wait_for(done, 1);
  CALL(LAPI_Getv(handle, target, &target_vector, &destination, counter_of(target), &done));
  wait_for(done, 1);
  for (std::size_t i = 0; i < blocks; ++i) {
    std::memcpy(&image[8 + i * distance], &sent[8 * i], 4);
    EXPECT(std::memcmp(&sent[8 * i], &seen[4 * i], 4) == 0);
  }
}

void layouts_bring_what_they_name() {
  CALL(LAPI_Setcntr(handle, &own->counter, 0));
  std::memset(wide.bytes, 0, kWide);
  std::memset(wide.never_open, 0, kNeverOpen);
  image.assign(image.size(), 0);
  CALL(LAPI_Gfence(handle));
  const unsigned target = right();
  std::mt19937 random(7);
  int operations = 0;
  for (unsigned round = 0; round < 3 * kHot; ++round) {
    Layout layouts[] = {{},
                        {{100}, {0}},
                        {{40, 42, 38}, {8, 8, 5}},                    // over each other
                        {{65536 - 3, 131072 - 1, 7}, {8, 2, 1}},      // over the end of a chunk
                        {{16, kWide + 16 + round, 80}, {8, 8, 300}},  // one that is not open
                        {{}, {}}};
    Layout& any = layouts[5];
    for (std::size_t pieces = random() % 300; pieces != 0; --pieces) {
      any.places.push_back(random() % (kWide - 60));
      any.lengths.push_back(random() % 60);
    }
    for (Layout& layout : layouts) put_and_get_pieces(target, layout, round);
    for (const std::size_t blocks : {0u, 1u, 60u, 256u, 257u}) put_and_get_blocks(target, blocks, 12 + round, round);
    operations += 2 * (6 + 5);
  }
  wait_for(own->counter, operations);
  CALL(LAPI_Gfence(handle));
  std::vector<unsigned char> seen(image.size());
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  for (std::size_t at = 0; at < seen.size(); at += 4096) {
    CALL(LAPI_Get(handle, target, 4096, place_in(target, at), &seen[at], nullptr, &done));
  }
  wait_for(done, static_cast<int>(seen.size() / 4096));
  EXPECT(seen == image);
}

void hot_columns_take_no_packets() {
  const unsigned target = right();
  CALL(LAPI_Setcntr(handle, &own->counter, 0));
  CALL(LAPI_Gfence(handle));
  for (int time = 0; time < kHot; ++time) put_and_get_blocks(target, 100, 64, 1);
  CALL(LAPI_Gfence(handle));
  const unsigned long before = packets_sent();
  for (int time = 0; time < kRounds; ++time) put_and_get_blocks(target, 100, 64, 1);
  const unsigned long sent = packets_sent() - before;
  if (is_possible()) EXPECT(sent < kRounds);
  wait_for(own->counter, 2 * (kHot + kRounds));
}

void count_handler(lapi_handle_t*, void* runs, lapi_sh_info_t*) { ++*static_cast<int*>(runs); }

// Before the call returns, whichever way the put has gone.
void send_handlers_run_once() {
  const unsigned target = right();
  CALL(LAPI_Setcntr(handle, &own->counter, 0));
  CALL(LAPI_Gfence(handle));
  unsigned long long value = 0;
  int runs = 0;
  for (int time = 1; time <= 2 * kHot; ++time, ++value) {
    lapi_cntr_t done;
    CALL(LAPI_Setcntr(handle, &done, 0));
    lapi_xfer_t put{};
    put.Put.Xfer_type = LAPI_PUT_XFER;
    put.Put.tgt = target;
    put.Put.tgt_addr = reinterpret_cast<lapi_long_t>(&all[target]->slots[3]);
    put.Put.org_addr = &value;
    put.Put.len = sizeof value;
    put.Put.tgt_cntr = reinterpret_cast<lapi_long_t>(counter_of(target));
    put.Put.cmpl_cntr = &done;
    put.Put.shdlr = count_handler;
    put.Put.sinfo = &runs;
    CALL(LAPI_Xfer(handle, &put));
    EXPECT_EQUAL(runs, time);
    wait_for(done, 1);
  }
  wait_for(own->counter, 2 * kHot);
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
  EXPECT_EQUAL(posix_memalign(&room, 65536, kOwnRoom + kWide + 65536), 0);
  std::memset(room, 0, kOwnRoom + kWide + 65536);
  own = static_cast<Offered*>(room);
  all = exchange(own);
  run("puts and gets bring every length", 60, put_and_get_bring_every_length);
  run("sums are exact", 60, sums_are_exact);
  run("hot memory takes no packets", 60, hot_memory_takes_no_packets);
  wide.bytes = static_cast<unsigned char*>(room) + kOwnRoom;
  void* const shared = mmap(nullptr, kNeverOpen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT(shared != MAP_FAILED);
  wide.never_open = static_cast<unsigned char*>(shared);
  all_wide = exchange(wide.bytes);
  all_never_open = exchange(wide.never_open);
  run("layouts bring what they name", 60, layouts_bring_what_they_name);
  run("hot columns take no packets", 60, hot_columns_take_no_packets);
  run("send handlers run once", 30, send_handlers_run_once);
  run("counters are seen by who polls", 60, [] { turns(wait_polling); });
  if (!polling) run("counters wake who sleeps", 60, [] { turns(wait_asleep); });
  if (!polling) run("who watches a counter is told of its moves", 30, statuses_are_kept);
  run("who computes is read", 60, who_computes_is_read);
  run("memory lives on after a fork", 60, memory_lives_on_after_a_fork);
  return finish();
}
