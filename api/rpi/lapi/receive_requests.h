// Requests that receive or probe, and the messages that come: from the same process in the order in which they were
// sent, whatever overtakes. The data of short messages go to the receive's memory at once if it is posted; else, and
// if they are too long for it, they are kept first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api/rpi/lapi/arrival.h"
#include "api/rpi/lapi/request_state.h"
#include "api/rpi/lapi/shown_messages.h"
#include "api/rpi/lapi/stock.h"

namespace openlapi::rpi {

class ReceiveRequests {
 public:
  static constexpr std::size_t kStock = 16;  // messages whose memory is kept

  explicit ReceiveRequests(Surroundings& around) : around_(around), shown_(around.layer()) {}
  // The World calls nothing any more.
  ~ReceiveRequests();
  ReceiveRequests(const ReceiveRequests&) = delete;
  ReceiveRequests& operator=(const ReceiveRequests&) = delete;

  // Throws std::bad_alloc.
  void start(RequestState& receive);
  // A receive or probe that has met no message stops asking. Posted or not.
  void withdraw(RequestState& receive);
  // The MPI layer destroys the request.
  void forget(RequestState& receive);

  // A message, no answer, has begun to come. Null buffer and function, and not to come again: it is none that can be.
  Landing arriving(PeerState& from, const Envelope& envelope, std::uint64_t length);
  // `leaves` has come, perhaps before what was sent earlier. False: it is none that can be.
  bool leaving(PeerState& from, const Envelope& envelope);
  // Whether nobody else is left who could send what the receive or probe, which has met no message, asks for. Of
  // MPI_ANY_SOURCE this process could still send it to itself, unless it blocks.
  bool is_hopeless(const _req& request) const;
  // There are receives or probes that have met no message.
  bool some_ask() const { return !asking_.empty(); }
  bool some_have_left() const { return some_left_; }
  void lost(PeerState& peer);
  // The process is not touched again: what it has sent is no more, and nothing comes of it. Before its p_rpi is gone.
  void forget(PeerState& peer);
  // Whether receives of the program may meet messages outside its calls although these are not held off: none is
  // cancelled.
  void match_outside(bool may) { matches_outside_ = may; }
  // What came outside the program's calls, and waits for the next one: this one. Throws std::bad_alloc, and goes on
  // when it is called again.
  void match_noted();
  bool has_noted() const { return !noted_.empty(); }
  // The same outside of calls, if the program's are held off meanwhile.
  void match_noted_outside();
  // What could not be done inside arriving().
  void do_postponed() {
    if (!postponed_.empty() || !stuck_.empty()) do_all_postponed();
  }

  // Whether nothing is on its way: no data that come or are being read, no message without its predecessors.
  bool quiet() const { return moving_ == 0 && overtakers_ == 0 && postponed_.empty(); }
  void look_for_debugger() { shown_.look(); }
  std::uint64_t matching_steps() const { return posted_.steps() + unasked_.steps(); }

 private:
  static void when_complete(void* argument, Outcome outcome);
  static void when_read(void* argument, Outcome outcome);

  Landing accept(Arrival& arrival);
  Landing keep_overtaker(Arrival& arrival);
  Arrival& make(PeerState& from, const Envelope& envelope, std::uint64_t length);
  void remove(Arrival& arrival);
  void ignore(Arrival& arrival);
  Landing keep(Arrival& arrival);
  bool has_to_wait(const Arrival& arrival);
  void note(Arrival& arrival);
  void follow(PeerState& peer);
  bool follow(Arrival& arrival);
  RequestState* find_asking(const Arrival& arrival);
  void add_unasked(Arrival& arrival);
  void remove_unasked(Arrival& arrival);
  void meet(Arrival& arrival, RequestState& receive);
  void complete(Arrival& arrival, Outcome outcome);
  void drop(Arrival& arrival);
  void deliver(Arrival& arrival);
  void read(Arrival& arrival, std::size_t length);
  void do_all_postponed();
  void postpone_for_memory(Arrival& arrival);
  void end(Arrival& arrival, Outcome outcome);
  void answer(const Arrival& arrival, EnvelopeKind kind);
  void look_whether_left(PeerState& from);
  template <class Condition>
  void fail_asking(Condition&& in_vain);
  bool can_come_from_the_dead(const _req& request) const;
  bool has_others(const _req& request) const;

  Surroundings& around_;
  PostedList posted_{};
  UnaskedList unasked_{};
  LinkedList<RequestState, &RequestState::asking_links> asking_{};
  LinkedList<Arrival, &Arrival::links> all_{};
  Stock<Arrival, kStock> stock_{};
  UnaskedArrivals all_unasked_{};
  ShownMessages shown_;
  LinkedList<Arrival, &Arrival::noted_links> noted_{};
  LinkedList<Arrival, &Arrival::postponed_links> postponed_{};  // deliveries
  LinkedList<PeerState, &PeerState::stuck_links> stuck_{};
  std::uint64_t moving_ = 0, overtakers_ = 0;
  bool some_lost_ = false, some_left_ = false;
  bool matches_outside_ = false;
  bool short_of_memory_ = false;  // since do_postponed() began
};

}  // namespace openlapi::rpi
