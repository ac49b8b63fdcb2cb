// A first program over the whole stack: every operation between each task and its right neighbour, checked. Usage:
//   lapirun -n N smoke [polling]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lapi.h"

namespace {

#define EXPECT(condition)                                                                             \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      std::fprintf(stderr, "smoke: task %d, line %d: %s does not hold\n", task, __LINE__, #condition); \
      std::exit(1);                                                                                   \
    }                                                                                                 \
  } while (false)
#define CALL(call) EXPECT((call) == LAPI_SUCCESS)

constexpr int kRounds = 100;
constexpr std::size_t kLarge = 300'000;

int task = -1;
int tasks = 0;

// Two numbers that are not beside each other: the first and the last of three, here or in the target.
struct Pair {
  void* info[2];
  ulong len[2] = {sizeof(int), sizeof(int)};
  lapi_vec_t vector = {LAPI_GEN_IOVECTOR, 2, info, len};
  explicit Pair(int* numbers) : info{&numbers[0], &numbers[2]} {}
};

struct Shared {
  int word = 0;
  long long wide = 0;
  lapi_cntr_t arrived{};
  std::vector<unsigned char> large = std::vector<unsigned char>(kLarge);
  int message = 0;
  int handled = 0;
  int numbers[3] = {};
} shared;

void complete(lapi_handle_t*, void* info) { __atomic_fetch_add(static_cast<int*>(info), 1, __ATOMIC_RELEASE); }

void* accept_message(lapi_handle_t*, void* header, uint* header_length, ulong* length, compl_hndlr_t** completion,
                     void** info) {
  if (*header_length != 8 || *length != sizeof shared.message) return nullptr;
  if (std::memcmp(header, "greeting", 8) != 0) return nullptr;
  *completion = complete;
  *info = &shared.handled;
  return &shared.message;
}

lapi_vec_t* accept_pair(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void**) {
  static Pair pair(shared.numbers);
  *completion = nullptr;
  return &pair.vector;
}

template <class T>
std::vector<T*> exchange(lapi_handle_t handle, T* own) {
  std::vector<void*> table(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init(handle, own, table.data()));
  std::vector<T*> typed;
  for (void* entry : table) typed.push_back(static_cast<T*>(entry));
  return typed;
}

void put_get_and_message(lapi_handle_t handle) {
  const auto right = static_cast<uint>((task + 1) % tasks);
  const int left = (task + tasks - 1) % tasks;
  const std::vector<int*> words = exchange(handle, &shared.word);
  const std::vector<lapi_cntr_t*> counters = exchange(handle, &shared.arrived);
  const std::vector<unsigned char*> buffers = exchange(handle, shared.large.data());
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&accept_message), 7));
  CALL(LAPI_Gfence(handle));

  lapi_cntr_t completed{};
  for (int round = 1; round <= kRounds; ++round) {
    int value = task * 1000 + round;
    int rest = -1;
    CALL(LAPI_Put(handle, right, sizeof value, words[right], &value, counters[right], nullptr, &completed));
    CALL(LAPI_Waitcntr(handle, &shared.arrived, 1, &rest));
    EXPECT(rest == 0);
    EXPECT(shared.word == left * 1000 + round);
    CALL(LAPI_Waitcntr(handle, &completed, 1, nullptr));
    CALL(LAPI_Gfence(handle));
  }

  std::vector<unsigned char> pattern(kLarge);
  for (std::size_t i = 0; i < kLarge; ++i) pattern[i] = static_cast<unsigned char>(i * 7 + static_cast<unsigned>(task));
  CALL(LAPI_Put(handle, right, kLarge, buffers[right], pattern.data(), nullptr, nullptr, &completed));
  CALL(LAPI_Waitcntr(handle, &completed, 1, nullptr));
  std::vector<unsigned char> back(kLarge);
  lapi_cntr_t fetched{};
  CALL(LAPI_Get(handle, right, kLarge, buffers[right], back.data(), nullptr, &fetched));
  CALL(LAPI_Waitcntr(handle, &fetched, 1, nullptr));
  EXPECT(back == pattern);

  char greeting[8];
  std::memcpy(greeting, "greeting", 8);
  int payload = 4711 + task;
  CALL(LAPI_Amsend(handle, right, reinterpret_cast<void*>(7), greeting, 8, &payload, sizeof payload, counters[right],
                   nullptr, &completed));
  CALL(LAPI_Waitcntr(handle, &completed, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &shared.arrived, 1, nullptr));
  EXPECT(shared.message == 4711 + left);
  EXPECT(__atomic_load_n(&shared.handled, __ATOMIC_ACQUIRE) == 1);
  CALL(LAPI_Gfence(handle));
}

