// What LAPI_Xfer costs beyond the direct calls, and what a send completion handler adds: in a job of one task that
// sends to itself, where nothing hides it.
//   lapirun -n 1 xfer_bench
#include <cstdio>
#include <cstring>

#include "api/include/lapi.h"
#include "bench/perf/statistics.h"

namespace openlapi::bench {
namespace {

constexpr int kSlices = 21;
constexpr unsigned kCalls = 20'000;
constexpr int kIndex = 1;

template <class Direct, class Xfer>
void compare_calls(const char* name, Direct&& direct, Xfer&& xfer) {
  std::vector<Slice> slices(kSlices);
  for (Slice& slice : slices) {
    time_batches(kCalls, 100, 1, &slice.floor, direct);
    time_batches(kCalls, 100, 1, &slice.library, xfer);
  }
  const Comparison result = compare(slices);
  std::printf("%-26s %8.1f %8.1f %+8.1f\n", name, result.floor, result.median, result.difference);
}

long long source = 1, target = 0, operands[2] = {1, 2}, previous = 0;
unsigned sent = 0;

void* bury(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) { return nullptr; }
void count_sent(lapi_handle_t*, void*, lapi_sh_info_t*) { ++sent; }

lapi_long_t number(const void* place) { return reinterpret_cast<ulong>(place); }

lapi_xfer_t put_of(uint self, scompl_hndlr_t* handler) {
  lapi_xfer_t command{};
  command.Put = {};
  command.Put.Xfer_type = LAPI_PUT_XFER;
  command.Put.tgt = self;
  command.Put.tgt_addr = number(&target);
  command.Put.org_addr = &source;
  command.Put.len = sizeof source;
  command.Put.shdlr = handler;
  return command;
}

lapi_xfer_t get_of(uint self) {
  lapi_xfer_t command{};
  command.Get = {};
  command.Get.Xfer_type = LAPI_GET_XFER;
  command.Get.tgt = self;
  command.Get.tgt_addr = number(&source);
  command.Get.org_addr = &target;
  command.Get.len = sizeof source;
  return command;
}

lapi_xfer_t message_of(uint self, lapi_xfer_type_t type) {
  lapi_xfer_t command{};
  command.Am = {};
  command.Am.Xfer_type = type;
  command.Am.tgt = self;
  command.Am.hdr_hdl = kIndex;
  command.Am.udata = &source;
  command.Am.udata_len = sizeof source;
  return command;
}

lapi_xfer_t rmw_of(uint self) {
  lapi_xfer_t command{};
  command.Rmw = {};
  command.Rmw.Xfer_type = LAPI_RMW_XFER;
  command.Rmw.op = FETCH_AND_ADD;
  command.Rmw.tgt = self;
  command.Rmw.size = 64;
  command.Rmw.tgt_var = number(&target);
  command.Rmw.in_val = operands;
  command.Rmw.prev_tgt_val = &previous;
  return command;
}

// One piece of eight bytes, as each side of a vector transfer is told of it.
void* own_place[] = {&source};
void* target_place[] = {&target};
ulong lengths[] = {sizeof source};
lapi_vec_t own_vector = {LAPI_GEN_IOVECTOR, 1, own_place, lengths};
lapi_vec_t target_vector = {LAPI_GEN_IOVECTOR, 1, target_place, lengths};

lapi_xfer_t putv_of(uint self) {
  lapi_xfer_t command{};
  command.Putv = {};
  command.Putv.Xfer_type = LAPI_PUTV_XFER;
  command.Putv.tgt = self;
  command.Putv.flags = USE_TGT_VEC_TYPE;
  command.Putv.org_vec = &own_vector;
  command.Putv.tgt_vec = &target_vector;
  return command;
}

lapi_xfer_t getv_of(uint self) {
  lapi_xfer_t command{};
  command.Getv = {};
  command.Getv.Xfer_type = LAPI_GETV_XFER;
  command.Getv.tgt = self;
  command.Getv.flags = USE_TGT_VEC_TYPE;
  command.Getv.org_vec = &own_vector;
  command.Getv.tgt_vec = &target_vector;
  return command;
}

lapi_xfer_t vector_message_of(uint self) {
  lapi_xfer_t command{};
  command.Amv = {};
  command.Amv.Xfer_type = LAPI_AMV_XFER;
  command.Amv.tgt = self;
  command.Amv.hdr_hdl = kIndex;
  command.Amv.org_vec = &own_vector;
  return command;
}

// A contiguous program: the nearest direct call is LAPI_Amsend.
lapi_xfer_t program_of(uint self, lapi_handle_t handle) {
  struct {
    lapi_dgsm_copy_t copy = {LAPI_DGSM_COPY, 8, 0};
    lapi_dgsm_iterate_t iterate = {LAPI_DGSM_ITERATE, -LAPI_DGSM_COPY_SIZE};
  } code;
  lapi_dgsp_descr_t description{};
  description.code = reinterpret_cast<int*>(&code);
  description.code_size = LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE;
  description.depth = 1;
  description.density = LAPI_DGSM_UNIT;
  description.size = description.extent = description.rext = 8;
  lapi_util_t registration{};
  registration.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
  registration.RegDgsp.idgsp = &description;
  LAPI_Util(handle, &registration);
  lapi_xfer_t command{};
  command.Dgsp = {};
  command.Dgsp.Xfer_type = LAPI_DGSP_XFER;
  command.Dgsp.tgt = self;
  command.Dgsp.hdr_hdl = kIndex;
  command.Dgsp.udata = &source;
  command.Dgsp.udata_len = sizeof source;
  command.Dgsp.dgsp = registration.RegDgsp.dgsp_handle;
  return command;
}

int run() {
  lapi_handle_t handle = 0;
  lapi_info_t info;
  std::memset(&info, 0, sizeof info);
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 1;
  int task = 0;
  LAPI_Qenv(handle, TASK_ID, &task);
  LAPI_Senv(handle, INTERRUPT_SET, 0);
  LAPI_Addr_set(handle, reinterpret_cast<void*>(&bury), kIndex);
  const auto self = static_cast<uint>(task);
  const auto put = [&] { LAPI_Put(handle, self, 8, &target, &source, nullptr, nullptr, nullptr); };
  const auto message = [&] {
    LAPI_Amsend(handle, self, reinterpret_cast<void*>(kIndex), nullptr, 0, &source, 8, nullptr, nullptr, nullptr);
  };
  lapi_xfer_t put_command = put_of(self, nullptr), told_command = put_of(self, count_sent), get_command = get_of(self),
              am_command = message_of(self, LAPI_AM_XFER), light_command = message_of(self, LAPI_AM_LW_XFER),
              rmw_command = rmw_of(self);
  std::printf("%-26s %8s %8s %8s  (ns a call)\n", "transfer", "direct", "Xfer", "more");
  compare_calls("put", put, [&] { LAPI_Xfer(handle, &put_command); });
  compare_calls(
      "get", [&] { LAPI_Get(handle, self, 8, &source, &target, nullptr, nullptr); },
      [&] { LAPI_Xfer(handle, &get_command); });
  compare_calls("active message", message, [&] { LAPI_Xfer(handle, &am_command); });
  compare_calls("lightweight message", message, [&] { LAPI_Xfer(handle, &light_command); });
  compare_calls(
      "read-modify-write, 64 bits",
      [&] { LAPI_Rmw64(handle, FETCH_AND_ADD, self, &target, operands, &previous, nullptr); },
      [&] { LAPI_Xfer(handle, &rmw_command); });
  int operands_of_32[] = {1, 2}, previous_of_32 = 0;
  rmw_command.Rmw.size = 32;
  rmw_command.Rmw.in_val = operands_of_32;
  rmw_command.Rmw.prev_tgt_val = &previous_of_32;
  compare_calls(
      "read-modify-write, 32 bits",
      [&] {
        LAPI_Rmw(handle, FETCH_AND_ADD, self, reinterpret_cast<int*>(&target), operands_of_32, &previous_of_32,
                 nullptr);
      },
      [&] { LAPI_Xfer(handle, &rmw_command); });
  lapi_xfer_t putv_command = putv_of(self), getv_command = getv_of(self), amv_command = vector_message_of(self),
              program_command = program_of(self, handle);
  compare_calls(
      "vector put", [&] { LAPI_Putv(handle, self, &target_vector, &own_vector, nullptr, nullptr, nullptr); },
      [&] { LAPI_Xfer(handle, &putv_command); });
  compare_calls(
      "vector get", [&] { LAPI_Getv(handle, self, &target_vector, &own_vector, nullptr, nullptr); },
      [&] { LAPI_Xfer(handle, &getv_command); });
  compare_calls(
      "vector message",
      [&] {
        LAPI_Amsendv(handle, self, reinterpret_cast<void*>(kIndex), nullptr, 0, &own_vector, nullptr, nullptr, nullptr);
      },
      [&] { LAPI_Xfer(handle, &amv_command); });
  compare_calls("contiguous program, Amsend", message, [&] { LAPI_Xfer(handle, &program_command); });
  compare_calls("put with a send handler", put, [&] { LAPI_Xfer(handle, &told_command); });
  if (sent == 0) return 1;
  LAPI_Gfence(handle);
  return LAPI_Term(handle) == LAPI_SUCCESS ? 0 : 1;
}

}  // namespace
}  // namespace openlapi::bench

int main() { return openlapi::bench::run(); }
