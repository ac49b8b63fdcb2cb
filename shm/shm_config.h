// What a task passes to join its node's shared-memory group, and what it learns when that fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/transport/packet.h"

namespace openlapi {

namespace shm {
class Acquaintances;
}

// The guide's MAX_SHM_TASKS is 128; today's nodes are larger.
inline constexpr std::uint32_t kMaxShmTasks = 1024;
inline constexpr std::uint32_t kDefaultShmSlots = 128;  // packets that one task's queue can hold
// Longest packet in bytes: a whole MP_REXMIT_BUF_SIZE message (16384) and its headers.
inline constexpr std::uint32_t kDefaultShmPacket = 16384 + 1024;

// What of this task's memory its neighbours may reach by loads and stores, and this task of theirs (shm/README.md).
enum class DirectUse : std::uint8_t {
  kNone,
  kReads,
  kAll,
};

// What neighbours reach of this task's memory; for each why not, empty: they do.
struct DirectReach {
  std::string no_heap{};       // from the first allocation on
  std::string no_data{};       // static data, from LAPI_Init on
  std::string no_promotion{};  // what is asked for often
};

// The same in all tasks of the group, except `self`, `direct` and `alone`.
struct ShmConfig {
  std::uint64_t cookie = 0;      // the job's secret; never part of a name that others can read
  std::uint32_t instance = 0;    // context of the task; each context has its own group
  std::uint32_t generation = 0;  // counts re-initialisations of that context
  PeerIndex self = 0;
  std::vector<PeerIndex> local_tasks{};               // ascending, including `self`; the first one leads the set-up
  std::uint32_t slots = kDefaultShmSlots;             // a power of two, 8 .. 4096
  std::uint32_t packet_bytes = kDefaultShmPacket;     // a multiple of 8, 64 .. 65528
  std::uint32_t setup_timeout_milliseconds = 10'000;  // for the whole set-up, all tasks included
  std::uint32_t version = 0;                          // of the memory's and packets' format; must be the same
  // Whom this process has met in other groups, so that it gives up at once when one of them has ended; null: nobody.
  shm::Acquaintances* acquaintances = nullptr;
  DirectUse direct = DirectUse::kNone;
  bool alone = false;                 // the program has no other thread now, so that its static data can be opened
  bool tasks_stay_processes = false;  // no other process ever takes the place of a task that has ended
};

enum class ShmFailure : std::uint8_t {
  kNone,
  kBadConfig,     // arguments that cannot be served
  kTooManyTasks,  // more than kMaxShmTasks on the node
  kCreate,        // the shared memory or its socket could not be made (attention message 505)
  kGet,           // the leader's memory could not be taken over (506)
  kAttach,        // the memory could not be mapped or locked (507)
  kRefused,       // a task of the group runs as another user
  kPeerFailed,    // another task of the group failed; its own reason is in the text
  kTimeout,       // another task did not come in time (506)
  kPeerEnded,     // another task has ended and cannot come
  kFormed,        // the group has formed already, without this task, which replaces one that has ended
};

struct ShmSetupError {
  ShmFailure failure = ShmFailure::kNone;
  std::string reason;
  bool no_descriptor = false;      // the process has reached its limit of open files
  bool leader_is_missing = false;  // the leader never came: others have to speak for the group
};

}  // namespace openlapi
