// Requests that send. Short messages go with their envelope; of long ones the envelope alone, and the receiver reads
// the data from here and says when it has them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "api/rpi/lapi/request_state.h"

namespace openlapi::rpi {

class SendRequests {
 public:
  // `most_short`: bytes of the longest message that goes with its envelope.
  SendRequests(Surroundings& around, std::size_t most_short) : around_(around), most_short_(most_short) {}

  // The World calls nothing any more.
  ~SendRequests();
  SendRequests(const SendRequests&) = delete;
  SendRequests& operator=(const SendRequests&) = delete;

  void start(RequestState& send);
  // The MPI layer destroys the request. False: the World still has its data, and the state is deleted later.
  bool forget(RequestState& send);

  // An answer has come. False: nobody waits for it.
  bool answered(const PeerState& from, const Envelope& answer);
  void lost(const PeerState& peer);

 private:
  void send_off(RequestState& send, const Envelope& envelope);
  static void when_sent(void* argument, Outcome outcome);
  void sent(RequestState& send, Outcome outcome);
  void end_if_done(RequestState& send);
  Envelope envelope_for(RequestState& send);

  Surroundings& around_;
  std::size_t most_short_;
  std::uint64_t last_name_ = 0;
  std::unordered_map<std::uint64_t, RequestState*> waiting_{};         // for answers
  LinkedList<RequestState, &RequestState::asking_links> destroyed_{};  // while the World has their data
};

}  // namespace openlapi::rpi
