// One context of the library, with the memory that the operations of lapi_perf work on. Only lapi.h is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/lapi.h"
#include "bench/perf/options.h"

namespace openlapi::bench {

// Counters and variables that the other task changes; each with lines of its own.
struct Window {
  alignas(128) lapi_cntr_t arrived;    // target counter of what comes
  alignas(128) lapi_cntr_t finished;   // the other task has ended a phase
  alignas(128) lapi_cntr_t completed;  // completion counter of what we sent
  alignas(128) lapi_cntr_t returned;   // origin counter of our gets and read-modify-writes
  alignas(128) long long variable;
};

// Prints what failed, with the library's text, and ends the task: lapirun then ends the others.
[[noreturn]] void fail_call(const char* call, int code);
inline void check(int code, const char* call) {
  if (code != LAPI_SUCCESS) [[unlikely]]
    fail_call(call, code);
}

enum class Handler { read_in_place, leave_untouched, deliver, complete_inline, complete_in_thread };
inline constexpr int kHandlers = 5;

class LapiJob {
 public:
  // Joins the job; ends the task with a message when that fails or the transport is not the wanted one.
  LapiJob(Wire wire, Mode mode, std::size_t largest);
  ~LapiJob();
  LapiJob(const LapiJob&) = delete;
  LapiJob& operator=(const LapiJob&) = delete;

  int task() const { return task_; }
  int tasks() const { return tasks_; }
  lapi_handle_t handle() const { return handle_; }
  std::size_t copy_limit() const { return copy_limit_; }  // larger messages are moved by attaching
  std::size_t packet() const { return packet_; }          // bytes of user header and data in one packet
  bool whole_job_shares_memory() const { return shares_memory_; }

  // The other task of this one's pair. Collective over the job, once.
  void exchange_addresses(unsigned peer);
  unsigned peer() const { return peer_; }
  std::uint64_t exchange(std::uint64_t value);  // over all tasks: returns the peer's

  Window& window() { return *window_; }
  std::byte* source() { return source_; }
  std::byte* target() { return target_; }

  // The peer's addresses of the same things.
  lapi_cntr_t* peer_arrived() { return &peer_window_->arrived; }
  lapi_cntr_t* peer_finished() { return &peer_window_->finished; }
  long long* peer_variable() { return &peer_window_->variable; }
  std::byte* peer_source() { return peer_source_; }
  std::byte* peer_target() { return peer_target_; }
  void* peer_handler(Handler handler) const { return peer_handlers_[static_cast<int>(handler)]; }

  void wait(lapi_cntr_t& counter) { check(LAPI_Waitcntr(handle_, &counter, 1, nullptr), "LAPI_Waitcntr"); }
  void probe() { check(LAPI_Probe(handle_), "LAPI_Probe"); }
  void fence_all() { check(LAPI_Gfence(handle_), "LAPI_Gfence"); }
  // Collective: what was sent before in the other mode is done with.
  void set_mode(Mode mode);
  // Says to the peer, which waits for window().finished, that a phase is over.
  void finish_phase();

  // Whether the last active message was read by its handler (false: it was too long for that and lies in target()).
  static bool read_by_handler();

 private:
  int query(lapi_query_t what);
  void check_transport(Wire wire);

  struct FreeMemory {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, FreeMemory> memory_;
  Window* window_ = nullptr;
  std::byte* source_ = nullptr;
  std::byte* target_ = nullptr;

  lapi_handle_t handle_ = 0;
  int task_ = 0;
  int tasks_ = 0;
  unsigned peer_ = 0;
  std::size_t copy_limit_ = 0;
  std::size_t packet_ = 0;
  bool shares_memory_ = false;

  Window* peer_window_ = nullptr;
  std::byte* peer_source_ = nullptr;
  std::byte* peer_target_ = nullptr;
  void* peer_handlers_[kHandlers] = {};
};

}  // namespace openlapi::bench
