// DPDK's environment (EAL) in this process: started by the first transport, from a thread of its own, so that the
// caller's processor affinity and signals stay as they are. It never ends: DPDK cannot be started twice, and LAPI_Init
// may come again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace openlapi::dpdk {

// Starts it, or finds it running; the arguments of the first call count. Once it has failed it fails for ever, with the
// same reason. Not in a process that was forked from one in which it runs. Threads may call this at the same time.
bool start_environment(const std::string& arguments, std::uint64_t needed_bytes, std::string& reason);

// Whether its memory lies in huge pages.
bool has_huge_pages();

// Free bytes of EAL's memory, for messages.
std::uint64_t free_memory();

// The last lines that DPDK logged since the latest call, in one; empty: none.
std::string take_log();

// Runs it in the thread that serves DPDK's interrupts, and waits for its end (0.1 ms). memif closes descriptors that
// this thread still listens to: unless it does that itself, it may meet a closed one, and then it aborts the process.
void call_in_interrupt_thread(const std::function<void()>& body);

// Held while devices are made, configured, started and removed: these functions of DPDK are not for several threads.
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
