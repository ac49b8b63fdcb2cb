#include "dataplane/paths/peer_channel.h"

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "dataplane/paths/channel_set.h"
#include "dataplane/reliability/fair_share.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/operation_header.h"
#include "dataplane/wire/version_packet.h"

namespace openlapi {

namespace {

// Transmissions as a transport takes them. Only what leaves is ever written: most bursts are one packet.
class OutgoingBurst {
 public:
  explicit OutgoingBurst(std::span<const Transmission> transmissions) : count_(transmissions.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
      const Transmission& from = transmissions[i];
      pieces_[i] = {{{from.head, from.head_length}, {from.data, from.data_length}}};
      const std::span<const ConstBuffer> used(pieces_[i].data(), from.data_length != 0 ? 2u : 1u);
      std::construct_at(packet(i), OutgoingPacket{used, from.length()});
    }
  }
  std::span<const OutgoingPacket> packets() { return {packet(0), count_}; }

 private:
  OutgoingPacket* packet(std::size_t i) { return reinterpret_cast<OutgoingPacket*>(packets_.data()) + i; }

  static_assert(std::is_trivially_destructible_v<OutgoingPacket>);
  const std::size_t count_;
  std::array<std::array<ConstBuffer, 2>, tuning::kSendBurst> pieces_;
  alignas(OutgoingPacket) std::array<std::byte, tuning::kSendBurst * sizeof(OutgoingPacket)> packets_;
};

// Every packet must fit every path, and so must all together: they may have to leave over any of them.
ChannelLimits limits_of(const std::vector<PathEnds>& paths) {
  ChannelLimits limits;
  for (const PathEnds& path : paths) {
    for (const PeerPath& end : path.all()) {
      limits.max_packet = std::min(limits.max_packet, max_packet_to(*end.transport, end.end));
      limits.max_packets = std::min(limits.max_packets, max_packets_to(*end.transport, end.end));
    }
  }
  limits.max_packet &= ~7u;
  return limits;
}

// The path that has brought the latest packet serves in one direction at least. If nothing of ours arrives over it, the
// best one may; and when the peer sends again what it has sent, every acknowledgement of it was lost.
std::uint32_t paths_for_acknowledgement(const ReliableChannel& reliable, const SeveralPaths* several) {
  if (several == nullptr) return 1;
  if (reliable.saw_duplicate()) return (1u << reliable.paths()) - 1;
  const unsigned arrived = several->arrived_over;
  return 1u << arrived | (several->watch.is_silent(arrived) ? 1u << several->watch.best() : 0);
}

}  // namespace

PeerChannel::PeerChannel(ChannelSet& set, ChannelContext& context, PeerIndex peer, std::vector<PathEnds> paths,
                         ChannelEpochs epochs)
    : set_(set),
      best_(paths.at(0).at(PathEnds::kHome)),
      context_(context),
      peer_(peer),
      reliable_(context, peer, epochs, limits_of(paths)) {
  if (paths.size() == 1 && !paths[0].are_several()) return;
  for (std::size_t more = 1; more != paths.size(); ++more) reliable_.add_path();
  several_ = std::make_unique<SeveralPaths>(std::move(paths));
  reliable_.serve(several_->watch.serving(), 0);
}

PeerChannel::~PeerChannel() {
  set_.forget(*this);
  drop_open_packet();
}

void PeerChannel::drop_open_packet() {
  if (open_ != nullptr) context_.pool->give_back(open_);
  open_ = nullptr;
}

// The next three are inline in the two ways of sending a record: every message passes here.

// Null: the peer has its share of the buffers, or there are none at all.
[[gnu::always_inline]] inline std::byte* PeerChannel::take_buffer() {
  PacketPool& pool = *context_.pool;
  const std::uint32_t held = reliable_.buffers_held();
  if (!may_take(held, pool.in_use(), pool.capacity())) return nullptr;
  return held == 0 ? pool.take_first() : pool.take();
}

