#include "api/rpi/lapi/process_group.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <optional>

#include "api/rpi/lapi/lam_messages.h"
#include "api/rpi/lapi/meeting_bootstrap.h"
#include "dataplane/base/little_endian.h"
#include "dataplane/base/monotonic_clock.h"

namespace openlapi::rpi {

namespace {

// What two processes tell each other, of which one leads.
constexpr const char* kMembers = "rpi.lapi.members";
constexpr const char* kStarted = "rpi.lapi.started";
constexpr std::size_t kBytesOfOne = 16;
constexpr unsigned kNoWait = 0;
constexpr timespec kPause{0, 1'000'000};  // between looks

bool is_before(const _gps& left, const _gps& right) { return place_of(left) < place_of(right); }

std::vector<std::byte> encode(std::span<const _gps> members) {
  std::vector<std::byte> bytes(members.size() * kBytesOfOne);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::array numbers{members[i].gps_node, members[i].gps_pid, members[i].gps_idx, members[i].gps_grank};
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      store_little(bytes.data() + i * kBytesOfOne + 4 * k, static_cast<std::uint32_t>(numbers[k]));
    }
  }
  return bytes;
}

std::vector<_gps> decode(std::span<const std::byte> bytes) {
  std::vector<_gps> members(bytes.size() / kBytesOfOne);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::byte* const begin = bytes.data() + i * kBytesOfOne;
    const auto number = [&](std::size_t k) { return static_cast<int4>(load_little<std::uint32_t>(begin + 4 * k)); };
    members[i] = {.gps_node = number(0), .gps_pid = number(1), .gps_idx = number(2), .gps_grank = number(3)};
  }
  return members;
}

std::unique_ptr<ProcessMessages> messages_between(const _gps& leader, const _gps& other, const _gps& own) {
  const std::array both{leader, other};
  return open_lam_messages(both, own);
}

bool has(std::span<const _gps> places, const _gps& gps) {
  return std::ranges::any_of(places, [&](const _gps& place) { return is_same(place, gps); });
}

// Of a process that was spawned: who leads, and who has said so.
struct Leader {
  _gps place{};
  _gps said_by{};
};

// Waits until somebody says it. What was said remains to be received.
std::optional<Leader> find_leader(std::span<const _gps> members, const _gps& own, std::string& error) {
  struct Other {
    _gps place{};
    std::unique_ptr<ProcessMessages> led_by_us{}, led_by_it{};
  };
  std::vector<Other> others;
  for (const _gps& member : members) {
    if (is_same(member, own)) continue;
    others.push_back({member, messages_between(own, member, own), messages_between(member, own, own)});
  }
  const MonotonicClock clock;
  for (const Nanoseconds begin = clock.now(); clock.now() - begin < kMostSilence;) {
    for (const Other& other : others) {
      if (other.led_by_us->has_message(1)) return Leader{own, other.place};
      if (other.led_by_it->has_message(0)) return Leader{other.place, other.place};
    }
    nanosleep(&kPause, nullptr);
  }
  error =
      "none of the processes that have started this one has said anything for 120 seconds; do they use the rpi module "
      "'lapi', too?";
  return std::nullopt;
}

// One that has started us learns who is in the group, and says who was started.
bool tell_starter(std::span<const _gps> members, const _gps& starter, const _gps& own, std::vector<_gps>& started,
                  std::string& error) {
  const std::shared_ptr<Bootstrap> meeting = open_meeting_bootstrap(messages_between(own, starter, own));
  std::vector<std::byte> said;
  if (!meeting->put(kMembers, encode(members), error) || !meeting->exchange(error) ||
      !meeting->get(1, kStarted, kNoWait, said, error))
    return false;
  started = decode(said);
  return true;
}

bool lead(std::span<const _gps> members, const _gps& first_starter, const _gps& own, std::string& error) {
  std::vector<_gps> started;
  if (!tell_starter(members, first_starter, own, started, error)) return false;
  for (const _gps& member : members) {
    if (is_same(member, own) || is_same(member, first_starter)) continue;
    std::vector<_gps> same;
    const bool told = has(started, member) ? messages_between(own, member, own)->send(1, encode(members), error)
                                           : tell_starter(members, member, own, same, error);
    if (!told) return false;
  }
  return true;
}

bool follow(std::span<const _gps> members, const _gps& leader, const _gps& own, std::string& error) {
  std::vector<std::byte> said;
  if (!messages_between(leader, own, own)->receive(0, said, error)) return false;
  const std::vector<_gps> theirs = decode(said);
  if (std::ranges::equal(theirs, members, is_same)) return true;
  error = "the first of the processes that were started with this one says that others are among them";
  return false;
}

}  // namespace

bool is_same(const _gps& left, const _gps& right) { return place_of(left) == place_of(right); }

bool meet_at_start(std::span<const _gps> processes, const _gps& own, bool was_spawned, ProcessGroup& group,
                   std::string& error) {
  std::vector<_gps>& members = group.members;
  members.assign(processes.begin(), processes.end());
  std::ranges::sort(members, [&](const _gps& left, const _gps& right) {
    return was_spawned ? is_before(left, right) : left.gps_grank < right.gps_grank;
  });
  if (was_spawned) {
    const std::optional<Leader> leader = find_leader(members, own, error);
    if (!leader) return false;
    const bool met = is_same(leader->place, own) ? lead(members, leader->said_by, own, error)
                                                 : follow(members, leader->place, own, error);
    if (!met) return false;
    const auto place = std::ranges::find_if(members, [&](const _gps& gps) { return is_same(gps, leader->place); });
    std::rotate(members.begin(), place, place + 1);
  }
  group.bootstrap = open_meeting_bootstrap(open_lam_messages(members, own));
  return true;
}

bool meet_started(std::span<const _gps> started, const _gps& own, ProcessGroup& group, std::string& error) {
  const _gps leader = *std::ranges::min_element(started, is_before);
  const std::shared_ptr<Bootstrap> meeting = open_meeting_bootstrap(messages_between(leader, own, own));
  if (!meeting->put(kStarted, encode(started), error)) return false;
  std::vector<std::byte> members;
  if (!meeting->exchange(error) || !meeting->get(0, kMembers, kNoWait, members, error)) return false;
  group.members = decode(members);
  const auto is_in = [&](const _gps& gps) { return has(group.members, gps); };
  if (members.size() % kBytesOfOne != 0 || !is_in(own) || !std::ranges::all_of(started, is_in)) {
    error = "the first of the processes that were started says that others take part";
    return false;
  }
  const auto place = std::ranges::find_if(group.members, [&](const _gps& gps) { return is_same(gps, leader); });
  std::rotate(group.members.begin(), place, place + 1);
  group.bootstrap = open_meeting_bootstrap(open_lam_messages(group.members, own));
  return true;
}

}  // namespace openlapi::rpi
