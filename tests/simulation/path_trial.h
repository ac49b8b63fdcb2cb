// After a run over several networks, when all is at rest: two of its tasks work with each other while single networks
// between them go silent and come back, and nothing else happens. What a path may do is then bounded by design, in
// virtual time:
//  - while another path serves, an operation waits no longer for one that goes silent than its time-outs;
//  - a path that the other side has left is doubted at once, and one whose link is said to be down, which was not said
//    before, is left at once;
//  - nothing but probes leaves over a path that is dead, whatever comes over it, and no round trip is measured there;
//  - as long as a path stays dead, in one direction or in both, it has failed once, whoever is late meanwhile, and once
//    more for each time that it has led to another adapter;
//  - a path that serves again is used again within the longest pause between probes, and one that was left because of
//    false word within a few of the shortest;
//  - an adapter that gets another address is used again within that time, whichever of a task's it is, and if it is
//  all;
//  - when all were dead and one comes back, everything that waits goes on over it;
//  - each path serves alone, also after it has lost what was in flight over it; and each read-modify-write is carried
//    out once, whatever happens.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "dataplane/host/path_status.h"
#include "dataplane/host/requests.h"
#include "dataplane/transport/packet.h"
#include "tests/simulation/scenario.h"
#include "tests/support/seeded_random.h"
#include "tests/support/simulated_network.h"

namespace openlapi::simulation {

class SimulatedEngine;
class Simulation;

class PathTrial {
 public:
  explicit PathTrial(Simulation& simulation);
  ~PathTrial();

  // What does not hold is told to the checker.
  void run();

 private:
  static constexpr std::size_t kSlots = 4096;
  struct Operation {
    unsigned origin = 0;  // the side
    int counter = 0;      // moves when it is complete
    Nanoseconds begun = 0;
    bool adds = false;           // a read-modify-write
    std::uint64_t number = 0;    // what was put, or is to be found
    std::uint64_t previous = 0;  // what was found
  };
  struct Side {
    PeerIndex task = 0;
    SimulatedEngine* engine = nullptr;
    std::vector<std::byte> data, room;  // of its long puts; where those of the other side arrive
    std::array<std::uint64_t, kSlots> slots{};
    std::uint64_t word = 0;  // that the other side adds to
    std::uint64_t puts = 0, adds = 0;
    std::vector<std::uint64_t> packets;  // with data that it has sent to the other side over each network
  };

  bool choose_pair();
  bool may_work(PeerIndex one, PeerIndex other) const;
  void packet_leaves(const PortAddress& from, PeerIndex to, const OutgoingPacket& packet);

  // ---- work ----
  void put(unsigned origin, bool complete);
  void add(unsigned origin);
  void put_long(unsigned origin, std::uint32_t over);
  bool submitted(unsigned origin, Submit result);
  void wait(Nanoseconds time);
  void work(Nanoseconds time, Nanoseconds pause);
  void finish_all();
  void look();

  // ---- paths ----
  std::vector<PathStatus> paths(unsigned side) const;
  std::uint32_t network_of(const PathStatus& path) const;
  std::uint32_t network_used_by(unsigned side) const;
  PathStatus path_over(unsigned side, std::uint32_t network) const;
  void cut(std::uint32_t network, unsigned from);
  void cut(std::uint32_t network);
  void tell(unsigned side, bool up);
  void move(unsigned side, std::uint32_t network);
  void expect_all_serve(const char* when);

  // ---- stages ----
  void all_serve();
  void each_serves_alone();
  void one_goes_silent();
  void it_stays_silent(unsigned from);
  void expect_one_failure(unsigned side, std::uint64_t before);
  void it_comes_back();
  void false_word();
  void true_word();
  void old_row();
  void all_go_silent();
  void pairs_go_silent();
  void one_moves();
  void both_move();
  void all_of_one_move();

  Simulation& simulation_;
  const Scenario& scenario_;
  SeededRandom random_;
  std::array<Side, 2> sides_;
  std::list<Operation> under_way_;
  Nanoseconds bound_ = 0;       // of an operation
  std::uint32_t pairs_ = 0;     // of adapters of the two
  std::uint32_t chosen_ = 0;    // the network that goes silent,
  std::array<bool, 2> dead_{};  // for what leaves each side
};

}  // namespace openlapi::simulation
