// Who gets what of the messages that a process sends to itself.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "api/rpi/matching/wanted.h"
#include "api/rpi/services/unexpected_messages.h"

namespace openlapi::rpi {

// What the module `self` adds to a request.
struct SelfRequest {
  MPI_Request request = nullptr;
  Wanted wanted{};  // what it asks for, or what it sends
  std::uint64_t order = 0;
  ListLinks<SelfRequest> links{};
  bool is_posted = false;                   // in a list of SelfMatching
  lam_ssi_rpi_cbuf_msg* message = nullptr;  // of a send, while its message is in the services' queue

  bool is_open() const { return request->rq_state == LAM_RQSSTART; }
};

// Receives that want the same wait in one list, so that a message looks at four of them however many there are. A
// request that the MPI layer has cancelled is in state LAM_RQSDONE, and is passed over. Not thread safe.
class SelfMatching {
 public:
  // From start to the end of its life, or to its next start.
  void send(SelfRequest& send);
  void receive(SelfRequest& receive);
  void probe(SelfRequest& probe);
  // True: there is a message, and the request's status says which.
  bool has_message(MPI_Request probe);
  // It is not looked at any more; what it has sent is withdrawn unless somebody has it.
  void forget(SelfRequest& request);

  // Whether a request has changed its state since the last time.
  bool take_change();

 private:
  using List = LinkedList<SelfRequest, &SelfRequest::links>;

  SelfRequest* find_receive(const Wanted& message);
  void answer_probes();
  void keep(SelfRequest& send);
  // The oldest message that is not cancelled; nullptr: none.
  lam_ssi_rpi_cbuf_msg* find_message(lam_ssi_rpi_envl& wanted);
  void deliver(MPI_Request receive, const lam_ssi_rpi_envl& envelope, const char* data);
  void done(MPI_Request request);
  List& list_of(const SelfRequest& request);

  std::unordered_map<Wanted, List, WantedHash> receives_{};
  List probes_{};
  std::uint64_t next_order_ = 0;
  bool changed_ = false;
};

}  // namespace openlapi::rpi
