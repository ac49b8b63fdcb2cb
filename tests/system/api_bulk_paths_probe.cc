// Two tasks that reach each other over several adapters with bulk transfer; the bed user_space_bulk_paths starts them,
// and takes their links away. Task 0 puts and gets MEBIBYTES for a while, one after the other, and looks at what has
// come.
//
//   api_bulk_paths_probe interrupt|polling MEBIBYTES   until the standard input of task 0 ends, for each line of which
//   it
//                                                      says "transfers", so far
//
// Task 0 says "begun 0" before the first transfer, and then lines of a name and a number: transfers, slowest
// (milliseconds), wrong (of the transfers). Both tasks end with PRINT_STATISTICS.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/system/api_case.h"
#include "tests/system/told_on_input.h"

using namespace api_case;

namespace {

using Clock = std::chrono::steady_clock;
using Words = std::vector<unsigned long long>;

constexpr unsigned kLimit = 400;  // seconds, for a put and a get; only what hangs needs them

void fill(Words& words, unsigned long long lap) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = (i + 1) * 0x9e3779b97f4a7c15u + lap;
}

lapi_long_t place(const void* pointer) { return static_cast<lapi_long_t>(reinterpret_cast<std::uintptr_t>(pointer)); }

class Load {
 public:
  Load(void* there, std::size_t bytes) : there_(there), own_(bytes / 8), fetched_(bytes / 8) {}

  void run_until_told() {
    for (Told told = Told::nothing; told != Told::end; told = told_on_input()) {
      if (told == Told::question) tell_transfers();
      lap();
    }
    tell_transfers();
    std::printf("slowest %.0f\nwrong %llu\n", slowest_, wrong_);
    std::fflush(stdout);
  }

 private:
  void lap() {
    limit(kLimit);
    fill(own_, ++laps_);
    std::fill(fetched_.begin(), fetched_.end(), 0);
    timed([&] { put(); });
    timed([&] { get(); });
    wrong_ += own_ != fetched_;
  }
  void tell_transfers() const {
    std::printf("transfers %llu\n", 2 * laps_);
    std::fflush(stdout);
  }
  template <typename Call>
  void timed(Call call) {
    const auto begin = Clock::now();
    call();
    slowest_ = std::max(slowest_, std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  void put() {
    lapi_xfer_t command;
    std::memset(&command, 0, sizeof command);
    command.Put.Xfer_type = LAPI_PUT_XFER;
    command.Put.flags = LAPI_USE_BULK_XFER;
    command.Put.tgt = 1;
    command.Put.tgt_addr = place(there_);
    command.Put.org_addr = own_.data();
    command.Put.len = own_.size() * 8;
    command.Put.cmpl_cntr = &counter_;
    transfer(command);
  }
  void get() {
    lapi_xfer_t command;
    std::memset(&command, 0, sizeof command);
    command.Get.Xfer_type = LAPI_GET_XFER;
    command.Get.flags = LAPI_USE_BULK_XFER;
    command.Get.tgt = 1;
    command.Get.tgt_addr = place(there_);
    command.Get.org_addr = fetched_.data();
    command.Get.len = fetched_.size() * 8;
    command.Get.org_cntr = &counter_;
    transfer(command);
  }
  void transfer(lapi_xfer_t& command) {
    CALL(LAPI_Xfer(handle, &command));
    CALL(LAPI_Waitcntr(handle, &counter_, 1, nullptr));
  }

  void* there_;
  Words own_, fetched_;
  lapi_cntr_t counter_{};
  unsigned long long laps_ = 0, wrong_ = 0;
  double slowest_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  limit(kLimit);
  EXPECT(count == 3);
  read_words(2, arguments);
  lapi_info_t info = cleared_info();
  CALL(LAPI_Init(&handle, &info));
  CALL(LAPI_Qenv(handle, TASK_ID, &task));
  CALL(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  EXPECT(tasks == 2);
  CALL(LAPI_Senv(handle, INTERRUPT_SET, polling ? 0 : 1));
  const auto bytes = static_cast<std::size_t>(std::atoi(arguments[2])) << 20;
  Words here(bytes / 8);
  std::array<void*, 2> places{};
  CALL(LAPI_Address_init(handle, here.data(), places.data()));
  if (task == 0) {
    Load load(places[1], bytes);
    std::printf("begun 0\n");
    std::fflush(stdout);
    load.run_until_told();
  } else {
    limit(0);
  }
  CALL(LAPI_Gfence(handle));
  int unused = 0;
  CALL(LAPI_Qenv(handle, PRINT_STATISTICS, &unused));
  CALL(LAPI_Term(handle));
}