void put_get_and_message_pairs(lapi_handle_t handle) {
  const auto right = static_cast<uint>((task + 1) % tasks);
  const int left = (task + tasks - 1) % tasks;
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&accept_pair), 8));
  Pair there(exchange(handle, shared.numbers)[right]);
  int sent[3] = {task + 1, -1, task + 2};
  Pair origin(sent);
  lapi_cntr_t completed{};
  CALL(LAPI_Putv(handle, right, &there.vector, &origin.vector, nullptr, nullptr, &completed));
  CALL(LAPI_Waitcntr(handle, &completed, 1, nullptr));

  int back[3] = {};
  Pair destination(back);
  lapi_cntr_t fetched{};
  CALL(LAPI_Getv(handle, right, &there.vector, &destination.vector, nullptr, &fetched));
  CALL(LAPI_Waitcntr(handle, &fetched, 1, nullptr));
  EXPECT(back[0] == task + 1 && back[1] == 0 && back[2] == task + 2);

  sent[0] = task + 3;
  CALL(LAPI_Amsendv(handle, right, reinterpret_cast<void*>(8), nullptr, 0, &origin.vector, nullptr, nullptr,
                    &completed));
  CALL(LAPI_Waitcntr(handle, &completed, 1, nullptr));
  CALL(LAPI_Gfence(handle));
  EXPECT(shared.numbers[0] == left + 3 && shared.numbers[1] == 0 && shared.numbers[2] == left + 2);
}

void count_together(lapi_handle_t handle) {
  const std::vector<long long*> wides = exchange(handle, &shared.wide);
  long long one = 1;
  for (int round = 0; round < kRounds; ++round) {
    lapi_cntr_t fetched{};
    long long previous = -1;
    CALL(LAPI_Rmw64(handle, FETCH_AND_ADD, 0, wides[0], &one, &previous, &fetched));
    CALL(LAPI_Waitcntr(handle, &fetched, 1, nullptr));
    EXPECT(previous >= round && previous < static_cast<long long>(kRounds) * tasks);
  }
  CALL(LAPI_Gfence(handle));
  if (task == 0) EXPECT(shared.wide == static_cast<long long>(kRounds) * tasks);
}

}  // namespace

int main(int argc, char** argv) {
  lapi_handle_t handle = 0;
  lapi_info_t info;
  std::memset(&info, 0, sizeof info);
  CALL(LAPI_Init(&handle, &info));
  CALL(LAPI_Qenv(handle, TASK_ID, &task));
  CALL(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  CALL(LAPI_Senv(handle, ERROR_CHK, 1));
  if (argc > 1 && std::strcmp(argv[1], "polling") == 0) CALL(LAPI_Senv(handle, INTERRUPT_SET, 0));
  put_get_and_message(handle);
  put_get_and_message_pairs(handle);
  count_together(handle);
  if (task == 0) std::printf("smoke: %d tasks, protocol %d: all right\n", tasks, info.protocol);
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Term(handle));
  EXPECT(LAPI_Probe(handle) == LAPI_ERR_HNDL_INVALID);
  return 0;
}
