// Processes of the node that this process has met, so that nobody waits for one that has ended and cannot come again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "dataplane/transport/packet.h"
#include "shm/shm_config.h"

namespace openlapi::shm {

// Identifies a process even after the kernel has given its number to another one.
struct KnownProcess {
  pid_t process = 0;
  std::uint64_t started = 0;  // clock ticks since the machine's start

  bool operator==(const KnownProcess&) const = default;
};

// Nothing: there is no such process, or the system does not say (no /proc).
std::optional<KnownProcess> identify(pid_t process);

// A zombie counts as ended.
bool has_ended(const KnownProcess& known);

// The processes met in groups, by job, instance and task.
class Acquaintances {
 public:
  void met(const ShmConfig& config, PeerIndex task, const KnownProcess& known);

  // The process in which `task` was met, if it has ended, so that `task` cannot come to this group. Nothing: it may
  // come.
  std::optional<pid_t> ended(const ShmConfig& config, PeerIndex task) const;

 private:
  struct Place {
    std::uint64_t cookie;
    PeerIndex task;
    std::uint32_t instance;
    auto operator<=>(const Place&) const = default;
  };

  std::map<Place, KnownProcess> known_;
};

}  // namespace openlapi::shm
