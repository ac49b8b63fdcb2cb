// Memory that is reached directly from the first operation on: what is allocated, and static data. Without a heap that
// is shared the cases are true as well, of messages.
//
//   lapirun -n N --direct-heap PROGRAM [interrupt|polling]
#include <dlfcn.h>
#include <sched.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr int kRounds = 300;

long long fixed_word = 7;
long long cleared_word;
lapi_cntr_t fixed_counter;
std::vector<lapi_cntr_t*> all_counters;

// api_direct_heap.py says what it expects.
bool is_direct() {
  const char* const wanted = std::getenv("API_DIRECT");
  return wanted != nullptr && std::strcmp(wanted, "yes") == 0;
}

unsigned long packets_sent() {
  lapi_statistics_t statistics;
  CALL(LAPI_Qenv(handle, QUERY_SHM_STATISTICS, reinterpret_cast<int*>(&statistics)));
  return static_cast<unsigned long>(statistics.Tot_pkt_sent_cnt);
}

long long add(unsigned target, void* word, long long summand) {
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  long long before = -1;
  CALL(LAPI_Rmw64(handle, FETCH_AND_ADD, target, static_cast<long long*>(word), &summand, &before, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  return before;
}

void put(unsigned target, void* place, long long value) {
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  CALL(LAPI_Put(handle, target, sizeof value, place, &value, all_counters[target], nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
}

long long get(unsigned target, void* place) {
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  long long value = -1;
  CALL(LAPI_Get(handle, target, sizeof value, place, &value, nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  return value;
}

// What each task offers its neighbours, who take turns: so no packet is under way but those of the one.
void first_operations_take_no_packets(void* own, long long content) {
  const std::vector<void*> words = exchange(own);
  CALL(LAPI_Setcntr(handle, &fixed_counter, 0));
  const unsigned target = right();
  long long other_word = 0;
  const std::vector<void*> other_words = exchange(static_cast<void*>(&other_word));
  for (int turn = 0; turn < tasks; ++turn) {
    CALL(LAPI_Gfence(handle));
    if (turn != task) continue;
    EXPECT_EQUAL(get(target, other_words[target]), 0);
    // What the target has answered counts as under way until its step is over, for which it needs a processor. Other
    // memory is opened after 32 operations.
    unsigned long before = 0;
    for (int tries = 0; tries < 8; ++tries) {
      before = packets_sent();
      EXPECT_EQUAL(get(target, words[target]), content);
      if (packets_sent() == before) break;
      sched_yield();
    }
    put(target, words[target], 100);
    EXPECT_EQUAL(add(target, words[target], 11), 100);
    EXPECT_EQUAL(get(target, words[target]), 111);
    if (is_direct()) EXPECT_EQUAL(packets_sent() - before, 0);
  }
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Waitcntr(handle, &fixed_counter, 1, nullptr));
  EXPECT_EQUAL(*static_cast<long long*>(own), 111);
}

void what_is_allocated() {
  const auto word = std::make_unique<long long>(5);
  first_operations_take_no_packets(word.get(), 5);
  std::vector<long long> large(1 << 20, 6);
  first_operations_take_no_packets(&large[1 << 19], 6);
  std::unique_ptr<long long> of_thread;
  std::thread([&] { of_thread = std::make_unique<long long>(8); }).join();
  first_operations_take_no_packets(of_thread.get(), 8);
}

void static_data() {
  first_operations_take_no_packets(&fixed_word, 7);
  first_operations_take_no_packets(&cleared_word, 0);
}

void freed_memory_comes_back_clean() {
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t words = std::size_t{16} << (round % 18);
    auto* const memory = static_cast<long long*>(std::calloc(words, sizeof(long long)));
    EXPECT(memory != nullptr);
    for (std::size_t at = 0; at < words; ++at) EXPECT_EQUAL(memory[at], 0);
    const std::vector<void*> places = exchange<void>(&memory[words / 2]);
    put(right(), places[right()], round + 1);
    CALL(LAPI_Gfence(handle));
    EXPECT_EQUAL(memory[words / 2], round + 1);
    std::fill_n(memory, words, -1);
    std::free(memory);
  }
}

// Two threads move their blocks about while a neighbour adds to words that stay.
void threads_reallocate_meanwhile() {
  const auto word = std::make_unique<long long>(0);
  const std::vector<void*> words = exchange<void>(word.get());
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  const auto reallocate = [&](unsigned seed) {
    char* block = nullptr;
    for (std::size_t round = 1, before = 0; !stop; ++round) {
      const std::size_t bytes = 1 + round * seed * 7919 % (3 << 20);
      block = static_cast<char*>(std::realloc(block, bytes));
      const auto mark = static_cast<char>(seed);
      if (std::count(block, block + std::min(before, bytes), mark) != static_cast<long>(std::min(before, bytes)))
        ++wrong;
      std::memset(block, mark, bytes);
      before = bytes;
    }
    std::free(block);
  };
  std::thread one(reallocate, 3), other(reallocate, 5);
  for (int round = 0; round < 2 * kRounds; ++round) add(right(), words[right()], 1);
  CALL(LAPI_Gfence(handle));
  stop = true;
  one.join();
  other.join();
  EXPECT_EQUAL(wrong, 0);
  EXPECT_EQUAL(*word, 2 * kRounds);
}

void other_programs_change_nothing() {
  EXPECT_EQUAL(std::system("test x = x"), 0);
  const auto word = std::make_unique<long long>(9);
  first_operations_take_no_packets(word.get(), 9);
}

// The heap is private from then on, in both.
void a_child_has_its_own() {
  std::vector<long long> words(1 << 18, 1);
  const std::vector<void*> places = exchange<void>(&words[1000]);
  for (int round = 0; round < 3; ++round) {
    add(right(), places[right()], 10);
    const pid_t child = fork();
    if (child == 0) {
      words[1000] = -5, fixed_word = -5;
      std::vector<long long> more(1 << 18, 2);
      _exit(std::count(words.begin(), words.end(), 1) == (1 << 18) - 1 && more[5] == 2 ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
    add(right(), places[right()], 10);
    CALL(LAPI_Gfence(handle));
    EXPECT_EQUAL(words[1000], 1 + 20 * (round + 1));
    EXPECT_EQUAL(fixed_word, 111);
    CALL(LAPI_Gfence(handle));
  }
  EXPECT_EQUAL(std::count(words.begin(), words.end(), 1), (1 << 18) - 1);
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  all_counters = exchange(&fixed_counter);
  run("what is allocated is reached at once", 60, what_is_allocated);
  run("static data are reached at once", 60, static_data);
  run("freed memory comes back clean", 60, freed_memory_comes_back_clean);
  run("threads reallocate meanwhile", 60, threads_reallocate_meanwhile);
  run("other programs change nothing", 60, other_programs_change_nothing);
  run("a child has its own", 60, a_child_has_its_own);
  return finish();
}
