// What the engine keeps of requests and processes beside what the MPI layer has of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "api/rpi/include/mpisys.h"
#include "api/rpi/include/rpisys.h"
#include "api/rpi/lapi/envelope.h"
#include "api/rpi/lapi/matching.h"
#include "api/rpi/lapi/mpi_layer.h"
#include "api/rpi/lapi/world.h"
#include "dataplane/base/linked_list.h"

namespace openlapi::rpi {

struct Arrival;
class SendRequests;

// Of a process; p_rpi points here.
struct PeerState {
  _proc* process = nullptr;  // null: it was finalised
  Peer number = 0;
  bool lost = false;                               // it has died
  bool left = false;                               // it has sent its last message, and all that it sent before has come
  bool told_last = false;                          // this process has sent it its last message: it may end
  std::uint32_t next_out = 0, next_in = 0;         // sequence numbers of messages to it and from it
  std::map<std::uint32_t, Arrival*> overtakers{};  // messages whose predecessors are not here yet
  std::optional<std::uint32_t> last_in{};          // sequence number of `leaves`, once it is here
  bool told_of_refusal = false, told_of_memory = false;
  bool stuck = false;  // there was no memory to go on with its overtakers
  ListLinks<PeerState> stuck_links{};

  bool is_gone() const { return lost || left; }
};

// What a receive or probe is told of the message that it has met.
struct MetMessage {
  _proc* from = nullptr;
  int rank = 0, tag = 0, number = 0, length = 0;
  bool truncated = false;
};

// What has happened to a request outside the program's calls: the MPI layer is told in the next one.
struct News {
  enum class Ending : std::uint8_t { none, done, peer_dead };
  bool is_listed = false;
  std::optional<MetMessage> met{};
  Ending ending = Ending::none;
};

// Of a request; rq_rpi points here.
struct RequestState : Posted {
  MPI_Request request = nullptr;
  News news{};
  ListLinks<RequestState> news_links{};

  // A receive or probe that is posted is in a list of all; so is a send that was destroyed. A receive that has met its
  // message knows it.
  ListLinks<RequestState> asking_links{};
  Arrival* arrival = nullptr;

  // A send: what it waits for.
  SendRequests* owner = nullptr;
  PeerState* to = nullptr;
  std::uint64_t name = 0;  // in the answer; 0: it waits for none
  EnvelopeKind answer = EnvelopeKind::matched;
  bool with_world = false;  // the World has its data
  bool failed = false;
  bool destroyed = false;  // by the MPI layer, while the World had its data
};

// p_rpi and rq_rpi are types that every module defines for itself, so in a program with several modules nobody can.
inline PeerState* peer_state_of(const _proc* process) {
  return process == nullptr ? nullptr : reinterpret_cast<PeerState*>(process->p_rpi);
}
inline RequestState* request_state_of(const _req* request) { return reinterpret_cast<RequestState*>(request->rq_rpi); }

// The MPI layer above and the World below; moves requests on, as the MPI layer sees them. Outside the program's calls
// the MPI layer's requests are the program's: it may cancel them, unless its calls are held off. What moves then is
// news, and told later.
class Surroundings {
 public:
  explicit Surroundings(MpiLayer& layer) : layer_(layer) {}
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  MpiLayer& layer() { return layer_; }
  World& world() { return *world_; }
  void use(World& world) { world_ = &world; }

  bool is_outside() const { return outside_; }
  void set_outside(bool is);
  // Outside: the program begins no call, and so cancels nothing, before set_outside(false). False: that cannot be now.
  bool hold_calls();
  bool holds_calls() const { return holding_ == Holding::held; }
  // It could not be when it was wanted last, but can be later.
  bool may_hold_later() const { return holding_ == Holding::later; }
  bool has_news() const { return !news_.empty(); }
  // In a call of the program's.
  void tell_news();

  void tell_message(MPI_Request request, const MetMessage& message);
  // It can be cancelled no more.
  void meet(MPI_Request request, const MetMessage& message);
  // It can be cancelled no more.
  void activate(MPI_Request request) {
    request->rq_state = LAM_RQSACTIVE;
    changed_ = true;
  }
  void finish(MPI_Request request);
  // Because its peer is dead.
  void fail_dead(MPI_Request request);

  // Since the last call of take_changed().
  bool has_changed() const { return changed_; }
  bool take_changed() { return std::exchange(changed_, false); }

 private:
  News* news_of(MPI_Request request);

  MpiLayer& layer_;
  World* world_ = nullptr;
  bool changed_ = false;
  bool outside_ = false;
  Holding holding_ = Holding::never;
  LinkedList<RequestState, &RequestState::news_links> news_{};
};

}  // namespace openlapi::rpi
