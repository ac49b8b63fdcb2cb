// Two tasks that reach each other over several adapters; api_paths.py and the bed hosts_paths.py start them, and take
// their links away. Task 0 makes operations of all kinds for a while, one after the other, and counts what task 1 has
// of them.
//
//   api_paths_probe interrupt|polling SECONDS   0: until the standard input of task 0 ends, for each line of which it
//                                               says "slowest", in microseconds, of the operations since the one before
//   API_PATHS=address:port,address:port/address:port,...   without a launcher: for each adapter the tasks' addresses
//   API_PATHS_TIMEOUT=SECONDS   of task 0; task 1 waits 10 s longer, so that task 0 says first what it has met
//   API_PATHS_LIST=N   they are given as a list with N entries, task by task; not set: by a handler
//
// Task 0 says "begun" before the first operation, and then lines of a name and a number: operations, slowest
// (microseconds, of the slowest operation), slowest_of_eight (of the median of the slowest eight), wrong (bytes and
// values).
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/system/api_case.h"
#include "tests/system/told_on_input.h"

using namespace api_case;

namespace {

constexpr std::size_t kLarge = 100'000;
constexpr unsigned kLimit = 100;  // seconds

struct Shared {
  long long word = 0;  // that read-modify-writes change
  std::array<unsigned char, kLarge> bytes{};
  lapi_cntr_t arrived{};
};

Shared here;
std::atomic<long long> messages{0};
std::vector<std::vector<lapi_udp_t>> paths;  // by adapter and task

void read_paths() {
  const char* text = std::getenv("API_PATHS");
  if (text == nullptr) return;
  paths.emplace_back();
  for (std::string rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(",/"), rest.size());
    const std::string entry = rest.substr(0, end);
    const std::size_t colon = entry.find(':');
    EXPECT(colon != std::string::npos);
    paths.back().push_back(
        {inet_addr(entry.substr(0, colon).c_str()), static_cast<unsigned>(std::atoi(entry.c_str() + colon + 1))});
    if (end < rest.size() && rest[end] == '/') paths.emplace_back();
    rest.erase(0, std::min(end + 1, rest.size()));
  }
}

int hand_out(lapi_handle_t*, lapi_udp_t*, lapi_udp_t* all, lapi_udpinfo_t* about) {
  const std::vector<lapi_udp_t>& of_adapter = paths.at(static_cast<std::size_t>(about->instance_no));
  std::copy(of_adapter.begin(), of_adapter.end(), all);
  return 0;
}

void* header_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) {
  ++messages;
  return nullptr;
}

void open() {
  lapi_info_t info = cleared_info();
  lapi_extend_t extension;
  std::memset(&extension, 0, sizeof extension);
  std::vector<lapi_udp_t> list;
  if (const char* entries = std::getenv("API_PATHS_LIST"); entries == nullptr) {
    extension.udp_hndlr = hand_out;
  } else {
    extension.num_udp_addr = std::atoi(entries);
    const bool has_first_alone = extension.num_udp_addr == 2;  // one entry for each task
    for (std::size_t of = 0; !paths.empty() && of != paths[0].size(); ++of) {
      const std::size_t adapters = has_first_alone ? 1 : paths.size();
      for (std::size_t adapter = 0; adapter != adapters; ++adapter) list.push_back(paths[adapter][of]);
    }
    extension.add_udp_addrs = list.data();
  }
  if (!paths.empty()) info.add_info = &extension;
  CALL(LAPI_Init(&handle, &info));
  CALL(LAPI_Qenv(handle, TASK_ID, &task));
  CALL(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  EXPECT(tasks == 2);
  CALL(LAPI_Senv(handle, INTERRUPT_SET, polling ? 0 : 1));
  if (const char* seconds = std::getenv("API_PATHS_TIMEOUT")) {
    CALL(LAPI_Senv(handle, TIMEOUT, std::atoi(seconds) + 10 * task));
  }
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(header_handler), 1));
}

void wait_one(lapi_cntr_t& counter) { CALL(LAPI_Waitcntr(handle, &counter, 1, nullptr)); }

class Load {
 public:
  explicit Load(Shared* there) : there_(there) {}