[[gnu::always_inline]] inline std::byte* PeerChannel::place_for(std::uint32_t length) {
  if (open_ != nullptr) {
    const auto next = static_cast<std::uint32_t>(wire::align_record(open_length_));
    if (next + length <= reliable_.max_payload()) {
      // The padding is sent: it must not be what lay there before. Seven bytes at most, and mostly few: no call.
      for (; open_length_ < next; ++open_length_) open_[wire::kPacketHeaderSize + open_length_] = std::byte{0};
    } else if (!close_open_packet()) {
      return nullptr;
    }
  }
  if (open_ == nullptr) {
    open_ = take_buffer();
    if (open_ == nullptr) return nullptr;
    open_length_ = 0;
  }
  return open_ + wire::kPacketHeaderSize + open_length_;
}

[[gnu::always_inline]] inline void PeerChannel::written(std::uint32_t length) {
  open_length_ += length;
  set_.activate(*this);
  if (set_.is_receiving() || reliable_.packets_out() >= tuning::kPacketsBeforePacking) return;
  const Nanoseconds now = set_.now();
  if (reliable_.may_pass()) {
    send_open_packet(now);
  } else {
    transmit(now);
  }
}

bool PeerChannel::send(std::span<const ConstBuffer> pieces, std::uint32_t length) {
  std::byte* out = place_for(length);
  if (out == nullptr) return false;
  copy_pieces(out, pieces);
  written(length);
  return true;
}

std::byte* PeerChannel::begin_record(std::uint32_t length) { return place_for(length); }

void PeerChannel::end_record(std::uint32_t length) { written(length); }

void PeerChannel::abandon_record() {
  if (open_length_ == 0) drop_open_packet();
}

bool PeerChannel::send_referenced(std::span<const ConstBuffer> head, ConstBuffer data, std::uint32_t tag,
                                  bool may_change) {
  if (open_ != nullptr && !close_open_packet()) return false;
  if (!reliable_.has_room()) return false;
  std::uint32_t head_length = 0;
  for (const ConstBuffer& piece : head) head_length += static_cast<std::uint32_t>(piece.length);

  const auto data_length = static_cast<std::uint32_t>(data.length);
  std::byte* out;
  if (head_length <= tuning::kSmallHeadBytes) {
    out = reliable_.queue_referenced(head_length, data.data, data_length, tag, may_change);
  } else {
    std::byte* buffer = take_buffer();
    if (buffer == nullptr) return false;
    reliable_.queue_with_data(buffer, head_length, data.data, data_length, tag, may_change);
    out = buffer + wire::kPacketHeaderSize;
  }
  copy_pieces(out, head);
  set_.activate(*this);
  return true;
}

bool PeerChannel::find_origin(const Transport& transport, std::uint64_t origin) {
  if (several_ != nullptr) return several_->find_origin(transport, origin);
  if (best_.transport != &transport) return false;
  if (best_.origin != origin) best_.ask_origin();
  return best_.origin == origin;
}

bool PeerChannel::peer_gone() const {
  if (several_ == nullptr) return best_.peer_gone();
  return std::ranges::all_of(several_->ends, [](const PathEnds& of) { return of.at(PathEnds::kHome).peer_gone(); });
}

void PeerChannel::use_best() {
  const unsigned number = several_->watch.best();
  best_ = several_->paths[number];
  reliable_.use_path(number);
  reliable_.serve(several_->watch.serving(), number);
}

// What a silent path has not brought to the peer leaves at once over another one.
void PeerChannel::run_timers(Nanoseconds now) {
  std::uint32_t silent = reliable_.run_timers(now);
  if (silent != 0 && addresses_ != nullptr) addresses_->go_on(now);
  if (several_ == nullptr) return;
  if (now >= several_->teller.due()) tell_change(now);
  if (silent == 0) return;
  look_for_carriers(now);
  for (; silent != 0; silent &= silent - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(silent));
    several_->went_silent(number, now, reliable_.waiting_since());
    reliable_.give_up_path(number);
  }
  use_best();
}

