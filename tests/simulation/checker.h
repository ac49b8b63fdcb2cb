// The model that the engines are compared with. It follows every operation from outside and knows nothing of packets.
//
// Truths that hold for every operation of two tasks that stay alive:
//  - the data is at its place once, complete, and nothing else was written (guards, overwritten places);
//  - a counter that moved tells the truth at that moment: target and completion counter that the data is in place
//    and the completion handler has returned, the origin counter of a get or read-modify-write that the answer is here;
//  - every counter moves exactly once, every message is accepted exactly once, every completion handler runs once;
//  - every send completion handler runs exactly once, after the origin counter; the buffers are overwritten at once;
//    the handler at the origin of a get finds data and counter; a message is given up only when its target died;
//  - the results of read-modify-writes of a word fit one serial order;
//  - when a fence is done, everything that was issued before it is in place; nobody leaves a barrier before all came.
//
// Deaths. The memory of a task that dies is renewed at once: what is addressed to it from then on belongs to its next
// incarnation, which begins when the task comes back. Excused are
//  (a) operations not known to be complete whose origin or target dies;
//  (b) operations to a task that is dead, or that died and of whose present incarnation the issuing engine has not
//      heard yet: by a message from it, or by the completion of an operation issued in that incarnation
//      (Operation::in_doubt);
//  (c) collectives of a context from the first death or purge on: none is begun later, those under way need not end;
//  (d) operations not known to be complete when their origin purges the target or their target the origin, and those
//      that are issued to a task which has purged the origin, until the origin purges it as well.
//
// An excused operation may be lost, or be stopped in its middle, and a fence or collective may say that a peer was
// lost. But it is never done twice, writes nothing but its own bytes, and moves no counter more than once. Nothing that
// was issued to or by a former incarnation touches the present one: the renewed memory must stay clean, and an engine
// that has heard of the new incarnation takes nothing of the old one any more. Faults may be reported only for peers
// that died during the reporting engine's own incarnation.
//
// Stops. A task that takes no step for longer than the time-out may be given up by the others, and may give them up
// when it goes on. Until it dies, or both sides have purged each other after that,
//  (e) what the two issue, or had issued before and is not known to be complete, is excused as well.
// But nothing waits for ever: at the end every counter of an excused operation at a living origin has moved or is known
// to be lost, and its send completion handler has run. And what was issued before its origin was told that it has lost
// the target is not accepted there after what was issued later.
//
// Purges. Each pair of engines counts its eras: a purge ends one on its side, both sides purge before one resumes, and
// what is issued after the resume must arrive as if nothing had been. At the moment of a purge every operation to the
// peer ends: a send completion handler that has not run runs, a counter that has not moved is known to be lost, and the
// reason is the purge unless a fault was reported before. From then on nothing of that era or an earlier one moves
// memory or counters on this side, but what handlers that were queued before still have to do. Submissions to a purged
// peer are refused, those to others never; and the time-out of a peer that was purged is not reported.
//
// Without an address exchange an engine that was never answered by a task cannot know for which incarnation its first
// messages were: they wait for whoever answers. So a task is killed only when every engine that sent it something has
// heard of it (simulation.cc). With one, the exchange tells the incarnation at first contact, and tasks are killed at
// any time; so they are where everybody purges who has died.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/operation.h"
#include "tests/simulation/scenario.h"
#include "tests/simulation/task_memory.h"
#include "tests/support/virtual_time.h"

namespace openlapi::simulation {

class Checker {
 public:
  Checker(const Scenario& scenario, VirtualTime& time);

  // ---- tasks ----
  TaskMemory& memory(PeerIndex task) { return *tasks_[task].memory; }
  const TaskMemory& place_owner(const Operation& operation) const {
    return *tasks_[operation.kind == Kind::get ? operation.origin : operation.target].memory;
  }
  bool alive(PeerIndex task) const { return tasks_[task].alive; }
  std::uint32_t incarnation(PeerIndex task) const { return tasks_[task].incarnation; }  // the next one while it is dead
  void task_died(PeerIndex task);
  void task_came_back(PeerIndex task);
  bool died_during(PeerIndex task, std::uint32_t context, PeerIndex peer) const;
  // It takes no step for longer than the time-out: it and the others may give each other up from now on.
  void task_stopped(PeerIndex task);
  void task_goes_on(PeerIndex task) { tasks_[task].stopped = false; }
  bool stopped(PeerIndex task) const { return tasks_[task].stopped; }
  bool disturbed(PeerIndex task, std::uint32_t context, PeerIndex peer) const;
  // Both have purged the other since it went on.
  void begun_anew(PeerIndex task, std::uint32_t context, PeerIndex peer);
  bool anybody_died() const { return deaths_ != 0; }
  bool anything_given_up() const { return deaths_ + purges_ != 0; }
  bool first_message_unanswered(PeerIndex target) const;
  // The engine was told, with the peer's address, which incarnation of it this is.
  void told_of(PeerIndex task, std::uint32_t context, PeerIndex peer, std::uint32_t incarnation) {
    heard_of(task, context, peer, incarnation);
  }

