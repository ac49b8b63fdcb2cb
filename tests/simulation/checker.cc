#include "tests/simulation/checker.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "tests/simulation/byte_pattern.h"
#include "tests/simulation/transfer_data.h"

namespace openlapi::simulation {

namespace {

std::span<std::byte> bytes_of(const std::unique_ptr<std::byte[]>& buffer, std::uint64_t length) {
  return {buffer.get(), length};
}

// The engine must not need the lists any more.
void overwrite_lists(Operation& operation) {
  operation.from.overwrite_list();
  if (operation.kind != Kind::active_message) operation.to.overwrite_list();
}

}  // namespace

Checker::Checker(const Scenario& scenario, VirtualTime& time) : scenario_(scenario), time_(time) {
  tasks_.resize(scenario.options.tasks);
  for (PeerIndex task = 0; task < tasks_.size(); ++task) {
    tasks_[task].memory = std::make_unique<TaskMemory>(scenario.memory_bytes, mix_bits(scenario.options.seed) + task);
    tasks_[task].engines.resize(scenario.options.contexts);
  }
  for (PeerIndex task = 0; task < tasks_.size(); ++task) {
    for (std::uint32_t context = 0; context < scenario.options.contexts; ++context) begin_engine(task, context);
  }
}

// A new task begins in the era that its peers are in.
void Checker::begin_engine(PeerIndex task, std::uint32_t context) {
  Engine& fresh = engine(task, context);
  std::vector<View> former = std::move(fresh.views);
  fresh = {};
  fresh.views.resize(tasks_.size());
  for (PeerIndex peer = 0; peer < tasks_.size(); ++peer) {
    // Of a task that is dead at the beginning nothing is certain until it is heard of.
    fresh.views[peer].deaths = tasks_[peer].alive ? tasks_[peer].deaths : tasks_[peer].deaths - 1;
    if (former.empty()) continue;
    fresh.views[peer].era = peer == task ? 0 : std::max(former[peer].era, view(peer, context, task).era);
  }
}

void Checker::task_died(PeerIndex task) {
  std::string where;
  if (!memory(task).guards_hold(where)) fail("written outside of every operation in task %u: %s", task, where.c_str());
  Task& dead = tasks_[task];
  for (Operation& operation : operations_) {
    if (!operation.issued || is_settled(operation)) continue;
    const bool by_it = operation.origin == task && operation.origin_incarnation == dead.incarnation;
    const bool to_it = operation.target == task && operation.target_incarnation == dead.incarnation;
    if (by_it || to_it) excuse(operation);
  }
  check_words_of(task);
  dead.words.clear();
  dead.memory->renew();
  dead.alive = dead.stopped = false;
  ++dead.incarnation;
  ++dead.deaths;
  ++deaths_;
  for (Engine& lost : dead.engines) lost.watched.clear();
  for (Task& other : tasks_) {
    for (Engine& one : other.engines) one.views[task].disturbed &= other.stopped;
  }
}

void Checker::task_stopped(PeerIndex task) {
  tasks_[task].stopped = true;
  ++deaths_;
  for (Engine& one : tasks_[task].engines) {
    for (View& view : one.views) view.disturbed = true;
  }
  for (Operation& operation : operations_) {
    const bool with_it = operation.origin == task || operation.target == task;
    if (operation.issued && with_it && !is_settled(operation)) excuse(operation);
  }
}

void Checker::task_came_back(PeerIndex task) {
  tasks_[task].alive = true;
  for (std::uint32_t context = 0; context < scenario_.options.contexts; ++context) begin_engine(task, context);
  for (Operation& operation : operations_) {
    const bool waits_for_it =
        operation.issued && operation.target == task && operation.target_incarnation == incarnation(task);
    if (waits_for_it && operation.target_counter != nullptr)
      engine(task, operation.context).watched.push_back(&operation);
  }
}

bool Checker::died_during(PeerIndex task, std::uint32_t context, PeerIndex peer) const {
  return peer < tasks_.size() && tasks_[task].engines[context].views[peer].deaths != tasks_[peer].deaths;
}

bool Checker::disturbed(PeerIndex task, std::uint32_t context, PeerIndex peer) const {
  if (peer >= tasks_.size()) return false;
  return tasks_[task].engines[context].views[peer].disturbed || tasks_[peer].engines[context].views[task].disturbed;
}

void Checker::begun_anew(PeerIndex task, std::uint32_t context, PeerIndex peer) {
  view(task, context, peer).disturbed = view(peer, context, task).disturbed = false;
}

bool Checker::first_message_unanswered(PeerIndex target) const {
  for (PeerIndex task = 0; task < tasks_.size(); ++task) {
    if (task == target || !tasks_[task].alive) continue;
    for (const Engine& sender : tasks_[task].engines) {
      if (sender.views[target].contacted && sender.views[target].incarnation == 0) return true;
    }
  }
  return false;
}

Operation& Checker::add() {
  Operation& operation = operations_.emplace_back();
  operation.id = operations_.size();
  operation.key = mix_bits(scenario_.options.seed * 0x10001 + operation.id) & ~std::uint64_t{3};
  return operation;
}

Operation* Checker::find(std::uint64_t id) {
  return id != 0 && id <= operations_.size() ? &operations_[id - 1] : nullptr;
}

void Checker::issued(Operation& operation) {
  operation.issued = true;
  operation.issued_at = time_.now();
  Engine& origin = engine(operation.origin, operation.context);
  origin.own.push_back(&operation);
  if (operation.target != operation.origin) {
    View& target = origin.views[operation.target];
    target.contacted = true;
    operation.era = target.era;
    operation.faults_before = target.faults;
    operation.in_doubt = died_during(operation.origin, operation.context, operation.target) &&
                         target.incarnation < incarnation(operation.target);
    const bool purged_there = view(operation.target, operation.context, operation.origin).era > operation.era;
    if (purged_there) close_at_target(operation);
    const bool may_be_lost = disturbed(operation.origin, operation.context, operation.target);
    if (operation.in_doubt || purged_there || may_be_lost) excuse(operation);
  }
  if (operation.copied) overwrite_data(operation);
  if (operation.origin_counter != nullptr || operation.completion_counter != nullptr) {
    origin.watched.push_back(&operation);
  }
  if (operation.target_counter != nullptr) engine(operation.target, operation.context).watched.push_back(&operation);
  look_at(operation);
}

std::size_t Checker::issued_by(PeerIndex task, std::uint32_t context) const {
  return tasks_[task].engines[context].own.size();
}

void Checker::look(PeerIndex task, std::uint32_t context) {
  std::vector<Operation*>& watched = engine(task, context).watched;
  for (Operation* operation : watched) look_at(*operation);
  std::erase_if(watched, [&](const Operation* operation) {
    const bool origin_done = (operation->origin_counter == nullptr || operation->origin_seen) &&
                             (operation->completion_counter == nullptr || operation->completion_seen);
    const bool target_done = operation->target_counter == nullptr || operation->target_seen;
    return (operation->origin != task || origin_done) && (operation->target != task || target_done);
  });
}

void Checker::look_at(Operation& operation) {
  if (tasks_[operation.target].incarnation == operation.target_incarnation) look_at_target(operation);
  if (tasks_[operation.origin].incarnation == operation.origin_incarnation) look_at_origin(operation);
}

// True at the moment when the counter is first seen to have moved.
bool Checker::counter_moved(const Operation& operation, const int* counter, bool& seen, const char* name) {
  if (counter == nullptr) return false;
  if (*counter < 0 || *counter > 1) fail("%s counter of %s is %d", name, describe(operation).c_str(), *counter);
  if (seen || *counter == 0) return false;
  seen = true;
  const bool closed = counter == operation.target_counter
                          ? operation.closed_at_target && !operation.completion_was_queued
                          : operation.closed_at_origin;
  if (closed) fail("%s counter of %s moved after a purge", name, describe(operation).c_str());
  return true;
}

void Checker::look_at_target(Operation& operation) {
  if (!counter_moved(operation, operation.target_counter, operation.target_seen, "target")) return;
  heard_of(operation.target, operation.context, operation.origin, operation.origin_incarnation);
  if (operation.kind == Kind::get) return fill_pattern(operation.source, ~operation.key);
  if (!is_in_place(operation)) fail("target counter early: the data of %s is not there", describe(operation).c_str());
  if (operation.has_completion && !operation.handler_returned) {
    fail("target counter early: the completion handler of %s has not returned", describe(operation).c_str());
  }
}

void Checker::look_at_origin(Operation& operation) {
  if (counter_moved(operation, operation.origin_counter, operation.origin_seen, "origin")) {
    if (operation.kind == Kind::put || operation.kind == Kind::active_message) {
      overwrite_data(operation);
    } else {
      overwrite_lists(operation);
      heard_of(operation.origin, operation.context, operation.target, operation.target_incarnation);
      if (!is_in_place(operation))
        fail("origin counter early: the answer to %s is not here", describe(operation).c_str());
    }
  }
  if (!counter_moved(operation, operation.completion_counter, operation.completion_seen, "completion")) return;
  heard_of(operation.origin, operation.context, operation.target, operation.target_incarnation);
  if (tasks_[operation.target].incarnation != operation.target_incarnation) return;
  if (!is_in_place(operation))
    fail("completion counter early: the data of %s is not there", describe(operation).c_str());
  if (operation.has_completion && !operation.handler_returned) {
    fail("completion counter early: the handler of %s has not returned", describe(operation).c_str());
  }
  if (operation.target_counter != nullptr && *operation.target_counter != 1) {
    fail("completion counter of %s before its target counter", describe(operation).c_str());
  }
}

// Data that is complete is overwritten, so that a second copy of it would be seen.
bool Checker::is_in_place(Operation& operation) {
  if (operation.in_place) return true;
  switch (operation.kind) {
    case Kind::read_modify_write:
      operation.in_place = operation.origin_seen;
      return operation.in_place;
    case Kind::active_message:
      if (operation.accepted == 0) return false;
      break;
    case Kind::put:
    case Kind::get:
      break;
  }
  if (!data_is_in_place(operation, place_owner(operation))) return false;
  overwrite_place(operation);
  return operation.in_place = true;
}

Operation* Checker::message_arrived(PeerIndex task, std::uint32_t context, const ArrivedMessage& message,
                                    std::uint32_t max_payload) {
  Operation* operation = find(message.handler);
  if (operation == nullptr || operation->kind != Kind::active_message || operation->target != task ||
      operation->context != context || operation->origin != message.source || operation->length != message.length ||
      operation->is_vector() != message.vector || operation->header_length != message.user_header_length) {
    fail("task %u was called for message %llu of task %u, which was never sent to it like that", task,
         static_cast<unsigned long long>(message.handler), message.source);
    return nullptr;
  }
  const std::string name = describe(*operation);
  const View& source = view(task, context, message.source);
  if (operation->target_incarnation != incarnation(task))
    fail("%s reached another incarnation of its target", name.c_str());
  if (source.purged || operation->era != source.era) fail("%s arrived after a purge", name.c_str());
  if (operation->origin_incarnation < source.incarnation)
    fail("%s comes from an incarnation that is known to be over", name.c_str());
  if (operation->accepted != 0) fail("%s was delivered twice", name.c_str());
  const bool known_incarnation = operation->origin_incarnation == source.incarnation && !operation->refused_once;
  if (known_incarnation && operation->faults_before < source.newest)
    fail("%s arrived after it was given up", name.c_str());
  const std::span header(static_cast<const std::byte*>(message.user_header), message.user_header_length);
  if (!has_pattern(header, operation->key + 1)) fail("%s has another user header", name.c_str());
  // Very many pieces make several packets, and what a task sends itself from pieces is nowhere in one piece.
  const bool fits = message.length + message.user_header_length <= max_payload && operation->from.contiguous();
  if (message.length != 0 && fits && message.one_packet_data == nullptr) fail("%s came in pieces", name.c_str());
  if (message.one_packet_data != nullptr && message.length != 0 &&
      !is_data_of(*operation, static_cast<const std::byte*>(message.one_packet_data))) {
    fail("%s shows other data in its packet", name.c_str());
  }
  if (operation->origin != task) heard_of(task, context, message.source, operation->origin_incarnation);
  View& present = view(task, context, message.source);
  if (operation->origin_incarnation == present.incarnation)
    present.newest = std::max(present.newest, operation->faults_before);
  return operation;
}

// By the engine, when the data is in place.
void Checker::completion_asked_for(Operation& operation) {
  if (operation.closed_at_target) fail("%s was completed after a purge", describe(operation).c_str());
  if (!is_in_place(operation)) fail("%s was completed before its data was there", describe(operation).c_str());
}

void Checker::completion_begins(Operation& operation, PeerIndex task, PeerIndex source) {
  const std::string name = describe(operation);
  if (operation.target != task || operation.origin != source || !operation.has_completion) {
    fail("completion handler of %s called in task %u for task %u", name.c_str(), task, source);
  }
  if (operation.handlers_run++ != 0) fail("completion handler of %s called twice", name.c_str());
  if (!is_in_place(operation)) fail("completion handler of %s called before its data was there", name.c_str());
}

void Checker::overwrite_data(Operation& operation) {
  overwrite_lists(operation);
  fill_pattern(bytes_of(operation.data, operation.from.extent), ~operation.key);
  fill_pattern(bytes_of(operation.header, operation.header_length), ~operation.key);
}

void Checker::origin_handler_runs(Operation& operation, PeerIndex task, PeerIndex other) {
  const std::string name = describe(operation);
  if (operation.origin != task || operation.origin_incarnation != incarnation(task))
    fail("the origin's handler of %s ran in task %u", name.c_str(), task);
  if (other != operation.target) fail("the origin's handler of %s was told of task %u", name.c_str(), other);
  if (++operation.origin_handlers_run > 1) fail("the origin's handler of %s ran twice", name.c_str());
}

void Checker::origin_is_free(Operation& operation, PeerIndex task, const SendCompletion& completion) {
  origin_handler_runs(operation, task, completion.target);
  const std::string name = describe(operation);
  if (operation.closed_at_origin && !purging_) fail("the origin was told late of %s", name.c_str());
  if (completion.given_up) {
    if (!operation.excused) fail("%s was given up, but its target lives", name.c_str());
    if (purging_ != (completion.fault == Fault::purged)) fail("%s was given up for another reason", name.c_str());
    if (operation.origin_counter != nullptr && *operation.origin_counter != 0)
      fail("%s was given up after its origin counter had moved", name.c_str());
  } else if (operation.kind != Kind::read_modify_write && operation.origin_counter != nullptr &&
             *operation.origin_counter != 1) {
    fail("the send completion handler of %s ran before its origin counter moved", name.c_str());
  }
  if (operation.kind != Kind::read_modify_write) overwrite_data(operation);
}

void Checker::get_is_complete(Operation& operation, PeerIndex task, PeerIndex source) {
  origin_handler_runs(operation, task, source);
  const std::string name = describe(operation);
  if (operation.closed_at_origin) fail("the completion handler of %s ran after a purge", name.c_str());
  if (operation.origin_counter != nullptr && *operation.origin_counter != 1)
    fail("the completion handler of %s ran before its origin counter moved", name.c_str());
  if (!is_in_place(operation)) fail("the completion handler of %s ran before its data was there", name.c_str());
}

// From now on nothing of the peer's earlier incarnations may be taken: what such incarnations left unfinished stays as
// it is.
void Checker::heard_of(PeerIndex task, std::uint32_t context, PeerIndex peer, std::uint32_t incarnation) {
  if (task == peer) return;
  View& present = view(task, context, peer);
  if (present.incarnation >= incarnation) return;
  present.incarnation = incarnation;
  present.newest = 0;
  if (incarnation == 1) return;
  for (Operation& operation : operations_) {
    const bool from_it = operation.origin == peer && operation.origin_incarnation < incarnation &&
                         operation.target == task && operation.target_incarnation == this->incarnation(task) &&
                         operation.kind != Kind::get;
    const bool answer = operation.target == peer && operation.target_incarnation < incarnation &&
                        operation.origin == task && operation.origin_incarnation == this->incarnation(task) &&
                        operation.kind == Kind::get;
    if (operation.context != context || !operation.excused || operation.frozen != 0 || !(from_it || answer)) continue;
    operation.frozen = digest(operation.place);
  }
}

void Checker::check_all_in_place(PeerIndex task, std::uint32_t context, std::size_t count, const char* why) {
  const std::vector<Operation*>& own = engine(task, context).own;
  for (std::size_t i = 0; i < std::min(count, own.size()); ++i) {
    if (own[i]->excused || is_in_place(*own[i])) continue;
    fail("%s of task %u, context %u, is over and %s is not in place", why, task, context, describe(*own[i]).c_str());
  }
}

std::string Checker::describe(const Operation& operation) const {
  constexpr const char* kKinds[] = {"put", "get", "message", "read-modify-write"};
  char text[200];
  std::snprintf(text, sizeof(text),
                "%s %llu (task %u incarnation %u -> task %u incarnation %u, context %u, %llu+%u bytes, issued %.3f ms)",
                kKinds[static_cast<int>(operation.kind)], static_cast<unsigned long long>(operation.id),
                operation.origin, operation.origin_incarnation, operation.target, operation.target_incarnation,
                operation.context, static_cast<unsigned long long>(operation.length), operation.header_length,
                static_cast<double>(operation.issued_at) / 1e6);
  return text;
}

void Checker::fail(const char* format, ...) {
  if (failed()) return;
  char text[500];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  char when[40];
  std::snprintf(when, sizeof(when), "at %.3f ms: ", static_cast<double>(time_.now()) / 1e6);
  failure_ = std::string(when) + text;
}

}  // namespace openlapi::simulation