// The peer sends over another path than we do, and over ours no more. It may have found before us that ours does not
// serve: if so, nothing of what is on its way there will be acknowledged. If not, the next acknowledgement says so.
void PeerChannel::consider_following(const ReceiveOutcome& outcome, Nanoseconds now) {
  if (outcome.path_probed || outcome.path_answered || outcome.has_news ||
      several_->watch.is_silent(several_->arrived_over))
    return;
  const unsigned best = several_->watch.best();
  const Nanoseconds silence = std::max(4 * reliable_.round_trip(best).smoothed(), tuning::kPathSilence);
  if (now - several_->heard_over_best > silence) reliable_.doubt_path(best, now);
}

bool PeerChannel::look_at_links(Nanoseconds now) {
  notices_seen_ = set_.notices().number();
  bool left_any = false;
  if (several_ == nullptr) return left_any;
  for (unsigned number = 0; number != reliable_.paths(); ++number) {
    if (!several_->link_is_said(number, now, reliable_.waiting_since())) continue;
    reliable_.give_up_path(number);
    left_any = true;
  }
  if (left_any && several_->others_may_serve()) several_->watch.probe_silent(now);
  use_best();
  if (now >= several_->teller.due()) tell_change(now);
  return left_any;
}

void PeerChannel::watch_links() {
  if (several_ == nullptr) return;
  set_.look_at_told_links(set_.now());
  if (notices_seen_ != set_.notices().number()) set_.activate(*this);
}

void PeerChannel::doubt(unsigned path) {
  if (several_ == nullptr || closed_) return;
  const Nanoseconds now = set_.now();
  look_for_carriers(now);  // what was seen before says nothing of what went wrong
  several_->went_silent(path, now, reliable_.waiting_since());
  use_best();
  set_.activate(*this);
}

void PeerChannel::look_for_served(const ReceiveOutcome& outcome, Nanoseconds now) {
  PathWatch& watch = several_->watch;
  PathTeller& teller = several_->teller;
  const unsigned over = several_->arrived_over;
  teller.heard(now, reliable_.waiting_since(), !several_->others_may_serve());
  if (outcome.path_answered) teller.answered(several_->answered_path(), now);
  const bool none_served = watch.all_silent();
  bool any = outcome.path_answered && watch.answered(over);
  if (any) {
    several_->note_end(over, PathCause::answered, now);
    reliable_.path_answered(over);
  }
  if (any && none_served) reliable_.give_up_path(over);  // it was tried before it served
  any |= look_for_carriers(now);
  if (any) {
    if (several_->go_home(now) || none_served) give_up_silent();
    use_best();
  }
  if (now >= teller.due()) tell_change(now);
}

// What was tried over silent paths, whose time-outs have grown, leaves over those that serve now.
void PeerChannel::give_up_silent() {
  for (unsigned number = 0; number != reliable_.paths(); ++number) {
    if (several_->watch.is_silent(number)) reliable_.give_up_path(number);
  }
}

// Whether the silence of any path has ended. Over one that has failed nothing comes back, while what we send may still
// arrive: it has to bring the acknowledgement as well.
bool PeerChannel::look_for_carriers(Nanoseconds now) {
  bool any = false;
  for (std::uint32_t carriers = reliable_.take_carriers(); carriers != 0; carriers &= carriers - 1) {
    const auto carrier = static_cast<unsigned>(std::countr_zero(carriers));
    if (several_->teller.has_failed(carrier) && carrier != several_->arrived_over) continue;
    if (!several_->watch.carried_data(carrier)) continue;
    several_->note_end(carrier, PathCause::carried_data, now);
    any = true;
  }
  return any;
}

void PeerChannel::tell_change(Nanoseconds now) {
  PathTeller& teller = several_->teller;
  const std::optional<PathTeller::Change> change = teller.take(now);
  if (!change) return;
  const bool failed = change->cause == PathCause::no_answer || change->cause == PathCause::link_down;
  const PathEnds& ends = several_->ends[change->path];
  const PeerPath& path = ends.at(failed ? ends.silent() : ends.used());
  const LinkStatus* const link = path.capabilities->link_status;
  const bool none_serves = several_->has_failed(several_->watch.best());
  if (failed && none_serves) teller.told_that_none_serves(change->path);
  set_.tell_path_change(peer_, {.path = path.transport,
                                .taken = none_serves ? nullptr : best_.transport,
                                .none_serves = teller.tells_that_none_serves(none_serves),
                                .end = path.end,
                                .taken_end = best_.end,
                                .cause = change->cause,
                                .told_by = link != nullptr ? link->told_by(path.end) : nullptr,
                                .waited = change->waited,
                                .idle = change->idle,
                                .untold = change->untold});
}

