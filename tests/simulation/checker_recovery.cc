// What must hold when a task purges another.
#include "dataplane/counter/counters.h"
#include "tests/simulation/byte_pattern.h"
#include "tests/simulation/checker.h"

namespace openlapi::simulation {

void Checker::close_at_origin(Operation& operation) {
  operation.closed_at_origin = true;
  excuse(operation);
  if (operation.kind == Kind::get && operation.frozen == 0) operation.frozen = digest(operation.place);
}

void Checker::close_at_target(Operation& operation) {
  operation.closed_at_target = true;
  excuse(operation);
  const bool goes_there = operation.kind == Kind::put || operation.kind == Kind::active_message;
  if (goes_there && operation.frozen == 0) operation.frozen = digest(operation.place);
}

// What is complete on both sides is not touched by the purge; everything else between the two ends here.
void Checker::purge_begins(PeerIndex task, std::uint32_t context, PeerIndex peer) {
  ++purges_;
  purging_ = true;
  look(task, context);
  View& present = view(task, context, peer);
  for (Operation& operation : operations_) {
    if (!operation.issued || operation.context != context) continue;
    const bool to_it =
        operation.origin == task && operation.target == peer && operation.origin_incarnation == incarnation(task);
    const bool from_it =
        operation.origin == peer && operation.target == task && operation.target_incarnation == incarnation(task);
    if (!to_it && !from_it) continue;
    if (!operation.excused) is_in_place(operation);
    if (is_settled(operation)) continue;
    if (to_it && !operation.closed_at_origin) close_at_origin(operation);
    if (from_it && !operation.closed_at_target) close_at_target(operation);
  }
  if (present.purged) return;
  present.purged = true;
  ++present.era;
}

void Checker::purge_ended(PeerIndex task, std::uint32_t context, PeerIndex peer, const Endpoint& endpoint) {
  purging_ = false;
  View& present = view(task, context, peer);
  present.deaths = tasks_[peer].deaths;
  if (!alive(peer)) present.disturbed = false;
  for (const Operation* operation : engine(task, context).own) {
    if (operation->target == peer && operation->era + 1 == present.era) check_given_up(*operation, endpoint);
  }
}

// Every operation of the era that has just ended has ended with it, with the right reason.
void Checker::check_given_up(const Operation& operation, const Endpoint& endpoint) {
  const std::string name = describe(operation);
  const bool fault_before =
      view(operation.origin, operation.context, operation.target).faults != operation.faults_before;
  const auto check = [&](const int* counter, bool seen, const char* which) {
    if (counter == nullptr) return;
    const CounterLoss loss = endpoint.counters().loss_of(reinterpret_cast<std::uintptr_t>(counter));
    const bool right = seen           ? loss == CounterLoss::none
                       : fault_before ? loss != CounterLoss::none
                                      : loss == CounterLoss::peer_purged;
    if (right) return;
    fail("the %s counter of %s is %d, and a purge left it in state %d", which, name.c_str(), *counter,
         static_cast<int>(loss));
  };
  check(operation.origin_counter, operation.origin_seen, "origin");
  check(operation.completion_counter, operation.completion_seen, "completion");
  const bool must_run = operation.has_origin_handler && operation.kind != Kind::get;
  if (must_run && operation.origin_handlers_run != 1) fail("a purge left the origin's handler of %s", name.c_str());
}

void Checker::fault_reported(PeerIndex task, std::uint32_t context, PeerIndex peer) {
  if (peer < tasks_.size()) ++view(task, context, peer).faults;
}

}  // namespace openlapi::simulation
