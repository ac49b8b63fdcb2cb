// What MPI says of matching, as simply as it can be said: it judges what a host has done.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "api/rpi/include/lam-ssi-rpi.h"

namespace openlapi::rpi {

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A message to this process.
struct ModelMessage {
  int context, source, tag, length, number;
  bool is_taken = false, is_withdrawn = false;
  bool is_open() const { return !is_taken && !is_withdrawn; }
};

// A receive or a probe of this process.
struct ModelRequest {
  int context, source, tag, room;
  bool is_probe = false, is_active = true;

  bool matches(const ModelMessage& message) const;
};

// Messages in the order in which they were sent, requests in the order in which they were started; both are known by
// their index. All functions throw Failure if the host has done what MPI does not allow.
class MatchingModel {
 public:
  std::size_t add(const ModelMessage& message);
  std::size_t add(const ModelRequest& request);
  // nullptr: nobody has sent it.
  const ModelMessage* find_message(int source, int number) const;
  const ModelMessage& message(std::size_t index) const { return messages_[index]; }
  void withdraw(std::size_t message);
  void cancel(std::size_t request) { requests_[request].is_active = false; }

  // These receives have ended since the last time, with this status and number of the sender's.
  struct Match {
    std::size_t request;
    MPI_Status status;
    int number;
    bool is_truncated;
  };
  void take(const std::vector<Match>& matches);
  // A probe found this, or nothing. `all_arrived`: nothing is on its way.
  void judge_probe(const ModelRequest& probe, const MPI_Status* found, bool all_arrived) const;
  // Nothing of this rank, all of whose messages have arrived, waits for a request that waits for it.
  void judge_rest(int source, bool with_probes) const;

 private:
  ModelMessage& find(const ModelRequest& request, int source, int number);
  void judge_order(const ModelRequest& request, const ModelMessage& message) const;
  void judge_status(const ModelRequest& request, const ModelMessage& message, const Match& match) const;

  std::vector<ModelMessage> messages_{};
  std::vector<ModelRequest> requests_{};
};

std::string shown(const ModelMessage& message);
std::string shown(const ModelRequest& request);

}  // namespace openlapi::rpi
