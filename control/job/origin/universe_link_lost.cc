// What happens when daemons are lost: helpers come to this process, and the job goes on.
#include <algorithm>
#include <utility>

#include "control/job/messages/message_to.h"
#include "control/job/messages/return_way.h"
#include "control/job/options/job_options.h"
#include "control/job/origin/universe_link.h"

namespace openlapi::jobs {

void UniverseLink::serve_connection() {
  connected_ = connection_.serve();
  while (const auto bytes = connection_.stream().next()) {
    const auto message = daemon::decode(*bytes);
    if (const auto* of_job = message ? std::get_if<daemon::JobMessage>(&*message) : nullptr) take(*of_job);
  }
  if (connected_ || broken_) return;
  note_loss("the daemon here (lamd) is lost");
  for (std::size_t node = 0; node < nodes_.size(); ++node) lose_daemon(node, kReturnTime);
}

// What daemons still bring of a helper that has come here itself, that has told, or tells again, over its own way.
void UniverseLink::take(const daemon::JobMessage& message) {
  const std::string text(message.body.begin(), message.body.end());
  if (message.action == daemon::JobAction::kBroken) {
    broken_ = true;
    return listener_->break_off(kExitOwnFailure, text);
  }
  const auto node = place_of(message.from);
  if (!node) return;
  if (message.action == daemon::JobAction::kWayLost) {
    note_loss(text);
    return lose_daemon(*node, kLateReturnTime);
  }
  if (message.action == daemon::JobAction::kCutOff) {
    if (!nodes_[*node].gone) note_loss(text);
    lose_daemon(*node, kReturnTime);
    return hurry(nodes_[*node]);
  }
  if (nodes_[*node].own_way.is_open()) return;
  if (message.action == daemon::JobAction::kGone) return take_end_of_node(*node, text);
  if (message.action == daemon::JobAction::kData && !nodes_[*node].has_lost_daemon) take_body(*node, message.body);
}

void UniverseLink::lose_daemon(std::size_t node, std::chrono::seconds return_time) {
  Node& lost = nodes_[node];
  lost.has_lost_daemon = true;
  if (lost.gone || lost.own_way.is_open() || leaving_) return;
  if (lost.finished) {
    lost.gone = true;
  } else if (!lost.return_by) {
    lost.return_by = now_() + (returns_.address().port != 0 ? return_time : std::chrono::seconds(0));
  }
}

// Its own daemon is lost: the helper knows it, whatever was on the way to it that it may have noticed late.
void UniverseLink::hurry(Node& node) {
  if (node.return_by) node.return_by = std::min(*node.return_by, now_() + kReturnTime);
}

void UniverseLink::note_loss(const std::string& why) {
  if (leaving_ || why == noted_loss_) return;
  noted_loss_ = why;
  listener_->note(why +
                  ": the job goes on without it; lamhalt, lamclean and --jobs no longer reach tasks whose daemon "
                  "or way is lost (lamwipe and tkill do)");
}

// A helper that comes too late, or to a job that is over, hears so, unless its tasks are to go on by themselves.
void UniverseLink::take_return(const Return& who, daemon::Connection way) {
  const auto place = place_of(who.node);
  if (!place) return;
  Node& node = nodes_[*place];
  node.has_lost_daemon = true;
  if (node.goes_on_alone) return;
  if (node.gone || leaving_) {
    way.send(message_to({node.number}, encode(EndTasks{}), daemon::JobAction::kEnd));
    if (node.gone) {
      way.flush();
      return;
    }
  }
  node.return_by.reset();
  for (Deadline* answer_by : {&present_by_, &give_up_at_}) {  // what it has missed comes only now
    if (*answer_by) *answer_by = now_() + kEndTime;
  }
  node.own_way = std::move(way);
  node.counted.confirm(who.taken);
  answer(node, Returned{node.counted.taken()});
  for (const MessageBytes& bytes : node.counted.unconfirmed()) {
    node.own_way.send(message_to({node.number}, bytes));
  }
  if (!std::exchange(goes_through_here_, true)) tell_all(ThroughLapirun{});
}

void UniverseLink::serve_way(std::size_t node) {
  Node& state = nodes_[node];
  if (!state.own_way.is_open()) return;
  const bool goes_on = state.own_way.serve();
  while (const auto bytes = state.own_way.stream().next()) {
    const auto message = daemon::decode(*bytes);
    if (const auto* of_job = message ? std::get_if<daemon::JobMessage>(&*message) : nullptr) {
      take_body(node, of_job->body);
    }
  }
  if (goes_on) return;
  state.own_way = daemon::Connection({}, nullptr);
  if (leaving_) state.gone = true;
  lose_daemon(node, kReturnTime);
}

void UniverseLink::pass(std::size_t from, Passed message) {
  std::vector<std::size_t> places;
  for (const std::uint32_t number : message.nodes) {
    if (const auto place = place_of(number)) places.push_back(*place);
  }
  tell_nodes(places, Passed{{nodes_[from].number}, std::move(message.body)});
}

void UniverseLink::give_up_returns() {
  const Clock::time_point now = now_();
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    Node& node = nodes_[place];
    if (!node.return_by || now < *node.return_by) continue;
    node.return_by.reset();
    node.finished = node.gone = true;
    node.owes_answer = false;
    node.goes_on_alone = outlive_daemons_;
    if (outlive_daemons_) {
      listener_->take_cut_off(place);
    } else {
      listener_->break_off(kExitOwnFailure,
                           name_of(place) + ": its lamtasks is not reached any more, and its tasks with it");
    }
  }
}

}  // namespace openlapi::jobs
