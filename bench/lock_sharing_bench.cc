// What sharing the context's lock with the program saves (chapter 12): a ping-pong of empty active messages, received
// by LAPI_Msgpoll one round at a time. Before and after each call and in each handler the program counts something,
// which is protected
//   not at all   no lock in the program
//   separately   by a lock of the program, which it cannot hold during calls because handlers take it: figures 10 to 13
//   by sharing   by the context's lock, held all the time; calls and handlers take none: figures 14 to 17
// In slices that alternate; each is compared with its neighbours in time.
//   LAPI_USE_SHM=only lapirun -n 2 lock_sharing_bench [slices]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "api/include/lapi.h"
#include "bench/perf/statistics.h"

namespace openlapi::bench {
namespace {

constexpr int kSlices = 41;
constexpr unsigned kRoundTrips = 4'000;  // of each kind in each slice
constexpr unsigned kBatch = 100;
constexpr int kIndex = 1;

enum class Protection { none, separate, shared };

lapi_handle_t handle = 0;
lapi_thread_func_t lock_sharing;
int task = 0;

Protection protection = Protection::none;
std::mutex program_lock;
volatile unsigned long messages = 0, steps = 0;  // what is protected

void lock() {
  if (protection == Protection::separate) program_lock.lock();
}

void unlock() {
  if (protection == Protection::separate) program_lock.unlock();
}

void* count_message(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t** completion, void**) {
  lock();
  messages = messages + 1;
  unlock();
  *completion = nullptr;
  reinterpret_cast<lapi_return_info_t*>(length)->ctl_flags = LAPI_BURY_MSG;
  return nullptr;
}

void check(int code) {
  if (code == LAPI_SUCCESS) return;
  std::fprintf(stderr, "lock_sharing_bench: a call returned %d\n", code);
  std::exit(1);
}

// What the program does before and after each call with its data.
void process() {
  lock();
  steps = steps + 1;
  unlock();
}

void send(lapi_xfer_t& message) {
  process();
  check(LAPI_Xfer(handle, &message));
  process();
}

void receive() {
  lapi_msg_info_t info;
  do {
    process();
    check(LAPI_Msgpoll(handle, 1, &info));
    process();
  } while ((info.status & LAPI_RECV_COMPLETE) == 0);
}

// One slice of one kind: nanoseconds of half a round trip, one sample for each batch.
Samples measure(Protection how, lapi_xfer_t& message) {
  protection = how;
  check(LAPI_Gfence(handle));
  if (how == Protection::shared) lock_sharing.mutex_lock(handle);
  Samples samples;
  time_batches(kRoundTrips, kBatch, 2, &samples, [&] {
    if (task == 0) send(message);
    receive();
    if (task != 0) send(message);
  });
  if (how == Protection::shared) lock_sharing.mutex_unlock(handle);
  check(LAPI_Gfence(handle));
  return samples;
}

void begin() {
  lapi_info_t info;
  std::memset(&info, 0, sizeof info);
  check(LAPI_Init(&handle, &info));
  int tasks = 0;
  check(LAPI_Qenv(handle, TASK_ID, &task));
  check(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  if (tasks != 2) {
    std::fprintf(stderr, "lock_sharing_bench: %d tasks; it takes 2\n", tasks);
    std::exit(1);
  }
  check(LAPI_Senv(handle, INTERRUPT_SET, 0));
  check(LAPI_Addr_set(handle, reinterpret_cast<void*>(&count_message), kIndex));
  lapi_util_t command;
  command.Util_type = LAPI_GET_THREAD_FUNC;
  check(LAPI_Util(handle, &command));
  lock_sharing = command.ThreadFunc;
}

void report(const char* name, const Comparison& result) {
  // As the guide's program does: what the shared lock saves, in per cent of the other's time.
  std::printf("%-22s %8.3f %8.3f %9.1f %%\n", name, result.floor / 1000, result.median / 1000,
              -100 * result.difference / result.floor);
}

int run(int slices) {
  begin();
  lapi_xfer_t message;
  std::memset(&message, 0, sizeof message);
  message.Am.Xfer_type = LAPI_AM_XFER;
  message.Am.tgt = 1U - static_cast<uint>(task);
  message.Am.hdr_hdl = kIndex;
  for (const Protection how : {Protection::none, Protection::separate, Protection::shared}) measure(how, message);
  std::vector<Slice> against_none(static_cast<std::size_t>(slices)), against_separate(against_none);
  for (std::size_t slice = 0; slice < against_none.size(); ++slice) {
    against_none[slice].floor = measure(Protection::none, message);
    against_none[slice].library = measure(Protection::shared, message);
    against_separate[slice].library = against_none[slice].library;
    against_separate[slice].floor = measure(Protection::separate, message);
  }
  if (task == 0) {
    std::printf("half a round trip, us  %8s %8s %11s\n", "without", "sharing", "saves");
    report("no lock of its own", compare(against_none));
    report("a lock of its own", compare(against_separate));
  }
  return LAPI_Term(handle) == LAPI_SUCCESS && messages != 0 ? 0 : 1;
}

}  // namespace
}  // namespace openlapi::bench

int main(int count, char** arguments) {
  const int slices = count > 1 ? std::atoi(arguments[1]) : openlapi::bench::kSlices;
  if (slices < 1) {
    std::fprintf(stderr, "lock_sharing_bench: %s slices; at least 1 is allowed\n", arguments[1]);
    return 1;
  }
  return openlapi::bench::run(slices);
}
