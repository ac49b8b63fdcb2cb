// The model that the engines are compared with. It follows every operation from outside and knows nothing of packets.
//
// Truths that hold for every operation of two tasks that stay alive:
//  - the data is at its place once, complete, and nothing else was written (guards, overwritten places);
//  - a counter that moved tells the truth at that moment: target and completion counter that the data is in place
//    and the completion handler has returned, the origin counter of a get or read-modify-write that the answer is here;
//  - every counter moves exactly once, every message is accepted exactly once, every completion handler runs once;
//  - the results of read-modify-writes of a word fit one serial order;
//  - when a fence is done, everything that was issued before it is in place; nobody leaves a barrier before all came.
//
// Deaths. The memory of a task that dies is renewed at once: what is addressed to it from then on belongs to its next
// life, which begins when the task comes back. Excused are
//  (a) operations not known to be complete whose origin or target dies;
//  (b) operations to a task that is dead, or that died and of whose present life the issuing engine has not heard yet:
//      by a message from it, or by the completion of an operation issued in that life (Operation::in_doubt);
//  (c) collectives of a context from the first death on: none is begun later, and those under way need not end.
//
// An excused operation may be lost, or be stopped in its middle, and a fence or collective may say that a peer was
// lost. But it is never done twice, writes nothing but its own bytes, and moves no counter more than once. Nothing that
// was issued to or by a former life touches the present one: the renewed memory must stay clean, and an engine that has
// heard of the new life takes nothing of the old one any more. Faults may be reported only for peers that died during
// the reporting engine's own life.
//
// An engine that was never answered by a task cannot know for which life its first messages were: they wait for whoever
// answers. So a task is killed only when every engine that sent it something has heard of it (simulation.cc).
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
  bool alive(PeerIndex task) const { return tasks_[task].alive; }
  std::uint32_t life(PeerIndex task) const { return tasks_[task].life; }  // the next one while it is dead
  void task_died(PeerIndex task);
  void task_came_back(PeerIndex task);
  bool died_during(PeerIndex task, std::uint32_t context, PeerIndex peer) const;
  bool anybody_died() const { return deaths_ != 0; }
  bool first_message_unanswered(PeerIndex target) const;
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
  void completion_begins(Operation& operation, PeerIndex task, PeerIndex source);
  bool is_in_place(Operation& operation);

  // Everything that was issued by the engine before `count` of its operations is in place.
  void check_all_in_place(PeerIndex task, std::uint32_t context, std::size_t count, const char* why);
  std::size_t issued_by(PeerIndex task, std::uint32_t context) const;

  // ---- the end ----
  bool all_settled();  // nothing more is expected to move
  std::string unsettled() const;
  void check_end();

  // ---- failures ----
  [[gnu::format(printf, 2, 3)]] void fail(const char* format, ...);
  const std::string& failure() const { return failure_; }
  bool failed() const { return !failure_.empty(); }

 private:
  struct Heard {
    std::uint32_t life = 0;  // newest life of the peer that the engine has certainly heard of; 0: none
    bool contacted = false;  // it sent the peer something
  };
  struct Engine {
    std::vector<Operation*> watched;             // operations with a counter in this engine's memory that has not moved
    std::vector<Operation*> own;                 // of this life, in the order in which they were issued
    std::vector<Heard> heard;                    // by peer
    std::vector<std::uint32_t> deaths_at_birth;  // by peer
  };
  struct Task {
    std::unique_ptr<TaskMemory> memory;
    std::uint32_t life = 1;
    std::uint32_t deaths = 0;
    bool alive = true;
    std::vector<Engine> engines;  // by context
    std::vector<SharedWord*> words;
  };

  Engine& engine(PeerIndex task, std::uint32_t context) { return tasks_[task].engines[context]; }
  void begin_engine(PeerIndex task, std::uint32_t context);
  void heard_of(PeerIndex task, std::uint32_t context, PeerIndex peer, std::uint32_t life);
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
  std::string failure_;
};

}  // namespace openlapi::simulation
