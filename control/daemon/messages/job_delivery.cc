#include "control/daemon/messages/job_delivery.h"

#include <tuple>

namespace openlapi::daemon {
namespace {

JobMessage message_of(const JobId& job, std::uint32_t from, std::uint8_t action, const std::string& text = "") {
  return {job.first, job.second, from, action, {}, MessageBytes(text.begin(), text.end())};
}

}  // namespace

JobId JobDelivery::open() {
  const JobId job{table_.here(), ++last_number_};
  at_home_[job];
  return job;
}

void JobDelivery::rely_on_way_to(std::uint32_t node, std::set<std::uint32_t>& relies_on) const {
  const std::vector<std::uint32_t> way = table_.path(table_.here(), node);
  relies_on.insert(way.begin(), way.end());
}

void JobDelivery::from_lapirun(const JobId& job, JobMessage message) {
  const auto found = at_home_.find(job);
  if (found == at_home_.end() || message.to.empty() || message.action > JobAction::kEnd) return;
  std::tie(message.home, message.number) = job;
  message.from = table_.here();
  HomeJob& home = found->second;
  if (message.action == JobAction::kStart) {
    for (const std::uint32_t node : message.to) {
      if (!table_.is_member(node)) return tell_broken(job, "n" + std::to_string(node) + " is not in the universe");
      rely_on_way_to(node, home.ways[node].daemons);
    }
  }
  // Of a node that is lost by now it hears, or has heard, that it is cut off.
  std::erase_if(message.to, [this](std::uint32_t node) { return !table_.is_member(node); });
  if (!message.to.empty()) forwarder_.forward(message);
}

void JobDelivery::lapirun_gone(const JobId& job) {
  const auto found = at_home_.find(job);
  if (found == at_home_.end()) return;
  JobMessage end = message_of(job, table_.here(), JobAction::kEnd);
  end.to = nodes_of(job);
  at_home_.erase(found);
  if (!end.to.empty()) forwarder_.forward(end);
}

void JobDelivery::from_helper(const JobId& job, JobMessage message) {
  if (!helpers_.contains(job) || message.action != JobAction::kData) return;
  std::tie(message.home, message.number) = job;
  message.from = table_.here();
  forwarder_.forward(message);
}

void JobDelivery::helper_gone(const JobId& job, const std::string& why) {
  if (helpers_.erase(job) != 0) forwarder_.forward(message_of(job, table_.here(), JobAction::kGone, why));
}

std::vector<std::uint32_t> JobDelivery::nodes_of(const JobId& job) const {
  const auto found = at_home_.find(job);
  if (found == at_home_.end()) return {};
  std::vector<std::uint32_t> nodes;
  for (const auto& [node, way] : found->second.ways) {
    if (!way.lost) nodes.push_back(node);
  }
  return nodes;
}

void JobDelivery::deliver(const JobMessage& message) {
  const JobId job{message.home, message.number};
  if (!message.to.empty()) return deliver_to_node(job, message);
  const auto found = at_home_.find(job);
  if (found == at_home_.end()) return;
  if (message.action == JobAction::kGone) found->second.ways.erase(message.from);
  places_.tell_lapirun(job, message);
}

void JobDelivery::deliver_to_node(const JobId& job, const JobMessage& message) {
  const bool is_here = helpers_.contains(job);
  if (message.action == JobAction::kStart && !is_here) {
    rely_on_way_to(message.home, helpers_[job]);
    places_.start_helper(job, message.body);
  } else if (message.action == JobAction::kData && is_here) {
    places_.tell_helper(job, message);
  } else if (message.action == JobAction::kEnd && is_here) {
    places_.end_helper(job);
  }
}

void JobDelivery::tell_broken(const JobId& job, const std::string& why) {
  places_.tell_lapirun(job, message_of(job, table_.here(), JobAction::kBroken, why));
}

// A helper whose way is lost is heard of once more if its own node is lost, or removed, before it has come to lapirun.
void JobDelivery::tell_of_loss(const JobId& job, HomeJob& home, std::uint32_t node) {
  const bool removed = table_.nodes()[node].state == NodeState::kRemoved;
  const std::string name = "n" + std::to_string(node) + " (" + table_.nodes()[node].host + ")";
  const std::string loss = removed ? name + " was removed from the universe" : "the daemon of " + name + " is lost";
  const bool is_place = home.ways.erase(node) != 0;
  if (is_place) {
    places_.tell_lapirun(job, removed ? message_of(job, node, JobAction::kGone, "it was removed from the universe")
                                      : message_of(job, node, JobAction::kCutOff, loss));
  }
  const std::string why = loss + (is_place ? "" : "; the way to other nodes went through it");
  for (auto& [to, way] : home.ways) {
    if (way.lost || !way.daemons.contains(node)) continue;
    way.lost = true;
    places_.tell_lapirun(job, message_of(job, to, JobAction::kWayLost, why));
  }
}

// A node that was removed ends its tasks, unless its daemon hangs; others are cut off, and may come to lapirun.
void JobDelivery::node_lost(std::uint32_t node) {
  const bool removed = table_.nodes()[node].state == NodeState::kRemoved;
  for (auto& [job, home] : at_home_) tell_of_loss(job, home, node);
  for (const auto& [job, relies_on] : helpers_) {
    if (!relies_on.contains(node)) continue;
    if (removed && job.first == node) {
      places_.end_helper(job);
    } else {
      places_.leave_helper(job);
    }
  }
}

}  // namespace openlapi::daemon
