// The transport's side of direct access (direct/): whom it can be had with, and when it may be used. The first
// transport of a process has it; memory has one owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "dataplane/transport/direct_memory.h"
#include "shm/shm_config.h"

namespace openlapi {

class ShmDoorbell;

namespace shm {
class SendQueue;
class ShmGroup;
}  // namespace shm

class ShmDirectMemory : public DirectMemory {
 public:
  // How `config` has it: opens this process's memory to the group's tasks, and tells them. Null: none can be. Both
  // outlive it.
  static std::unique_ptr<ShmDirectMemory> open(shm::ShmGroup& group, ShmDoorbell& doorbell, const ShmConfig& config,
                                               DirectReach& reach);

  // Why this process could open nothing now; empty: it could, for which `reach` says what. For lapi_info.
  static std::string why_not(DirectReach& reach);

  // Threads of this process. 0: they cannot be counted.
  static std::uint32_t count_threads();

  // From now on `queue` sends for this era of the task's with that local index. In another one it is left alone.
  virtual void begin_era(std::uint32_t index, std::uint64_t era, shm::SendQueue& queue) = 0;

  // This task has ended its era with that one: it is not inside any more when it returns, or, if it has stopped there,
  // what it still does comes to nothing.
  virtual void end_visits(std::uint32_t index) = 0;

  // Not zero: counters_have_moved() would say so.
  virtual const std::atomic<std::uint32_t>& moved_word() const = 0;

  // For whoever polls this task's context to say whether anybody does: 1: nobody, so that neighbours read its memory by
  // themselves.
  virtual std::atomic<std::uint32_t>& unattended_word() = 0;
};

}  // namespace openlapi