  // ---- recovery (checker_recovery.cc) ----
  void purge_begins(PeerIndex task, std::uint32_t context, PeerIndex peer);
  void purge_ended(PeerIndex task, std::uint32_t context, PeerIndex peer, const Endpoint& endpoint);
  void resumed(PeerIndex task, std::uint32_t context, PeerIndex peer) { view(task, context, peer).purged = false; }
  bool purged(PeerIndex task, std::uint32_t context, PeerIndex peer) const {
    return tasks_[task].engines[context].views[peer].purged;
  }
  void fault_reported(PeerIndex task, std::uint32_t context, PeerIndex peer);

  SharedWord* word(PeerIndex task, wire::RmwOperation operation, std::uint8_t width);

  // ---- operations ----
  Operation& add();
  Operation* find(std::uint64_t id);
  std::deque<Operation>& operations() { return operations_; }
  void issued(Operation& operation);  // the engine has accepted it; overwrites the buffers that are free now

  // Looks at everything that may have changed in this engine's memory.
  void look(PeerIndex task, std::uint32_t context);
  void look_at(Operation& operation);

  // The header handler of the engine was called. Null: the message is none of ours, which is a failure already.
  Operation* message_arrived(PeerIndex task, std::uint32_t context, const ArrivedMessage& message,
                             std::uint32_t max_payload);
  void completion_asked_for(Operation& operation);
  void completion_begins(Operation& operation, PeerIndex task, PeerIndex source);
  void origin_is_free(Operation& operation, PeerIndex task, const SendCompletion& completion);
  void get_is_complete(Operation& operation, PeerIndex task, PeerIndex source);
  bool is_in_place(Operation& operation);

  // Everything that was issued by the engine before `count` of its operations is in place.
  void check_all_in_place(PeerIndex task, std::uint32_t context, std::size_t count, const char* why);
  std::size_t issued_by(PeerIndex task, std::uint32_t context) const;

  // ---- the end ----
  bool all_settled();  // nothing more is expected to move
  // Excused operations of the engine that have neither happened nor been given up; empty: none.
  std::string unended(PeerIndex task, std::uint32_t context, const Endpoint& endpoint) const;
  std::string unsettled() const;
  void check_end();

  // ---- failures ----
  [[gnu::format(printf, 2, 3)]] void fail(const char* format, ...);
  const std::string& failure() const { return failure_; }
  bool failed() const { return !failure_.empty(); }

 private:
  // What an engine has to do with a peer.
  struct View {
    std::uint32_t incarnation = 0;  // newest incarnation of the peer that the engine has certainly heard of; 0: none
    bool contacted = false;         // it sent the peer something
    std::uint32_t deaths = 0;  // of the peer that need not concern it: before its birth, or before it purged the peer
    std::uint32_t era = 0;     // purges of the peer
    bool purged = false;
    std::uint32_t faults = 0;  // reported of the peer
    bool disturbed = false;    // one of the two was stopped, and they have not begun anew since
    std::uint32_t newest = 0;  // Operation::faults_before of the peer's messages that arrived: the largest
  };
  struct Engine {
    std::vector<Operation*> watched;  // operations with a counter in this engine's memory that has not moved
    std::vector<Operation*> own;      // of this incarnation, in the order in which they were issued
    std::vector<View> views;          // by peer
  };
  struct Task {
    std::unique_ptr<TaskMemory> memory;
    std::uint32_t incarnation = 1;
    std::uint32_t deaths = 0;
    bool alive = true;
    bool stopped = false;
    std::vector<Engine> engines;  // by context
    std::vector<SharedWord*> words;
  };

  void origin_handler_runs(Operation& operation, PeerIndex task, PeerIndex other);
  void overwrite_data(Operation& operation);
  Engine& engine(PeerIndex task, std::uint32_t context) { return tasks_[task].engines[context]; }
  View& view(PeerIndex task, std::uint32_t context, PeerIndex peer) {
    return tasks_[task].engines[context].views[peer];
  }
  void begin_engine(PeerIndex task, std::uint32_t context);
  void close_at_origin(Operation& operation);
  void close_at_target(Operation& operation);
  void check_given_up(const Operation& operation, const Endpoint& endpoint);
  void heard_of(PeerIndex task, std::uint32_t context, PeerIndex peer, std::uint32_t incarnation);
  void look_at_origin(Operation& operation);
  void look_at_target(Operation& operation);
  bool counter_moved(const Operation& operation, const int* counter, bool& seen, const char* name);
  void excuse(Operation& operation) { operation.excused = true; }
  bool is_settled(const Operation& operation) const;
  void check_end_of(Operation& operation);
  void check_counters_of(const Operation& operation);
  void check_excused_place(const Operation& operation);
  void check_words_of(PeerIndex task);
  void check_word(const SharedWord& word);
  std::string describe(const Operation& operation) const;

  const Scenario& scenario_;
  VirtualTime& time_;
  std::deque<Operation> operations_;
  std::deque<SharedWord> words_;
  std::vector<Task> tasks_;
  std::uint32_t deaths_ = 0;
  std::uint32_t purges_ = 0;
  bool purging_ = false;  // send completion handlers that run now are told of a purge
  std::string failure_;
};

}  // namespace openlapi::simulation
