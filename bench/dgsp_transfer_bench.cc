// A contiguous data gather/scatter program beside LAPI_Amsend: ping-pongs of two tasks over shared memory. Both ways
// are measured in slices that alternate; the header handler answers with a buffer, or with a contiguous program, too.
//   LAPI_USE_SHM=only lapirun -n 2 dgsp_transfer_bench
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "api/include/lapi.h"
#include "bench/perf/statistics.h"

namespace openlapi::bench {
namespace {

constexpr int kSlices = 21;
constexpr int kToBuffer = 1, kToProgram = 2;  // indices of the header handlers
constexpr std::size_t kSizes[] = {8, 1024, 64 * 1024, 1024 * 1024};
constexpr std::size_t kLargest = 1024 * 1024;

lapi_handle_t handle = 0;
lapi_cntr_t arrived{};
void* arrived_there[2];
std::vector<char> outbox(kLargest, 1), inbox(kLargest);
lapi_dg_handle_t program = nullptr;
int task = 0;

void check(int code) {
  if (code == LAPI_SUCCESS) return;
  std::fprintf(stderr, "dgsp_transfer_bench: a call returned %d\n", code);
  std::exit(1);
}

void* to_buffer(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void**) {
  *completion = nullptr;
  return inbox.data();
}

void* to_program(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t** completion, void**) {
  *completion = nullptr;
  reinterpret_cast<lapi_return_info_t*>(length)->dgsp_handle = program;
  return inbox.data();
}

void register_contiguous() {
  int code[LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE];
  const lapi_dgsm_copy_t copy = {LAPI_DGSM_COPY, 8, 0};
  const lapi_dgsm_iterate_t iterate = {LAPI_DGSM_ITERATE, -LAPI_DGSM_COPY_SIZE};
  std::memcpy(code, &copy, sizeof copy);
  std::memcpy(code + LAPI_DGSM_COPY_SIZE, &iterate, sizeof iterate);
  lapi_dgsp_descr_t description{};
  description.code = code;
  description.code_size = LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE;
  description.depth = 1;
  description.density = LAPI_DGSM_UNIT;
  description.size = description.extent = description.rext = 8;
  lapi_util_t command{};
  command.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
  command.RegDgsp.idgsp = &description;
  check(LAPI_Util(handle, &command));
  program = command.RegDgsp.dgsp_handle;
}

// One slice: nanoseconds of half a round trip.
template <class Send>
Samples measure(std::size_t bytes, Send&& send) {
  check(LAPI_Gfence(handle));
  const unsigned round_trips = bytes < 32 * 1024 ? 2000 : bytes < 512 * 1024 ? 200 : 20;
  Samples samples;
  const auto receive = [] { check(LAPI_Waitcntr(handle, &arrived, 1, nullptr)); };
  time_batches(round_trips, round_trips / 20, 2, &samples, [&] {
    if (task == 0) send();
    receive();
    if (task != 0) send();
  });
  check(LAPI_Gfence(handle));
  return samples;
}

void compare_with_amsend(std::size_t bytes, int answer) {
  const auto peer = 1U - static_cast<uint>(task);
  auto* const there = static_cast<lapi_cntr_t*>(arrived_there[peer]);
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  command.Dgsp.Xfer_type = LAPI_DGSP_XFER;
  command.Dgsp.tgt = peer;
  command.Dgsp.hdr_hdl = static_cast<lapi_long_t>(answer);
  command.Dgsp.udata = outbox.data();
  command.Dgsp.udata_len = bytes;
  command.Dgsp.tgt_cntr = reinterpret_cast<ulong>(there);
  command.Dgsp.dgsp = program;
  const auto amsend = [&] {
    check(LAPI_Amsend(handle, peer, reinterpret_cast<void*>(kToBuffer), nullptr, 0, outbox.data(), bytes, there,
                      nullptr, nullptr));
  };
  const auto send_program = [&] { check(LAPI_Xfer(handle, &command)); };
  std::vector<Slice> slices(kSlices);
  for (Slice& slice : slices) {
    slice.floor = measure(bytes, amsend);
    slice.library = measure(bytes, send_program);
  }
  if (task != 0) return;
  const Comparison result = compare(slices);
  std::printf("%8zu %-8s %10.3f %10.3f %8.3f %+9.1f\n", bytes, answer == kToBuffer ? "buffer" : "program",
              result.floor / 1000, result.median / 1000, result.ratio, result.difference);
  std::fflush(stdout);
}

int run() {
  lapi_info_t info;
  std::memset(&info, 0, sizeof info);
  check(LAPI_Init(&handle, &info));
  int tasks = 0;
  check(LAPI_Qenv(handle, TASK_ID, &task));
  check(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  if (tasks != 2) {
    std::fprintf(stderr, "dgsp_transfer_bench: %d tasks; it takes 2\n", tasks);
    return 1;
  }
  check(LAPI_Senv(handle, INTERRUPT_SET, 0));
  check(LAPI_Addr_set(handle, reinterpret_cast<void*>(&to_buffer), kToBuffer));
  check(LAPI_Addr_set(handle, reinterpret_cast<void*>(&to_program), kToProgram));
  check(LAPI_Address_init(handle, &arrived, arrived_there));
  register_contiguous();
  if (task == 0)
    std::printf("%8s %-8s %10s %10s %8s %9s\n", "bytes", "answer", "Amsend us", "DGSP us", "ratio", "ns more");
  for (const std::size_t bytes : kSizes) {
    for (const int answer : {kToBuffer, kToProgram}) compare_with_amsend(bytes, answer);
  }
  return LAPI_Term(handle) == LAPI_SUCCESS ? 0 : 1;
}

}  // namespace
}  // namespace openlapi::bench

int main() { return openlapi::bench::run(); }
