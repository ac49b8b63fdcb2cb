// One context of the library, with the memory that the operations of lapi_perf work on. Only lapi.hpp is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/include/lapi.hpp"
#include "bench/perf/options.h"

namespace openlapi::bench {

// Counters and variables that the other task changes; each with lines of its own.
struct Window {
  alignas(128) lapi::Counter arrived;    // target counter of what comes
  alignas(128) lapi::Counter finished;   // the other task has ended a phase
  alignas(128) lapi::Counter completed;  // completion counter of what we sent
  alignas(128) lapi::Counter returned;   // origin counter of our gets and read-modify-writes
  alignas(128) long long variable;
};

enum class Handler { read_in_place, leave_untouched, deliver, complete_inline, complete_in_thread };
inline constexpr int kHandlers = 5;

class LapiJob {
 public:
  // Joins the job; throws lapi::Error, as all that calls the library does. Ends the task with a message when there is
  // no job or the transport is not the wanted one.
  LapiJob(Wire wire, Mode mode, std::size_t largest);
  ~LapiJob();
  LapiJob(const LapiJob&) = delete;
  LapiJob& operator=(const LapiJob&) = delete;

  lapi::Context& context() { return context_; }
  int task() const { return static_cast<int>(context_.task()); }
  int tasks() const { return static_cast<int>(context_.tasks()); }
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

  // The peer's of the same things.
  lapi::Remote<lapi::Counter> peer_arrived() const { return peer_window_.member(&Window::arrived); }
  lapi::Remote<lapi::Counter> peer_finished() const { return peer_window_.member(&Window::finished); }
  lapi::Remote<long long> peer_variable() const { return peer_window_.member(&Window::variable); }
  lapi::Remote<std::byte> peer_source() const { return peer_source_; }
  lapi::Remote<std::byte> peer_target() const { return peer_target_; }
  lapi::Remote<hdr_hndlr_t> peer_handler(Handler handler) const { return peer_handlers_[static_cast<int>(handler)]; }

  void wait(lapi::Counter& counter) { context_.wait(counter); }
  void probe() { context_.probe(); }
  void fence_all() { context_.fence_all(); }
  // Collective: what was sent before in the other mode is done with.
  void set_mode(Mode mode);
  // Says to the peer, which waits for window().finished, that a phase is over.
  void finish_phase();

  // Whether the last active message was read by its handler (false: it was too long for that and lies in target()).
  static bool read_by_handler();

 private:
  void check_transport(Wire wire);

  struct FreeMemory {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, FreeMemory> memory_;
  Window* window_ = nullptr;
  std::byte* source_ = nullptr;
  std::byte* target_ = nullptr;

  lapi::Context context_;
  unsigned peer_ = 0;
  std::size_t copy_limit_ = 0;
  std::size_t packet_ = 0;
  bool shares_memory_ = false;

  lapi::Remote<Window> peer_window_;
  lapi::Remote<std::byte> peer_source_;
  lapi::Remote<std::byte> peer_target_;
  lapi::Remote<hdr_hndlr_t> peer_handlers_[kHandlers];
};

}  // namespace openlapi::bench
