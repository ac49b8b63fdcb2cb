#include "api/rpi/lapi/checkpoint.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <deque>

#include "api/rpi/include/mpisys.h"
#include "api/rpi/lapi/lam_messages.h"
#include "api/rpi/lapi/meeting_bootstrap.h"
#include "dataplane/base/little_endian.h"
#include "dataplane/base/monotonic_clock.h"

namespace openlapi::rpi {
namespace {

// Messages, what their receivers do for them, and the answers to that.
constexpr int kRounds = 3;
constexpr timespec kRest{0, 20'000};  // between looks
constexpr unsigned kMeetingBits = 8;  // of a word, below its checkpoint

std::vector<_gps> places_of(const JoinedGroup& group) {
  std::vector<_gps> places;
  for (const JoinedGroup::Member& member : group.members) places.push_back(member.process->p_gps);
  return places;
}

bool is_complete(const JoinedGroup& group) {
  return std::ranges::none_of(group.members, [](const auto& member) { return member.process == nullptr; });
}

bool can_meet(std::span<const JoinedGroup> groups, std::string& reason) {
  for (const JoinedGroup& group : groups) {
    if (!group.is_used() || is_complete(group)) continue;
    reason =
        "no checkpoint while this process talks to some of the processes that came together, but no more to others";
    return false;
  }
  return true;
}

bool all_are_there(const RequestEngine& engine, std::string& reason) {
  const PeerState* const gone = engine.gone();
  if (gone == nullptr) return true;
  const _gps& gps = gone->process->p_gps;
  reason = "no checkpoint: process " + std::to_string(gps.gps_grank) + " (pid " + std::to_string(gps.gps_pid) +
           " on node n" + std::to_string(gps.gps_node) + " of LAM) " +
           (gone->lost ? "has died or cannot be reached" : "has called MPI_Finalize");
  return false;
}

// The processes of a group wait for each other, and move what the others are waiting for meanwhile.
class QuietGroup {
 public:
  QuietGroup(RequestEngine& engine, JoinedGroup& group)
      : engine_(engine),
        group_(group),
        messages_(open_lam_messages(places_of(group), lam_myproc->p_gps, LamMeeting::checkpoints)),
        word_(std::uint64_t{group.checkpoints} << kMeetingBits) {
    group.heard.resize(group.members.size());
  }

  bool drain_all(std::string& reason) {
    for (int round = 0; round < kRounds; ++round) {
      if (!drain(reason) || !meet(Waiting::moves, reason)) return false;
    }
    return true;
  }
  // Members still answer those that need them to be quiet with processes of other groups.
  bool wait_for_other_groups(std::string& reason) { return meet(Waiting::moves, reason); }
  // Nobody takes in what those send who are through first.
  bool rest(std::string& reason) { return meet(Waiting::rests, reason); }

 private:
  enum class Waiting : bool { moves, rests };

  bool drain(std::string& reason) {
    const Nanoseconds begin = clock_.now();
    while (!engine_.quiet()) {
      if (!engine_.drain()) nanosleep(&kRest, nullptr);
      if (!may_go_on(begin, "messages are on their way that nobody takes", reason)) return false;
    }
    return true;
  }

  bool meet(Waiting waiting, std::string& reason) {
    ++word_;
    if (messages_->rank() != 0) return say(0, reason) && hear(0, waiting, reason);
    for (std::uint32_t other = 1; other < messages_->size(); ++other) {
      if (!hear(other, waiting, reason)) return false;
    }
    for (std::uint32_t other = 1; other < messages_->size(); ++other) {
      if (!say(other, reason)) return false;
    }
    return true;
  }

  bool say(std::uint32_t to, std::string& reason) {
    std::array<std::byte, sizeof word_> said;
    store_little(said.data(), word_);
    return messages_->send(to, said, reason);
  }

  // What was said in checkpoints that have failed is passed by. A process that has begun the next one has failed in
  // this one, and will not say that word again.
  bool hear(std::uint32_t from, Waiting waiting, std::string& reason) {
    const Nanoseconds begin = clock_.now();
    while (group_.heard[from] < word_) {
      while (!messages_->has_message(from)) {
        if (waiting == Waiting::rests || !engine_.drain()) nanosleep(&kRest, nullptr);
        if (!may_go_on(begin, "a process takes no part in it", reason)) return false;
      }
      if (!take_word(from, reason)) return false;
    }
    if (group_.heard[from] >> kMeetingBits == group_.checkpoints) return true;
    reason = "no checkpoint: a process has given it up and begins another one";
    return false;
  }

  bool take_word(std::uint32_t from, std::string& reason) {
    std::vector<std::byte> said;
    if (!messages_->receive(from, said, reason)) return false;
    if (said.size() == sizeof word_) {
      group_.heard[from] = load_little<std::uint64_t>(said.data());
      return true;
    }
    reason = "no checkpoint: a process says something else than the rpi module 'lapi' does";
    return false;
  }

  bool may_go_on(Nanoseconds begin, const char* what, std::string& reason) {
    if (!all_are_there(engine_, reason)) return false;
    if (clock_.now() - begin <= kMostSilence) return true;
    reason = std::string("no checkpoint: for 120 seconds ") + what;
    return false;
  }

  RequestEngine& engine_;
  JoinedGroup& group_;
  std::unique_ptr<ProcessMessages> messages_;
  std::uint64_t word_;  // of the meeting: others in it say the same, and no earlier one is larger
  MonotonicClock clock_;
};

}  // namespace

bool JoinedGroup::is_used() const {
  return std::ranges::any_of(members, [](const Member& each) { return each.is_new && each.process != nullptr; });
}

JoinedWorlds::Member member_of(std::uint32_t rank, const _gps& gps, bool is_new) {
  const bool is_near = gps.gps_node == lam_myproc->p_gps.gps_node;
  return {.process = {rank, is_near ? gps.gps_pid : 0}, .is_new = is_new};
}

bool make_quiet(RequestEngine& engine, std::span<JoinedGroup> groups, std::string& reason) {
  for (JoinedGroup& group : groups) ++group.checkpoints;
  if (!can_meet(groups, reason) || !all_are_there(engine, reason)) return false;
  std::deque<QuietGroup> used;
  for (JoinedGroup& group : groups) {
    if (group.is_used()) used.emplace_back(engine, group);
  }
  const auto all = [&](bool (QuietGroup::*step)(std::string&)) {
    return std::ranges::all_of(used, [&](QuietGroup& group) { return (group.*step)(reason); });
  };
  // Each step of all groups before the next: who rests has only peers that are quiet with everybody.
  return all(&QuietGroup::drain_all) && all(&QuietGroup::wait_for_other_groups) && all(&QuietGroup::rest);
}

std::unique_ptr<JoinedWorlds> open_again(WorldListener& listener, const JoinedWorlds::Open& open, ContextLock* lock,
                                         std::span<const JoinedGroup> groups, std::string& reason) {
  auto worlds = std::make_unique<JoinedWorlds>(listener, open, lock);
  for (const JoinedGroup& group : groups) {
    if (!group.is_used()) {
      worlds->leave_out(static_cast<Peer>(std::ranges::count(group.members, true, &JoinedGroup::Member::is_new)));
      continue;
    }
    std::vector<JoinedWorlds::Member> members;
    for (std::uint32_t rank = 0; rank < group.members.size(); ++rank) {
      members.push_back(member_of(rank, group.members[rank].process->p_gps, group.members[rank].is_new));
    }
    auto bootstrap = open_meeting_bootstrap(open_lam_messages(places_of(group), lam_myproc->p_gps));
    if (!worlds->add(std::move(bootstrap), members, reason)) return nullptr;
  }
  return worlds;
}

}  // namespace openlapi::rpi
