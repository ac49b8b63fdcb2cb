#include "api/rpi/lapi/shown_messages.h"

#include <utility>

namespace openlapi::rpi {
namespace {

lam_ssi_rpi_cbuf_msg shown_as(const Arrival& arrival) {
  const Envelope& envelope = arrival.envelope;
  const int flags = (arrival.is_long() ? C2CLONG : C2CSHORT) | C2CBUFFERED |
                    (envelope.kind == EnvelopeKind::synchronous ? C2CSSEND : 0);
  lam_ssi_rpi_cbuf_msg message{};
  message.cm_proc = arrival.from->process;
  message.cm_env = {
      static_cast<int4>(arrival.length), envelope.tag, flags, envelope.rank, envelope.context, envelope.number};
  message.cm_buf = arrival.kept.get();
  message.cm_dont_delete = 1;
  return message;
}

}  // namespace

void ShownMessages::added(Arrival& arrival) {
  if (first_hidden_ == nullptr) first_hidden_ = &arrival;
  show();
  if (first_hidden_ == nullptr && !to_debugger_) return;
  until_look_ == 0 ? look() : static_cast<void>(--until_look_);
}

void ShownMessages::removed(Arrival& arrival) {
  if (first_hidden_ == &arrival) first_hidden_ = UnaskedArrivals::next(arrival);
  if (arrival.shown == nullptr) return;
  lam_ssi_rpi_cbuf_delete(std::exchange(arrival.shown, nullptr));
  --shown_;
  show();
}

void ShownMessages::look() {
  if (first_hidden_ == nullptr && !to_debugger_) return;
  until_look_ = kBetweenLooks;
  to_debugger_ = layer_.has_debugger();
  show();
}

void ShownMessages::show() {
  while (first_hidden_ != nullptr && (to_debugger_ || shown_ < kFew)) {
    Arrival& next = *std::exchange(first_hidden_, UnaskedArrivals::next(*first_hidden_));
    lam_ssi_rpi_cbuf_msg message = shown_as(next);
    next.shown = lam_ssi_rpi_cbuf_append(&message);
    if (next.shown != nullptr) ++shown_;
  }
}

}  // namespace openlapi::rpi
