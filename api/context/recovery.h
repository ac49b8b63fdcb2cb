// A context whose user replaces failed tasks (guide, chapter 19): LAPI_Purge_totask, LAPI_Resume_totask,
// LAPI_Setcntr_wstatus and LAPI_ADD_UDP_DEST_PORT, and what waiting threads need to know of losses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "api/context/context_part.h"
#include "api/context/counter_statuses.h"
#include "api/include/lapi.h"
#include "dataplane/host/handler_host.h"

namespace openlapi {

class Recovery : private ContextPart {
 public:
  using ContextPart::ContextPart;

  // The context is opened.
  void begin();

  void purge(PeerIndex task);
  void resume(PeerIndex task);
  int add_udp_port(PeerIndex task, uint adapter, const lapi_udp_t& address);  // a return code

  bool has_counter_statuses() const;  // lapi_info_t::lib_vers enables them
  void set_statuses(lapi_cntr_t* counter, std::span<const uint> destinations, int* statuses);
  const CounterStatuses& statuses() const { return statuses_; }
  void counter_was_set(const lapi_cntr_t* counter) { statuses_.remove(counter); }
  void counter_waited_for(const lapi_cntr_t* counter) {  // a wait for it has ended
    if (!statuses_.empty()) [[unlikely]]
      forget_answered(counter);
  }

  // For threads in LAPI_Nopoll_wait.
  bool begin_patient_wait(const lapi_cntr_t* counter);  // false: another thread waits already
  void end_patient_wait(const lapi_cntr_t* counter);
  std::size_t patient_waits() const { return patient_waits_.size(); }

  std::uint32_t purges() const { return purges_; }            // so far
  std::uint32_t loss_events() const { return loss_events_; }  // changes whenever a wait may have become hopeless
  bool nothing_is_lost() const { return loss_events_ == 0 && statuses_.empty(); }  // no wait can be hopeless yet

  // Called when the engine reports it.
  void counter_moves(std::uint64_t counter, PeerIndex peer);
  void task_lost(PeerIndex task);
  void request_lost() { ++loss_events_; }  // the last of a request to oneself

 private:
  void forget_answered(const lapi_cntr_t* counter);

  CounterStatuses statuses_;
  std::vector<const lapi_cntr_t*> patient_waits_;  // their counters
  std::uint32_t purges_ = 0;
  std::uint32_t loss_events_ = 0;
};

}  // namespace openlapi
