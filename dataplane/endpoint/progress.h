// The loop. One step, in this order:
//   1. what arrived - it frees room, carries acknowledgements, and is what waiting threads wait for;
//   2. large transfers: those that adapters read go on where a read has ended, those that the processor reads advance
//      by a piece each, so that they share it;
//   3. messages that their header handler refused, now that others have arrived;
//   4. records and long messages that found no room before, peer by peer; arrivals may have made some;
//   5. half-filled packets leave: nothing more will join them in this step;
//   6. timers, when something is outstanding that a timer watches; both by the same look at the clock;
//   7. send completion handlers, when the state is consistent: they may begin operations;
//   8. faults are told last: the host may end the context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/base/clock.h"
#include "dataplane/base/step.h"
#include "dataplane/endpoint/record_dispatch.h"
#include "dataplane/peers/peer_watch.h"
#include "dataplane/transfer/attach_reads.h"
#include "dataplane/transfer/bulk_pulls.h"

namespace openlapi {

class Progress {
 public:
  struct Means {
    Clock& clock;
    const Transports& transports;
    ChannelSet* channels;  // null: there are no unreliable transports
    PeerTable& peers;
    RequestTable& requests;
    OutgoingMessages& outgoing;
    RefusedMessages& refused;
    DroppedPeers& dropped;
    LossReports& reports;
    TimerPacing& pacing;
    OriginNotices& origins;
    Outbox& outbox;
    MessageSender& sender;
    AttachReads& reads;
    BulkPulls& pulls;
    Fences& fences;
    Collectives& collectives;
    ActiveMessages& messages;
    Losses& losses;
    StepSigns& signs;
    PeerWatch& watch;
    RecordDispatch& dispatch;
  };
  explicit Progress(const Means& means) : means_(means) {}

  // As Endpoint's functions of these names.
  unsigned progress(Step step);
  void hold_arrivals(bool hold) { arrivals_held_ = hold; }
  ArrivalWord arrival_word() const;
  void flush();
  Nanoseconds deadline() const;
  bool has_work() const;
  bool drained();
  std::size_t not_taken() const;

 private:
  unsigned take_arrivals();
  [[gnu::noinline]] unsigned move_what_waits(bool arrivals);
  [[gnu::noinline]] unsigned move_what_time_moves();
  unsigned run_timers(Nanoseconds now);
  [[gnu::noinline]] unsigned end_step();
  bool timers_due(Step step);
  bool retry_is_due();

  const Means means_;
  Nanoseconds next_retry_ = 0;
  bool arrivals_ = false, arrivals_held_ = false;  // the present step has received something; nothing may be received
};

}  // namespace openlapi
