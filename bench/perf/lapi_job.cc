#include "bench/perf/lapi_job.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bench/perf/payload.h"

namespace openlapi::bench {
namespace {

constexpr std::size_t kPage = 4096;

// Where active messages go that are not read in place, and what the last one did.
std::byte* g_delivery = nullptr;
bool g_read_in_place = false;

void take_in_place(lapi_return_info_t* info, bool read) {
  if (read) read_all(static_cast<const std::byte*>(info->udata_one_pkt_ptr), info->msg_len);
  info->ret_flags = LAPI_LOCAL_STATE;
  info->ctl_flags = LAPI_BURY_MSG;
  g_read_in_place = true;
}

void* receive(ulong* msg_len, compl_hndlr_t** comp_h, bool read) {
  auto* info = reinterpret_cast<lapi_return_info_t*>(msg_len);
  *comp_h = nullptr;
  if (info->udata_one_pkt_ptr != nullptr) {
    take_in_place(info, read);
    return nullptr;
  }
  g_read_in_place = false;
  return g_delivery;
}

void* read_in_place(lapi_handle_t*, void*, uint*, ulong* msg_len, compl_hndlr_t** comp_h, void**) {
  return receive(msg_len, comp_h, true);
}

void* leave_untouched(lapi_handle_t*, void*, uint*, ulong* msg_len, compl_hndlr_t** comp_h, void**) {
  return receive(msg_len, comp_h, false);
}

void* deliver(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** comp_h, void**) {
  *comp_h = nullptr;
  return g_delivery;
}

void note_completion(lapi_handle_t*, void*) {}

void* complete_inline(lapi_handle_t*, void*, uint*, ulong* msg_len, compl_hndlr_t** comp_h, void**) {
  *comp_h = note_completion;
  reinterpret_cast<lapi_return_info_t*>(msg_len)->ret_flags = LAPI_LOCAL_STATE;
  return g_delivery;
}

void* complete_in_thread(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** comp_h, void**) {
  *comp_h = note_completion;
  return g_delivery;
}

hdr_hndlr_t* const kHandlerTable[kHandlers] = {read_in_place, leave_untouched, deliver, complete_inline,
                                               complete_in_thread};

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

void fail_call(const char* call, int code) {
  char text[LAPI_MAX_ERR_STRING] = {};
  LAPI_Msg_string(code, text);
  std::fprintf(stderr, "lapi_perf: %s returned %d: %s\n", call, code, text);
  std::_Exit(1);
}

void LapiJob::FreeMemory::operator()(void* memory) const { std::free(memory); }

LapiJob::LapiJob(Wire wire, Mode mode, std::size_t largest) {
  setenv("LAPI_USE_SHM", wire == Wire::shm ? "only" : "no", 1);
  lapi_info_t info;
  std::memset(&info, 0, sizeof info);
  info.lib_vers = LAST_LIB;
  const int code = LAPI_Init(&handle_, &info);
  if (code == LAPI_ERR_MSG_API) {
    std::fprintf(stderr, "lapi_perf: start it with a launcher: lapirun -n 2 lapi_perf\n");
    std::_Exit(1);
  }
  check(code, "LAPI_Init");
  task_ = query(TASK_ID);
  tasks_ = query(NUM_TASKS);
  copy_limit_ = static_cast<std::size_t>(query(BUF_CP_SIZE));
  packet_ = static_cast<std::size_t>(query(MAX_PKT_SZ));
  check(LAPI_Senv(handle_, INTERRUPT_SET, mode == Mode::interrupt), "LAPI_Senv");

  const std::size_t buffer = whole_pages(largest);
  const std::size_t window = whole_pages(sizeof(Window));
  memory_.reset(std::aligned_alloc(kPage, window + 2 * buffer));
  if (!memory_) {
    std::fprintf(stderr, "lapi_perf: no memory for two buffers of %zu bytes (--sizes)\n", largest);
    std::_Exit(1);
  }
  std::memset(memory_.get(), 0, window + 2 * buffer);
  window_ = static_cast<Window*>(memory_.get());
  source_ = static_cast<std::byte*>(memory_.get()) + window;
  target_ = source_ + buffer;
  g_delivery = target_;
  check_transport(wire);
}

LapiJob::~LapiJob() {
  fence_all();
  check(LAPI_Term(handle_), "LAPI_Term");
}

int LapiJob::query(lapi_query_t what) {
  int value = 0;
  check(LAPI_Qenv(handle_, what, &value), "LAPI_Qenv");
  return value;
}

void LapiJob::check_transport(Wire wire) {
  shares_memory_ = query(QUERY_SHM_ENABLED) != 0 && query(QUERY_SHM_NUM_TASKS) == tasks_;
  if (shares_memory_ || wire != Wire::shm || tasks_ == 1) return;
  std::fprintf(stderr, "lapi_perf: --transport shm: not all %d tasks share memory; they must run on one machine\n",
               tasks_);
  std::_Exit(1);
}

std::uint64_t LapiJob::exchange(std::uint64_t value) {
  std::vector<lapi_long_t> table(static_cast<std::size_t>(tasks_));
  check(LAPI_Address_init64(handle_, value, table.data()), "LAPI_Address_init64");
  return table[peer_];
}

void LapiJob::exchange_addresses(unsigned peer) {
  peer_ = peer;
  peer_window_ = reinterpret_cast<Window*>(exchange(reinterpret_cast<std::uint64_t>(window_)));
  peer_source_ = reinterpret_cast<std::byte*>(exchange(reinterpret_cast<std::uint64_t>(source_)));
  peer_target_ = reinterpret_cast<std::byte*>(exchange(reinterpret_cast<std::uint64_t>(target_)));
  for (int i = 0; i < kHandlers; ++i) {
    peer_handlers_[i] = reinterpret_cast<void*>(exchange(reinterpret_cast<std::uint64_t>(kHandlerTable[i])));
  }
}

void LapiJob::set_mode(Mode mode) {
  fence_all();
  check(LAPI_Senv(handle_, INTERRUPT_SET, mode == Mode::interrupt), "LAPI_Senv");
  fence_all();
}

void LapiJob::finish_phase() {
  check(LAPI_Put(handle_, peer_, 0, nullptr, nullptr, peer_finished(), nullptr, nullptr), "LAPI_Put");
}

bool LapiJob::read_by_handler() { return g_read_in_place; }

}  // namespace openlapi::bench
