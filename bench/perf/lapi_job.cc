#include "bench/perf/lapi_job.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "bench/perf/payload.h"

namespace openlapi::bench {
namespace {

constexpr std::size_t kPage = 4096;

// Where active messages go that are not read in place, and what the last one did.
std::byte* g_delivery = nullptr;
bool g_read_in_place = false;

lapi::Delivery receive(const lapi::Arrival& arrival, bool read) {
  g_read_in_place = arrival.data != nullptr;
  if (!g_read_in_place) return {.buffer = g_delivery};
  if (read) read_all(arrival.data, arrival.length);
  return lapi::Delivery::done();
}

lapi::Delivery read_in_place(const lapi::Arrival& arrival) { return receive(arrival, true); }

lapi::Delivery leave_untouched(const lapi::Arrival& arrival) { return receive(arrival, false); }

lapi::Delivery deliver(const lapi::Arrival&) { return {.buffer = g_delivery}; }

void note_completion(lapi_handle_t*, void*) {}

lapi::Delivery complete_inline(const lapi::Arrival&) {
  return {.buffer = g_delivery, .completion = note_completion, .run = LAPI_LOCAL_STATE};
}

lapi::Delivery complete_in_thread(const lapi::Arrival&) {
  return {.buffer = g_delivery, .completion = note_completion};
}

hdr_hndlr_t* const kHandlerTable[kHandlers] = {
    lapi::header_handler<read_in_place>, lapi::header_handler<leave_untouched>, lapi::header_handler<deliver>,
    lapi::header_handler<complete_inline>, lapi::header_handler<complete_in_thread>};

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// The job that a launcher started, over one transport.
lapi::Context join(Wire wire) {
  setenv("LAPI_USE_SHM", wire == Wire::shm ? "only" : "no", 1);
  if (wire == Wire::verbs || wire == Wire::dpdk) {
    setenv("MP_EUILIB", "us", 1);
    setenv("OPENLAPI_MODULES", name_of(wire), 1);
    setenv("MP_USE_BULK_XFER", "yes", 0);
  }
  try {
    return lapi::Context();
  } catch (const lapi::Error& error) {
    if (error.code() != LAPI_ERR_MSG_API) throw;
    std::fprintf(stderr, "lapi_perf: start it with a launcher: lapirun -n 2 lapi_perf\n");
    std::_Exit(1);
  }
}

}  // namespace

void LapiJob::FreeMemory::operator()(void* memory) const { std::free(memory); }

LapiJob::LapiJob(Wire wire, Mode mode, std::size_t largest) : context_(join(wire)) {
  copy_limit_ = static_cast<std::size_t>(context_.query(BUF_CP_SIZE));
  packet_ = static_cast<std::size_t>(context_.query(MAX_PKT_SZ));
  context_.set(INTERRUPT_SET, mode == Mode::interrupt);

  const std::size_t buffer = whole_pages(largest);
  const std::size_t window = whole_pages(sizeof(Window));
  memory_.reset(std::aligned_alloc(kPage, window + 2 * buffer));
  if (!memory_) {
    std::fprintf(stderr, "lapi_perf: no memory for two buffers of %zu bytes (--sizes)\n", largest);
    std::_Exit(1);
  }
  std::memset(memory_.get(), 0, window + 2 * buffer);
  window_ = new (memory_.get()) Window{};
  source_ = static_cast<std::byte*>(memory_.get()) + window;
  target_ = source_ + buffer;
  g_delivery = target_;
  check_transport(wire);
}

// When a call has failed the others may not come to a fence any more: then the context just ends.
LapiJob::~LapiJob() {
  if (std::uncaught_exceptions() != 0) return;
  fence_all();
  context_.close();
}

void LapiJob::check_transport(Wire wire) {
  shares_memory_ = context_.query(QUERY_SHM_ENABLED) != 0 && context_.query(QUERY_SHM_NUM_TASKS) == tasks();
  if (shares_memory_ || wire != Wire::shm || tasks() == 1) return;
  std::fprintf(stderr, "lapi_perf: --transport shm: not all %d tasks share memory; they must run on one machine\n",
               tasks());
  std::_Exit(1);
}

std::uint64_t LapiJob::exchange(std::uint64_t value) { return context_.exchange(value)[peer_]; }

void LapiJob::exchange_addresses(unsigned peer) {
  peer_ = peer;
  peer_window_ = context_.collect(window_)[peer];
  peer_source_ = context_.collect(source_)[peer];
  peer_target_ = context_.collect(target_)[peer];
  for (int i = 0; i < kHandlers; ++i) peer_handlers_[i] = context_.collect(kHandlerTable[i])[peer];
}

void LapiJob::set_mode(Mode mode) {
  fence_all();
  context_.set(INTERRUPT_SET, mode == Mode::interrupt);
  fence_all();
}

void LapiJob::finish_phase() { context_.put(peer_target_, std::span<const std::byte>(), {.target = peer_finished()}); }

bool LapiJob::read_by_handler() { return g_read_in_place; }

}  // namespace openlapi::bench