  void run(std::chrono::duration<double> time) {
    const auto until = Clock::now() + time;
    while (Clock::now() < until) timed();
  }
  void run_until_told() {
    do {
      limit(kLimit);
      for (int n = 0; n != 10; ++n) timed();
    } while (!is_told());
  }
  void tell(long long messages_there) {
    wrong_ += messages_there != sent_messages_;
    std::printf("operations %lld\nslowest %.0f\nslowest_of_eight %.0f\nwrong %lld\n", operations_, slowest_[0] * 1e6,
                slowest_[slowest_.size() / 2] * 1e6, wrong_);
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_told() {
    const Told told = told_on_input();
    if (told != Told::question) return told == Told::end;
    std::printf("slowest %.0f\n", std::exchange(slowest_since_, 0) * 1e6);
    std::fflush(stdout);
    return false;
  }
  void timed() {
    const auto begin = Clock::now();
    one();
    keep(std::chrono::duration<double>(Clock::now() - begin).count());
    ++operations_;
  }
  void keep(double time) {
    slowest_since_ = std::max(slowest_since_, time);
    if (time <= slowest_.back()) return;
    slowest_.back() = time;
    std::ranges::sort(slowest_, std::greater<>());
  }
  void one() {
    switch (operations_ % 5) {
      case 0:
        return put(operations_ % 3 == 0 ? kLarge : 8);
      case 1:
        return get();
      case 2:
        return message();
      default:
        return add();
    }
  }
  void put(std::size_t length) {
    std::memset(own_.data(), static_cast<int>(++filling_ % 255), length);
    filled_ = length;
    CALL(LAPI_Put(handle, 1, length, there_->bytes.data(), own_.data(), nullptr, nullptr, &counter_));
    wait_one(counter_);
  }
  void get() {
    CALL(LAPI_Get(handle, 1, filled_, there_->bytes.data(), fetched_.data(), nullptr, &counter_));
    wait_one(counter_);
    wrong_ += std::memcmp(own_.data(), fetched_.data(), filled_) != 0;
  }
  void message() {
    CALL(
        LAPI_Amsend(handle, 1, reinterpret_cast<void*>(1), nullptr, 0, own_.data(), 2000, nullptr, nullptr, &counter_));
    wait_one(counter_);
    ++sent_messages_;
  }
  void add() {
    long long one = 1, before = -1;
    CALL(LAPI_Rmw64(handle, FETCH_AND_ADD, 1, &there_->word, &one, &before, &counter_));
    wait_one(counter_);
    wrong_ += before != added_++;
  }

  Shared* there_;
  lapi_cntr_t counter_{};
  std::array<unsigned char, kLarge> own_{}, fetched_{};
  std::size_t filled_ = 8;
  long long filling_ = 0, added_ = 0, sent_messages_ = 0, operations_ = 0, wrong_ = 0;
  std::array<double, 8> slowest_{};  // seconds, the slowest first
  double slowest_since_ = 0;         // somebody asked
};

}  // namespace

int main(int count, char** arguments) {
  EXPECT(count == 3);
  const std::chrono::duration<double> time(std::atof(arguments[2]));
  const bool until_told = time.count() == 0;
  limit(kLimit);
  read_words(2, arguments);
  read_paths();
  open();
  std::array<void*, 2> shared{}, counts{};
  CALL(LAPI_Address_init(handle, &here, shared.data()));
  if (task == 0) {
    Load load(static_cast<Shared*>(shared[1]));
    std::printf("begun 0\n");
    std::fflush(stdout);
    if (until_told) {
      load.run_until_told();
    } else {
      load.run(time);
    }
    CALL(LAPI_Gfence(handle));
    CALL(LAPI_Address_init(handle, nullptr, counts.data()));
    load.tell(static_cast<long long>(reinterpret_cast<std::intptr_t>(counts[1])));
  } else {
    if (until_told) limit(0);
    CALL(LAPI_Gfence(handle));
    // What others are told is a number here.
    CALL(
        LAPI_Address_init(handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(messages.load())), counts.data()));
  }
  CALL(LAPI_Term(handle));
}
