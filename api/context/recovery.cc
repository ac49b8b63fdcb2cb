// A context whose user replaces tasks that have failed (guide, chapter 19): what LAPI_Purge_totask, LAPI_Resume_totask,
// LAPI_Setcntr_wstatus and LAPI_ADD_UDP_DEST_PORT do.
#include <algorithm>

#include "api/arguments/refusal.h"
#include "api/context/context_resources.h"
#include "api/context/program_addresses.h"
#include "api/wiring/networks.h"
#include "api/wiring/next_epoch.h"

namespace openlapi {

void Context::purge(PeerIndex task) {
  endpoint_->purge(task);
  statuses_.task_purged(task);
  ++purges_;
  ++loss_events_;
  if (poller_->anybody_dozes()) poller_->wake_ready();
}

void Context::resume(PeerIndex task) {
  if (endpoint_->purged(task)) resources_->routes->resumed(task);
  endpoint_->resume(task, next_epoch());
}

bool Context::has_counter_statuses() const { return resources_->library != L1_LIB; }

void Context::set_statuses(lapi_cntr_t* counter, std::span<const uint> destinations, int* statuses) {
  endpoint_->forget_counter_loss(reinterpret_cast<std::uintptr_t>(counter));
  if (destinations.empty()) {
    statuses_.remove(counter);
  } else {
    statuses_.set(counter, destinations, statuses,
                  [this](uint task) { return task >= tasks_ || endpoint_->purged(task); });
  }
  endpoint_->watch_counters(!statuses_.empty());
}

void Context::forget_answered(const lapi_cntr_t* counter) {
  statuses_.remove_if_answered(counter);
  endpoint_->watch_counters(!statuses_.empty());
}

void Context::counter_moves(std::uint64_t counter, PeerIndex peer) {
  statuses_.counter_moved(reinterpret_cast<const lapi_cntr_t*>(static_cast<std::uintptr_t>(counter)), peer);
  ++loss_events_;  // who has not answered may be purged, all of them
}

bool Context::begin_patient_wait(const lapi_cntr_t* counter) {
  if (std::find(patient_waits_.begin(), patient_waits_.end(), counter) != patient_waits_.end()) return false;
  patient_waits_.push_back(counter);
  return true;
}

void Context::end_patient_wait(const lapi_cntr_t* counter) { std::erase(patient_waits_, counter); }

int Context::add_udp_port(PeerIndex task, uint adapter, const lapi_udp_t& address) {
  if (resources_->bootstrap->can_exchange() || !resources_->routes->has_network()) {
    return refuse(LAPI_ERR_UTIL_CMD, "LAPI_ADD_UDP_DEST_PORT is for tasks without a launcher that use UDP");
  }
  PeerAddress place;
  std::string reason;
  if (!udp_address_of(udp_address(address), place)) {
    return refuse(LAPI_ERR_UDP_PORT_INFO, "port_no is %u; allowed are 1 to 65535", address.port_no);
  }
  if (resources_->routes->change_address(task, adapter, place, reason)) return LAPI_SUCCESS;
  return refuse(LAPI_ERR_UDP_PORT_INFO, "%s", reason.c_str());
}

}  // namespace openlapi
