// What checkpoints need (rpi SSI specification, 4.16 to 4.18): a network in which nothing is on its way, and, after a
// restart, paths that are all new.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/rpi/include/rpisys.h"
#include "api/rpi/lapi/joined_worlds.h"
#include "api/rpi/lapi/request_engine.h"

namespace openlapi::rpi {

// Processes that have met, by rank in their meeting. The new ones of all groups, one group after the other, have the
// Worlds' numbers.
struct JoinedGroup {
  struct Member {
    _proc* process = nullptr;  // null: it was finalised
    bool is_new = false;
  };
  std::vector<Member> members{};
  // Of its checkpoints, failed ones included: how many were begun here, and the latest word of each member.
  std::uint32_t checkpoints = 0;
  std::vector<std::uint64_t> heard{};

  // Somebody is reached in it.
  bool is_used() const;
};

// Nothing is on its way between these processes and this one afterwards: all of them call it, and none begins anything
// before all have ended it. False: `reason` says why.
bool make_quiet(RequestEngine& engine, std::span<JoinedGroup> groups, std::string& reason);

// New paths to all of them, which have the same numbers as before: all of them call it. Null: `reason` says why.
std::unique_ptr<JoinedWorlds> open_again(WorldListener& listener, const JoinedWorlds::Open& open, ContextLock* lock,
                                         std::span<const JoinedGroup> groups, std::string& reason);

// As open_again() and JoinedWorlds::add() are told of it.
JoinedWorlds::Member member_of(std::uint32_t rank, const _gps& gps, bool is_new);

}  // namespace openlapi::rpi
