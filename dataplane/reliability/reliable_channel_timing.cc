// What acknowledgements and the time tell of the paths: round trips, losses, time-outs.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "dataplane/reliability/reliable_channel.h"

namespace openlapi {

// Inline for the only path that most peers have.
inline void ReliableChannel::take_news(unsigned path, const wire::PacketHeader& header, bool advanced,
                                       Nanoseconds now) {
  PathState& over = path_states_[path];
  const PathNews& news = send_.news(path);
  if (news.round_trip != 0) {
    const Nanoseconds delay = header.ack_delay * kMicrosecond;
    over.round_trip.sample(news.round_trip > delay ? news.round_trip - delay : news.round_trip);
    if (news.carried) path_states_.carries(path);  // it was sent once: no other path can have brought it
  }
  if (news.bytes != 0 && over.congestion.on_acknowledged(news.bytes, news.in_flight)) path_states_.share_out();
  restart_timer(path, advanced, now);
  handle_losses(path);
}

void ReliableChannel::handle_losses(unsigned path) {
  PathState& over = path_states_[path];
  const PathNews& news = send_.news(path);
  if (news.recheck_at != UINT64_MAX) over.recheck_at = news.recheck_at;
  if (!news.lost) return;
  over.congestion.on_loss();
  path_states_.share_out();
  send_.mark_recovery(path);
}

// A path's timer begins anew when the oldest packet has moved on and something of the path was acknowledged. While that
// packet waits for another path, what arrives over this one is enough: it is alive. How long it waits is another
// matter: what was acknowledged may have been sent again before its answer could come, as when a way has become longer
// than the time-out. So the time-out stays as long as it has grown until a packet that was sent once is measured
// (Karn), or each packet would be sent several times and none ever be measured.
inline void ReliableChannel::restart_timer(unsigned path, bool advanced, Nanoseconds now) {
  PathState& over = path_states_[path];
  const bool only = paths() == 1;
  const bool arrived = send_.news(path).bytes != 0;
  if (advanced ? !arrived && !only : !arrived || send_.waits_for(path)) return;
  over.timed_out = false;
  if (send_.news(path).round_trip != 0) over.round_trip.reset_back_off();
  const bool outstanding = only ? send_.anything_transmitted() : send_.in_flight_bytes(path) != 0;
  over.retransmit_at = outstanding ? now + over.round_trip.timeout() : UINT64_MAX;
  over.recheck_at = UINT64_MAX;
}

void ReliableChannel::process_ack(const wire::PacketHeader& header, std::span<const std::byte> more_selective,
                                  Nanoseconds now) {
  std::array<std::uint64_t, wire::kMostSelectiveWords - 1> words;
  std::span<const std::uint64_t> wider;
  if (!more_selective.empty()) [[unlikely]]
    wider = std::span(words).first(wire::decode_selective(more_selective, words));
  const AckOutcome outcome =
      send_.acknowledge(header.cumulative_ack - sent_number_, header.selective_ack, wider, {now, *this});
  if (!outcome.valid) {
    ++context_.counters.malformed;
    return;
  }
  if (outcome.old) return;
  if (outcome.advanced) {
    introduced_ = true;
    waiting_since_ = send_.anything_transmitted() ? now : UINT64_MAX;
  }
  if ((header.flags & wire::kPacketSawDuplicate) != 0) [[unlikely]]
    path_states_.on_spurious_retransmission();
  take_news(0, header, outcome.advanced, now);
  if (paths() == 1) [[likely]]
    return;
  for (std::uint32_t others = send_.told() & ~1u; others != 0; others &= others - 1)
    take_news(static_cast<unsigned>(std::countr_zero(others)), header, outcome.advanced, now);
  path_states_.measure_rates(send_, now);
}

Nanoseconds ReliableChannel::next_deadline() const {
  if (answer_ != 0) return 0;
  return std::min(path_states_.deadline(), receive_.ack_deadline());
}

std::uint32_t ReliableChannel::run_timers(Nanoseconds now) {
  std::uint32_t silent = 0;
  for (unsigned path = 0; path != paths(); ++path) {
    if (run_timers(path, now)) silent |= 1u << path;
  }
  return silent;
}

// True: the retransmission time-out has run out, or the transport has taken nothing for as long.
bool ReliableChannel::run_timers(unsigned path, Nanoseconds now) {
  PathState& over = path_states_[path];
  if (now >= over.recheck_at) {
    over.recheck_at = UINT64_MAX;
    send_.give_up_overtaken({now, *this});
    for (std::uint32_t told = send_.told(); told != 0; told &= told - 1)
      handle_losses(static_cast<unsigned>(std::countr_zero(told)));
  }
  if (now < over.retransmit_at) return false;
  const Nanoseconds timeout = over.round_trip.timeout();
  // What was refused may have left over another path since, and this one been asked to take nothing more.
  const bool is_used = (is_striped() || path == path_) && send_.in_flight_bytes(path) == 0;
  const bool full = std::exchange(over.takes_nothing, false) && is_used && send_.anything_unsent();
  const bool silent = send_.timed_out(now > timeout ? now - timeout : 0, path);
  if (silent) {
    ++context_.counters.timeouts;
    if (!std::exchange(over.timed_out, true)) {
      over.congestion.on_timeout();
      send_.mark_recovery(path);
      path_states_.share_out();
    }
    over.round_trip.back_off();
  }
  const bool outstanding = send_.waits_for(path) || send_.in_flight_bytes(path) != 0;
  over.retransmit_at = outstanding ? now + over.round_trip.timeout() : UINT64_MAX;
  return full || silent;
}

void ReliableChannel::give_up_path(unsigned path) {
  send_.give_up_path(path);
  path_states_[path].stop_timers();
  path_states_[path].rate.stop();
  path_states_.carries_no_more(path);
}

}  // namespace openlapi
