// What the simulated tasks are told of links, from outside of the traffic: of their own adapters, and in the network
// availability matrix of those of all. That they were cut and are whole again, some of it late, some of it wrong, and
// some not at all; in the matrix some rows are never followed by a newer one.
#pragma once

#include <cstdint>

#include "tests/simulation/scenario.h"
#include "tests/support/seeded_random.h"
#include "tests/support/simulated_network.h"
#include "tests/support/virtual_time.h"

namespace openlapi::simulation {

class LinkWords {
 public:
  LinkWords(const Scenario& scenario, VirtualTime& time, SimulatedNetwork& network);

  // The adapter is cut from now on for so long.
  void cut(PeerIndex task, std::uint32_t adapter, Nanoseconds length);
  // Called now and then: somebody may be told what is not so.
  void lie();

  std::uint64_t told() const { return told_; }

 private:
  void tell_after(Nanoseconds pause, PeerIndex task, std::uint32_t adapter, bool up);
  void cut_in_matrix(PeerIndex task, std::uint32_t adapter, Nanoseconds length);
  void row_after(Nanoseconds pause, PeerIndex task, std::uint32_t adapter, bool up);

  const Scenario& scenario_;
  VirtualTime& time_;
  SimulatedNetwork& network_;
  SeededRandom random_;
  SeededRandom matrix_random_;
  std::uint64_t told_ = 0;
};

}  // namespace openlapi::simulation
