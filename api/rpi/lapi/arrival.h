// A message on its way to a receive.
#pragma once

#include <cstdint>
#include <memory>

#include "api/rpi/lapi/request_state.h"

namespace openlapi::rpi {

class ReceiveRequests;

struct Arrival : Unasked {
  ReceiveRequests* owner = nullptr;
  PeerState* from = nullptr;
  Envelope envelope{};
  std::uint64_t length = 0;               // of the whole message
  RequestState* receive = nullptr;        // that it has met; null: none yet, or it was destroyed
  std::unique_ptr<char[]> kept{};         // its data, unless they go to the receive's memory at once
  bool complete = false;                  // all that was sent with the envelope is here
  bool deliverable = false;               // it has met a receive, or met one that was destroyed
  bool noted = false;                     // it came outside the program's calls, and is matched in the next one
  bool delivered = false;                 // all data are where the receive wants them
  lam_ssi_rpi_cbuf_msg* shown = nullptr;  // in the services' queue, for debuggers
  ListLinks<Arrival> links{};             // among all
  ListLinks<Arrival> unasked_links{};     // among those that nobody has asked for
  ListLinks<Arrival> noted_links{};       // among those
  ListLinks<Arrival> postponed_links{};   // among those that are to be delivered

  bool is_long() const { return envelope.kind == EnvelopeKind::long_message; }
};

}  // namespace openlapi::rpi
