#include "api/rpi/lapi/process_group.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>

#include "api/rpi/lapi/lam_messages.h"
#include "api/rpi/lapi/meeting_bootstrap.h"
#include "api/rpi/lapi/process_pair.h"
#include "dataplane/base/monotonic_clock.h"

namespace openlapi::rpi {

namespace {

constexpr const char* kHasNew = "rpi.lapi.new";  // published by who knows not all of the others
constexpr unsigned kNoWait = 0;
constexpr Nanoseconds kPause = 200'000;  // between looks

bool is_before(const _gps& left, const _gps& right) { return place_of(left) < place_of(right); }

bool has(std::span<const _gps> places, const _gps& gps) {
  return std::ranges::any_of(places, [&](const _gps& place) { return is_same(place, gps); });
}

// The first place in the order of all of them is the leader's.
void put_first(std::vector<_gps>& members, _gps leader) {
  std::ranges::sort(members, is_before);
  const auto place = std::ranges::find_if(members, [&](const _gps& gps) { return is_same(gps, leader); });
  std::rotate(members.begin(), place, place + 1);
}

// Until the condition is true; false: it is not, for very long, or nobody is there any more who could make it true.
template <class Condition, class Ended>
bool wait_until(Condition condition, Ended have_ended) {
  const MonotonicClock clock;
  bool is_last = false;
  for (const Nanoseconds begin = clock.now(); clock.now() - begin < kMostSilence;) {
    if (condition()) return true;
    if (is_last) return false;
    is_last = have_ended();  // what they said before is looked for once more
    rest_between_looks(kPause);
  }
  return false;
}

// Of a process that was spawned: who leads, and who has said so.
struct Leader {
  _gps place{};
  _gps said_by{};
};

// Waits until somebody says it. What was said remains to be heard.
std::optional<Leader> find_leader(std::span<const _gps> members, const _gps& own, std::string& error) {
  struct Other {
    _gps place{};
    ProcessPair led_by_us, led_by_it;
  };
  std::deque<Other> others;
  for (const _gps& member : members) {
    if (is_same(member, own)) continue;
    others.push_back({member, ProcessPair(own, member, own), ProcessPair(member, own, own)});
  }
  std::optional<Leader> leader;
  const auto is_found = [&] {
    for (Other& other : others) {
      if (other.led_by_us.has_heard())
        leader = {own, other.place};
      else if (other.led_by_it.has_heard())
        leader = {other.place, other.place};
    }
    return leader.has_value();
  };
  const auto have_ended = [&] {
    return std::ranges::all_of(others, [](const Other& other) { return other.led_by_it.has_other_ended(); });
  };
  if (wait_until(is_found, have_ended)) return leader;
  error = have_ended() ? "all of the processes that may have started this one have ended"
                       : "none of the processes that have started this one has said anything for 120 seconds; do they "
                         "use the rpi module 'lapi', too?";
  return std::nullopt;
}

// Those that have started us say who was started.
bool hear_starters(std::span<const _gps> members, const _gps& first_starter, const _gps& own, std::string& error) {
  std::vector<_gps> started, same;
  if (!ProcessPair(own, first_starter, own).hear(started, error)) return false;
  return std::ranges::all_of(members, [&](const _gps& member) {
    const bool is_other_starter = !has(started, member) && !is_same(member, first_starter) && !is_same(member, own);
    return !is_other_starter || ProcessPair(own, member, own).hear(same, error);
  });
}

// Those on other nodes would not know that nothing comes any more.
void refuse_all(std::span<const _gps> others, const _gps& own, const std::string& why) {
  for (const _gps& other : others) {
    if (!is_same(other, own)) ProcessPair(own, other, own).refuse(why);
  }
}

// Everybody learns who is in the group.
bool lead(std::span<const _gps> members, const _gps& first_starter, const _gps& own, std::string& error) {
  if (!hear_starters(members, first_starter, own, error)) {
    refuse_all(members, own, error);
    return false;
  }
  return std::ranges::all_of(members, [&](const _gps& member) {
    return is_same(member, own) || ProcessPair(own, member, own).say(members, error);
  });
}

bool follow(std::span<const _gps> members, const _gps& leader, const _gps& own, std::string& error) {
  std::vector<_gps> theirs;
  if (!ProcessPair(leader, own, own).hear(theirs, error)) return false;
  if (std::ranges::equal(theirs, members, is_same)) return true;
  error = "the first of the processes that were started with this one says that others are among them";
  return false;
}

// Each of the others, of whom one has taken this process for the first of our side, says whom it was told of: our side.
// Then they learn that they are the other one.
bool answer(std::span<const _gps> others, const _gps& own, std::string& error) {
  std::vector<_gps> our_side;
  const bool are_heard = std::ranges::all_of(others, [&](const _gps& other) {
    if (!ProcessPair(own, other, own).hear(our_side, error)) return false;
    if (has(our_side, own)) return true;
    error = "a process has been told of others than the first of them";
    return false;
  });
  if (!are_heard) {
    refuse_all(others, own, error);
    return false;
  }
  return std::ranges::all_of(others,
                             [&](const _gps& other) { return ProcessPair(own, other, own).say(others, error); });
}

// What the first of the others says: with itself, who has met; without, who has been told of the others with us.
bool ask_first(std::span<const _gps> others, const _gps& first, const _gps& own, std::vector<_gps>& said,
               std::string& error) {
  ProcessPair led_by_it(first, own, own), led_by_us(own, first, own);
  if (!led_by_it.say(others, error)) return false;
  // It takes us for the first of our side before it says anything else.
  const auto has_heard = [&] { return led_by_it.has_heard() || led_by_us.has_heard(); };
  const auto has_ended = [&] { return led_by_it.has_other_ended(); };
  if (!wait_until(has_heard, has_ended)) {
    error = "the first of the processes that are new here (pid " + std::to_string(first.gps_pid) + " on node " +
            std::to_string(first.gps_node) + " of LAM) " +
            (has_ended() ? "has ended" : "has said nothing for 120 seconds; does it use the rpi module 'lapi', too?");
    return false;
  }
  return (!led_by_us.has_heard() || answer(others, own, error)) && led_by_it.hear(said, error);
}

// Those who know all of the others take no part.
bool leave_out_acquainted(bool has_new, const _gps& own, ProcessGroup& group, std::string& error) {
  const std::byte said{has_new};
  std::vector<_gps> taking_part;
  if (!group.bootstrap->put(kHasNew, {&said, 1}, error) || !group.bootstrap->exchange(error)) return false;
  for (std::uint32_t rank = 0; rank < group.members.size(); ++rank) {
    std::vector<std::byte> value;
    if (!group.bootstrap->get(rank, kHasNew, kNoWait, value, error)) return false;
    if (value == std::vector{std::byte{true}}) taking_part.push_back(group.members[rank]);
  }
  group = {};
  if (!has_new) return true;
  group.members = std::move(taking_part);
  group.bootstrap = open_meeting_bootstrap(open_lam_messages(group.members, own));
  return true;
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
    put_first(members, leader->place);
  }
  group.bootstrap = open_meeting_bootstrap(open_lam_messages(members, own));
  return true;
}

bool meet_others(std::span<const _gps> others, bool has_new, const _gps& own, ProcessGroup& group, std::string& error) {
  const _gps first = *std::ranges::min_element(others, is_before);
  std::vector<_gps> said;
  if (!ask_first(others, first, own, said, error)) return false;
  const bool were_started = has(said, first);
  const auto is_said = [&](const _gps& gps) { return has(said, gps); };
  if (!is_said(own) || (were_started && !std::ranges::all_of(others, is_said))) {
    error = "the first of the processes that are new here says that others take part";
    return false;
  }
  group.members = std::move(said);
  if (!were_started) group.members.insert(group.members.end(), others.begin(), others.end());
  put_first(group.members, were_started ? first : *std::ranges::min_element(group.members, is_before));
  group.bootstrap = open_meeting_bootstrap(open_lam_messages(group.members, own));
  return were_started || leave_out_acquainted(has_new, own, group, error);
}

}  // namespace openlapi::rpi