std::vector<PathStatus> PeerChannel::path_statuses() const {
  std::vector<PathStatus> statuses;
  for (unsigned number = 0; number != reliable_.paths(); ++number) {
    const PathTraffic& traffic = reliable_.traffic(number);
    statuses.push_back({.transport = several_ != nullptr ? several_->paths[number].transport : best_.transport,
                        .end = several_ != nullptr ? several_->paths[number].end : best_.end,
                        .in_use = several_ == nullptr || several_->watch.best() == number,
                        .is_there = several_ == nullptr || several_->watch.is_there(number),
                        .silent_since = several_ != nullptr && several_->watch.is_silent(number)
                                            ? several_->teller.silent_since(number)
                                            : 0,
                        .round_trip = reliable_.round_trip(number).smoothed(),
                        .packets = traffic.packets,
                        .bytes = traffic.bytes,
                        .again = traffic.again,
                        .lost = traffic.lost,
                        .failures = several_ != nullptr ? several_->teller.failures(number) : 0});
  }
  return statuses;
}

void PeerChannel::probe() {
  if (!all_acknowledged() || !reliable_.has_room()) return;
  std::byte* buffer = take_buffer();
  if (buffer == nullptr) return;
  reliable_.queue(buffer, 0, 0);
  set_.activate(*this);
}

// False: the window is closed.
bool PeerChannel::close_open_packet() {
  if (!reliable_.has_room()) return false;
  reliable_.queue(open_, open_length_, 0);
  open_ = nullptr;
  return true;
}

unsigned PeerChannel::transmit(Nanoseconds now) {
  unsigned sent = 0;
  if (open_ != nullptr) {
    if (reliable_.may_pass()) {
      sent += send_open_packet(now);
    } else {
      close_open_packet();
    }
  }
  if (reliable_.has_transmissions()) sent += send_queued(now);
  if (answers_ != 0) [[unlikely]]
    sent += answer_probes(now);
  if (several_ != nullptr) {
    if (now >= several_->watch.next_probe()) sent += probe_silent(now);
    if (now >= several_->comparison.due()) [[unlikely]]
      sent += several_->compare(reliable_, now);
  }
  if (addresses_ != nullptr && now >= addresses_->due()) [[unlikely]]
    sent += set_.send_addresses(*this, now);
  if (reliable_.ack_due(now) && send_acknowledgement(now)) ++sent;
  return sent;
}

// What most sends come to: a packet that nothing waits in front of. Answers how many have left: 0 when the transport
// is full, and then it waits like any other.
unsigned PeerChannel::send_open_packet(Nanoseconds now) {
  const std::span<std::byte> bytes = reliable_.address(open_, open_length_, now);
  const ConstBuffer piece{bytes.data(), bytes.size()};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(piece.length)};
  const bool taken = best_.transport->send_burst(best_.end, {&packet, 1}) != 0;
  std::byte* const buffer = std::exchange(open_, nullptr);
  if (taken) {
    reliable_.passed(buffer, open_length_, bytes.data(), now);
  } else {
    reliable_.queue(buffer, open_length_, 0);
  }
  return taken ? 1 : 0;
}

unsigned PeerChannel::send_queued(Nanoseconds now) {
  if (reliable_.is_striped()) return send_striped(now);
  unsigned sent = 0;
  do {
    std::array<Transmission, tuning::kSendBurst> burst;
    const std::size_t count = reliable_.collect(now, burst);
    const std::size_t taken = best_.transport->send_burst(best_.end, OutgoingBurst({burst.data(), count}).packets());
    reliable_.commit(std::span(burst.data(), taken), now);
    sent += static_cast<unsigned>(taken);
    if (taken != count || count == 0) break;
  } while (reliable_.has_transmissions());
  return sent;
}

