// The loop. One step does this, in this order:
//   1. take in what has arrived: that frees room, carries acknowledgements, and is what waiting threads wait for;
//   2. continue large transfers: those that adapters read go on where a read has ended, those that the processor reads
//     advance by one piece each, so that they share it;
//   3. offer messages that their header handler had refused again, now that others have arrived;
//   4. send records and long messages for which there was no room, peer by peer; arrivals may have made some;
//   5. send half-filled packets: nothing more will join them in this step;
//   6. run timers, if something outstanding has one; all use the same look at the clock;
//   7. run send completion handlers, now that the state is consistent: they may begin operations;
//   8. report faults last: the host may end the context.
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

  // As the functions of Endpoint with these names.
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
  bool arrivals_ = false, arrivals_held_ = false;  // this step has received something; arrivals are on hold
};

}  // namespace openlapi
