#include "api/context/recovery.h"

#include <algorithm>

#include "api/arguments/refusal.h"
#include "api/context/context_resources.h"
#include "api/context/program_addresses.h"
#include "api/wiring/networks.h"
#include "api/wiring/next_epoch.h"
#include "dataplane/base/own_memory.h"
#include "dataplane/counter/counters.h"
#include "dataplane/peers/peer_table.h"

namespace openlapi {

void Recovery::begin() {
  statuses_.clear();
  patient_waits_.clear();
}

void Recovery::purge(PeerIndex task) {
  context().endpoint().purge(task);
  statuses_.task_purged(task);
  ++purges_;
  ++loss_events_;
  context().wake_sleepers();
}

void Recovery::resume(PeerIndex task) {
  if (context().endpoint().peers().purged(task)) context().resources().routes->resumed(task);
  context().endpoint().resume(task, next_epoch());
}

bool Recovery::has_counter_statuses() const { return context().resources().library != L1_LIB; }

void Recovery::set_statuses(lapi_cntr_t* counter, std::span<const uint> destinations, int* statuses) {
  context().endpoint().counters().forget_loss(address_bits(counter));
  if (destinations.empty()) {
    statuses_.remove(counter);
  } else {
    statuses_.set(counter, destinations, statuses,
                  [this](uint task) { return task >= context().tasks() || context().endpoint().peers().purged(task); });
  }
  context().endpoint().counters().watch(!statuses_.empty());
}

void Recovery::forget_answered(const lapi_cntr_t* counter) {
  statuses_.remove_if_answered(counter);
  context().endpoint().counters().watch(!statuses_.empty());
}

void Recovery::counter_moves(std::uint64_t counter, PeerIndex peer) {
  statuses_.counter_moved(reinterpret_cast<const lapi_cntr_t*>(static_cast<std::uintptr_t>(counter)), peer);
  ++loss_events_;  // who has not answered may be purged, all of them
}

void Recovery::task_lost(PeerIndex task) {
  statuses_.task_lost(task);
  ++loss_events_;
}

bool Recovery::begin_patient_wait(const lapi_cntr_t* counter) {
  if (std::find(patient_waits_.begin(), patient_waits_.end(), counter) != patient_waits_.end()) return false;
  patient_waits_.push_back(counter);
  return true;
}

void Recovery::end_patient_wait(const lapi_cntr_t* counter) { std::erase(patient_waits_, counter); }

int Recovery::add_udp_port(PeerIndex task, uint adapter, const lapi_udp_t& address) {
  if (context().resources().bootstrap->can_exchange() || !context().resources().routes->has_network()) {
    return refuse(LAPI_ERR_UTIL_CMD, "LAPI_ADD_UDP_DEST_PORT is for tasks without a launcher that use UDP");
  }
  PeerAddress place;
  std::string reason;
  if (!udp_address_of(udp_address(address), place)) {
    return refuse(LAPI_ERR_UDP_PORT_INFO, "port_no is %u; allowed are 1 to 65535", address.port_no);
  }
  if (context().resources().routes->change_address(task, adapter, place, reason)) return LAPI_SUCCESS;
  return refuse(LAPI_ERR_UDP_PORT_INFO, "%s", reason.c_str());
}

}  // namespace openlapi
