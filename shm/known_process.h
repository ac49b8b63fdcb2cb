// Processes of the node that this one has met: so that nobody waits for one that has ended and cannot come again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "dataplane/transport/packet.h"
#include "shm/shm_config.h"

namespace openlapi::shm {

// A process whatever becomes of its number, which the kernel gives to another one later.
struct KnownProcess {
  pid_t process = 0;
  std::uint64_t started = 0;  // clock ticks since the machine's start

  bool operator==(const KnownProcess&) const = default;
};

// Nothing: there is no such process, or the system does not say (no /proc).
std::optional<KnownProcess> identify(pid_t process);

// A process that nobody has waited for yet counts as ended.
bool has_ended(const KnownProcess& known);

// Who was met in a group: by job, instance and task.
class Acquaintances {
 public:
  void met(const ShmConfig& config, PeerIndex task, const KnownProcess& known);

  // The process in which `task` was met, if that has ended and `task` can therefore not come to this group.
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