// Over all paths that serve, some packets at a time over the one that brings them to the peer first.
unsigned PeerChannel::send_striped(Nanoseconds now) {
  unsigned sent = 0;
  std::uint32_t full = 0;
  for (unsigned number; (number = reliable_.next_path(full)) != PathStates::kNone;) {
    reliable_.use_path(number);
    std::array<Transmission, tuning::kSendBurst> burst;
    const std::size_t count = reliable_.collect(now, std::span(burst).first(reliable_.packets_in_turn()));
    if (count == 0) break;
    const PeerPath& path = several_->paths[number];
    const std::size_t taken = path.transport->send_burst(path.end, OutgoingBurst({burst.data(), count}).packets());
    reliable_.commit(std::span(burst.data(), taken), now);
    sent += static_cast<unsigned>(taken);
    if (taken != count) full |= 1u << number;
  }
  several_->watch.prefer(reliable_.quickest_path());
  use_best();
  return sent;
}

void PeerChannel::acknowledge_now(Nanoseconds now) {
  if (reliable_.ack_owed()) send_acknowledgement(now);
}

bool PeerChannel::send_acknowledgement(Nanoseconds now) {
  alignas(8) std::array<std::byte, wire::kLongestAck> bytes;
  const ConstBuffer piece{bytes.data(), reliable_.encode_ack(bytes.data(), now)};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(piece.length)};
  std::size_t sent = 0;
  for (std::uint32_t paths = paths_for_acknowledgement(reliable_, several_.get()); paths != 0; paths &= paths - 1) {
    const PeerPath& over = path(static_cast<unsigned>(std::countr_zero(paths)));
    sent += over.transport->send_burst(over.end, {&packet, 1});
  }
  if (several_ != nullptr && several_->from_other_end()) [[unlikely]] {
    const PeerPath& from = several_->ends[several_->arrived_over].at(several_->arrived_from);
    sent += from.transport->send_burst(from.end, {&packet, 1});
  }
  if (sent == 0) return false;
  context_.counters.packets_sent += sent - 1;
  reliable_.ack_sent();
  return true;
}

// Where there is no room nothing is kept: the peer's next packet brings it about again.
void PeerChannel::tell_version(Epoch peer_epoch, bool wants_answer) {
  wire::PacketHeader header;
  header.instance = context_.instance;
  header.source = context_.self;
  header.destination = peer_;
  header.source_epoch = context_.epoch;
  header.destination_epoch = peer_epoch;
  alignas(8) std::array<std::byte, wire::kPacketHeaderSize> bytes;
  wire::encode_version_packet(context_.job_key, header, wants_answer, bytes.data());
  const ConstBuffer piece{bytes.data(), bytes.size()};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(bytes.size())};
  context_.counters.packets_sent += best_.transport->send_burst(best_.end, {&packet, 1});
}

void PeerChannel::ask_version(Epoch peer_epoch) {
  const Nanoseconds now = set_.now();
  if (foreign_.asked_version != 0 && now - foreign_.asked_version < tuning::kVersionQuestionPause) return;
  foreign_.asked_version = now;
  tell_version(peer_epoch, true);
}

void PeerChannel::close() {
  reset();
  set_.forget(*this);
  closed_ = true;
}

void PeerChannel::begin_anew() {
  reset();
  reliable_.begin_anew();
}

void PeerChannel::reset() {
  drop_open_packet();
  answers_ = 0;
  if (several_ != nullptr) {
    for (unsigned number = 0; number != reliable_.paths(); ++number) several_->lead(number, PathEnds::kHome, 0);
    several_->watch = PathWatch(reliable_.paths());
    several_->teller.begin_anew();
    several_->comparison.forget();
    use_best();
  }
  reliable_.abandon();
  if (several_ != nullptr) look_at_links(set_.now());
  set_.tell_addresses_anew(*this);
  CompletedPacket forgotten;
  while (reliable_.take_completed(forgotten)) {
  }
}

}  // namespace openlapi
