// A process of a job in which everybody sends everybody messages that all know beforehand, and receives them in random
// ways; the model of MPI's matching judges it at the end.
#pragma once

#include <cstdint>
#include <list>
#include <random>
#include <vector>

#include "tests/unit/rpi/job/module_process.h"
#include "tests/unit/rpi/lifecycle/matching_model.h"

namespace openlapi::rpi {

class LoadedProcess {
 public:
  // `messages`: to each process, itself included.
  LoadedProcess(int rank, int messages, unsigned seed);

  // Something that a program could do, by chance. Throws Failure.
  void act();
  // A receive by chance, if it can still be cancelled.
  void cancel();
  // Sends and receives the rest. Throws Failure: something was lost, doubled, or came in the wrong order.
  void finish();
  Host& host() { return process_.host(); }

 private:
  struct Pending {
    Operation operation{};
    std::vector<char> buffer{};
    MPI_Request handle = MPI_REQUEST_NULL;
    std::size_t model = 0;  // of a receive
  };

  std::size_t below(std::size_t limit) { return random_() % limit; }
  void send_next(int to);
  void receive(int from, int tag, int context);
  void look();
  void judge(Pending& receive, const MPI_Status& status);

  const int rank_, messages_;
  std::mt19937 random_;
  ModuleProcess process_{};
  std::vector<int> sent_;  // to each
  std::list<Pending> pending_{};
  MatchingModel model_{};
  std::vector<MatchingModel::Match> matches_{};
};

}  // namespace openlapi::rpi
