#include "api/rpi/lapi/joined_worlds.h"

#include <algorithm>
#include <utility>

#include "api/rpi/lapi/envelope.h"
#include "api/wiring/mistyped_variables.h"

namespace openlapi::rpi {

Landing JoinedWorlds::Part::arriving(const IncomingMessage& message) {
  const Peer from = numbers[message.from];
  if (from == kNobody) {  // removed, or it reaches this process in another part
    const auto envelope = decode_envelope(message.header);
    if (envelope && envelope->kind == EnvelopeKind::leaves) world->has_left(message.from);
    return {};
  }
  return listener.arriving({from, message.header, message.length});
}

void JoinedWorlds::Part::lost(Peer peer, const char* reason) {
  if (numbers[peer] != kNobody) listener.lost(numbers[peer], reason);
}

bool JoinedWorlds::add(std::shared_ptr<Bootstrap> bootstrap, std::span<const Member> members, std::string& reason) {
  auto part = std::make_unique<Part>(listener_);
  part->job.bootstrap = std::move(bootstrap);
  part->job.has_launcher = true;
  part->job.unknown_variables = look_at_variables(parts_.empty() && part->job.bootstrap->task() == 0);
  std::vector<WorldProcess> processes;
  std::vector<PeerOfPart> reached = reached_;
  for (Peer there = 0; there < members.size(); ++there) {
    processes.push_back(members[there].process);
    part->numbers.push_back(members[there].is_new ? static_cast<Peer>(reached.size()) : kNobody);
    if (!members[there].is_new) continue;
    ++part->users;
    reached.push_back({part.get(), there});
  }
  part->world = open_(part->job, processes, *part, reason);
  if (part->world == nullptr) return false;
  for (Peer there = 0; there < members.size(); ++there) {
    if (!members[there].is_new) part->world->expect_no_more(there);  // it is reached, and leaves, in another part
  }
  const Peer self = part->numbers[part->world->self()];
  parts_.push_back(std::move(part));
  if (!renew_poller(reason)) {
    parts_.pop_back();
    return false;
  }
  if (parts_.size() == 1) self_ = self;
  reached_ = std::move(reached);
  return true;
}

bool JoinedWorlds::renew_poller(std::string& reason) {
  std::vector<PolledWorld*> worlds;
  for (const std::unique_ptr<Part>& part : parts_) worlds.push_back(part->world.get());
  auto poller =
      std::make_unique<WorldsPoller>(std::move(worlds), interruption_, WorldsPoller::Shared{lock_, &listener_});
  if (!poller->valid() || !interruption_.valid()) {
    reason = "no more file descriptors (ulimit -n)";
    return false;
  }
  stop_thread();
  if (lock_ != nullptr && !poller->start_thread(reason)) return false;
  poller_ = std::move(poller);
  return true;
}

void JoinedWorlds::stop_thread() {
  if (poller_ != nullptr) poller_->stop_thread();
}

bool JoinedWorlds::start_thread(std::string& reason) {
  interruption_.clear();  // it was for a call before this: the thread would not sleep until the next one that blocks
  return lock_ == nullptr || parts_.empty() || renew_poller(reason);
}

void JoinedWorlds::take_begun(Peer peer) {
  const PeerOfPart& at = reached_[peer];
  while (at.part != nullptr && at.part->world->is_bringing(at.there)) progress(true);
}

void JoinedWorlds::remove(Peer peer) {
  Part* const part = reached_[peer].part;
  if (part == nullptr) return;
  part->numbers[reached_[peer].there] = kNobody;
  take_begun(peer);  // and it is told that it has come
  reached_[peer].part = nullptr;
  if (--part->users != 0 || part == parts_.front().get()) return;
  while (!part->world->drained()) progress(true);
  const auto place = std::ranges::find(parts_, part, &std::unique_ptr<Part>::get);
  std::unique_ptr<Part> last = std::move(*place);
  parts_.erase(place);
  std::string reason;
  if (!renew_poller(reason)) parts_.push_back(std::move(last));  // the poller has it still
}

void JoinedWorlds::send_message(Peer peer, std::span<const std::byte> header, std::span<const std::byte> data,
                                WhenDone when_sent) {
  const PeerOfPart& at = reached_[peer];
  if (at.part != nullptr) return at.part->world->send_message(at.there, header, data, when_sent);
  if (when_sent.function != nullptr) when_sent.function(when_sent.argument, Outcome::peer_lost);
}

void JoinedWorlds::get(Peer peer, std::uint64_t remote, std::span<std::byte> local, WhenDone when_here) {
  const PeerOfPart& at = reached_[peer];
  if (at.part != nullptr) return at.part->world->get(at.there, remote, local, when_here);
  if (when_here.function != nullptr) when_here.function(when_here.argument, Outcome::peer_lost);
}

void JoinedWorlds::has_left(Peer peer) {
  const PeerOfPart& at = reached_[peer];
  if (at.part != nullptr) at.part->world->has_left(at.there);
}

void JoinedWorlds::expect_no_more(Peer peer) {
  const PeerOfPart& at = reached_[peer];
  if (at.part != nullptr) at.part->world->expect_no_more(at.there);
}

void JoinedWorlds::give_up(Peer peer, const char* reason) {
  const PeerOfPart& at = reached_[peer];
  if (at.part != nullptr) at.part->world->give_up(at.there, reason);
}

bool JoinedWorlds::drained() {
  return std::ranges::all_of(parts_, [](const std::unique_ptr<Part>& part) { return part->world->drained(); });
}

void JoinedWorlds::drain() {
  while (!drained()) progress(true);
}

}  // namespace openlapi::rpi
