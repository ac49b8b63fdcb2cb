// DPDK's environment (EAL) in this process. The first transport starts it, in a thread of its own, so that the caller's
// processor affinity and signal mask stay as they are. It is never stopped: DPDK cannot be started twice in a process,
// but LAPI_Init may be called again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace openlapi::dpdk {

// Starts EAL, or finds it running; only the first call's arguments count. If starting fails once, every later call
// fails with the same reason. `may_take_huge`: it is this task's turn (HugePageTurn). Must not be called in a process
// that was forked from one in which EAL runs. Thread-safe.
bool start_environment(const std::string& arguments, std::uint64_t needed_bytes, bool may_take_huge,
                       std::string& reason);

// Whether start_environment() would start it and choose between huge and ordinary pages: this process (or the one that
// it was forked from) has not called it yet, and the arguments leave the pages open.
bool would_choose_pages(const std::string& arguments);

// Whether start_environment() has started it, and no other part of the program.
bool is_own_environment();

// Whether its memory lies in huge pages.
bool has_huge_pages();

// Free bytes of EAL's memory, for messages.
std::uint64_t free_memory();

// What DPDK has logged since the last call, joined into one line; empty: nothing.
std::string take_log();

// For messages: "cannot start DPDK port net_memif0: No such device; DPDK says: ...".
std::string described(const char* what, const std::string& name, int error);

// Runs `body` in DPDK's interrupt thread and waits until it returns (0.1 ms). memif closes descriptors that the
// interrupt thread may still be polling; if another thread did that, the interrupt thread could find a closed
// descriptor and abort the process. What `body` throws is thrown here.
void call_in_interrupt_thread(const std::function<void()>& body);

// Held while devices are made, configured, started or removed: these DPDK functions are not thread-safe.
class ControlLock {
 public:
  enum class Patience : std::uint8_t { wait, look };

  explicit ControlLock(Patience patience = Patience::wait);
  ~ControlLock();
  ControlLock(const ControlLock&) = delete;
  ControlLock& operator=(const ControlLock&) = delete;

  bool held() const { return held_; }  // always after Patience::wait

 private:
  bool held_;
};

}  // namespace openlapi::dpdk
