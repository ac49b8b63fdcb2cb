// Chooses what the next operation is: kind, peer, sizes around the engine's edges, counters, handlers.
#pragma once

#include "tests/simulation/checker.h"
#include "tests/simulation/scenario.h"

namespace openlapi::simulation {

class OperationSource {
 public:
  OperationSource(const Scenario& scenario, Checker& checker, PeerIndex task, std::uint32_t context,
                  SeededRandom& random)
      : scenario_(scenario), checker_(checker), task_(task), context_(context), random_(random) {}

  // Edges of the engine that sizes are chosen around; known when it is open.
  void set_edges(std::uint32_t max_payload, std::uint32_t max_header) {
    max_payload_ = max_payload;
    max_header_ = max_header;
  }

  // Null: there is no room left in somebody's memory.
  Operation* next() { return next(choose_target()); }
  Operation* next(PeerIndex target);
  // What a completion handler sends back to the origin.
  Operation* reply(PeerIndex target);

 private:
  PeerIndex choose_target();
  std::uint64_t choose_length(std::uint32_t header_length);
  Operation& begin(Kind kind, PeerIndex target);
  bool prepare_put(Operation& operation);
  bool prepare_get(Operation& operation);
  bool prepare_message(Operation& operation, bool is_reply);
  bool prepare_read_modify_write(Operation& operation);
  void prepare_data(Operation& operation);
  void choose_layouts(Operation& operation, std::uint64_t room);
  bool take_place(Operation& operation, PeerIndex task);
  void take_counters(Operation& operation, bool completion);
  int* take_counter(PeerIndex task, double share);

  const Scenario& scenario_;
  Checker& checker_;
  const PeerIndex task_;
  const std::uint32_t context_;
  SeededRandom& random_;
  std::uint32_t max_payload_ = 0;
  std::uint32_t max_header_ = 0;
};

}  // namespace openlapi::simulation
