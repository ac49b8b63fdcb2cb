// Bandwidth of vector puts beside what they save the program: gathering into a buffer and a contiguous put of it. Two
// tasks over shared memory:
//
//   LAPI_USE_SHM=only lapirun -n 2 bench/vector_bench
//
// All ways of one size are measured in turn, round by round, and the medians of the rounds are printed.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "lapi.h"

namespace {

lapi_handle_t handle;

void check(int code) {
  if (code == LAPI_SUCCESS) return;
  char text[LAPI_MAX_ERR_STRING];
  LAPI_Msg_string(code, text);
  std::fprintf(stderr, "vector_bench: %s\n", text);
  std::exit(1);
}

double seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Case {
  std::size_t block, blocks;
};

// Each way moves the same blocks to task 1 and waits until they are there.
class Ways {
 public:
  Ways(const Case& how, unsigned char* there)
      : how_(how), stride_(2 * how.block), memory_(stride_ * how.blocks, 1), packed_(how.block * how.blocks, 1) {
    strided_info_ = {memory_.data(), reinterpret_cast<void*>(how.block), reinterpret_cast<void*>(stride_)};
    strided_there_ = {there, reinterpret_cast<void*>(how.block), reinterpret_cast<void*>(stride_)};
    for (std::size_t i = 0; i < how.blocks; ++i) {
      list_info_.push_back(memory_.data() + i * stride_);
      list_there_.push_back(there + i * stride_);
      list_len_.push_back(how.block);
    }
    there_ = there;
  }

  void strided() { put_vector(LAPI_GEN_STRIDED_XFER, strided_info_.data(), strided_there_.data()); }
  void list() { put_vector(LAPI_GEN_IOVECTOR, list_info_.data(), list_there_.data()); }
  void gathered() {
    for (std::size_t i = 0; i < how_.blocks; ++i) {
      std::memcpy(packed_.data() + i * how_.block, memory_.data() + i * stride_, how_.block);
    }
    contiguous();
  }
  void contiguous() {
    check(LAPI_Put(handle, 1, packed_.size(), there_, packed_.data(), nullptr, nullptr, &done_));
    check(LAPI_Waitcntr(handle, &done_, 1, nullptr));
  }

 private:
  void put_vector(lapi_vectype_t type, void** info, void** there) {
    lapi_vec_t origin{type, static_cast<uint>(how_.blocks), info, list_len_.data()};
    lapi_vec_t target{type, static_cast<uint>(how_.blocks), there, list_len_.data()};
    check(LAPI_Putv(handle, 1, &target, &origin, nullptr, nullptr, &done_));
    check(LAPI_Waitcntr(handle, &done_, 1, nullptr));
  }

  Case how_;
  std::size_t stride_;
  std::vector<unsigned char> memory_, packed_;
  unsigned char* there_;
  std::vector<void*> strided_info_, strided_there_, list_info_, list_there_;
  std::vector<ulong> list_len_;
  lapi_cntr_t done_{};
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void measure(const Case& how, unsigned char* there) {
  constexpr int kRounds = 21;
  const std::size_t bytes = how.block * how.blocks;
  const auto repeats = static_cast<int>(std::clamp<std::size_t>((std::size_t{32} << 20) / bytes, 4, 500));
  Ways ways(how, there);
  const std::function<void()> all[] = {[&] { ways.gathered(); }, [&] { ways.contiguous(); }, [&] { ways.strided(); },
                                       [&] { ways.list(); }};
  std::vector<double> rates[4];
  for (int round = 0; round < kRounds; ++round) {
    for (int way = 0; way < 4; ++way) {
      all[way]();
      const double begin = seconds();
      for (int i = 0; i < repeats; ++i) all[way]();
      rates[way].push_back(static_cast<double>(bytes) * repeats / (seconds() - begin) / 1e6);
    }
  }
  const double gathered = median(rates[0]), contiguous = median(rates[1]);
  std::printf("%5zu x %5zu B: gather loop and put %7.0f MB/s, put %7.0f", how.blocks, how.block, gathered, contiguous);
  for (int way = 2; way < 4; ++way) {
    const double rate = median(rates[way]);
    std::printf("; %s %7.0f (%.2f of gathered, %.2f of contiguous)", way == 2 ? "strided" : "iovector", rate,
                rate / gathered, rate / contiguous);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main() {
  lapi_info_t info;
  std::memset(&info, 0, sizeof info);
  check(LAPI_Init(&handle, &info));
  check(LAPI_Senv(handle, INTERRUPT_SET, 0));
  int task = 0, tasks = 0;
  check(LAPI_Qenv(handle, TASK_ID, &task));
  check(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  if (tasks != 2) {
    std::fprintf(stderr, "vector_bench: %d tasks, not 2\n", tasks);
    return 2;
  }
  const Case cases[] = {{64, 1000}, {512, 1000}, {8192, 1000}, {32768, 250}, {65536, 125}};
  std::vector<unsigned char> memory(std::size_t{2} * 8192 * 1000 + 4096, 1);
  void* table[2];
  check(LAPI_Address_init(handle, memory.data(), table));
  if (task == 0) {
    for (const Case& how : cases) measure(how, static_cast<unsigned char*>(table[1]));
  }
  check(LAPI_Gfence(handle));
  check(LAPI_Term(handle));
  return 0;
}
