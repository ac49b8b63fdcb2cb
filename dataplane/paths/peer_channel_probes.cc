// Probes of the paths that are silent and of the ends that they can lead to, and the answers to such.
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "dataplane/paths/channel_set.h"
#include "dataplane/paths/path_packet.h"
#include "dataplane/paths/peer_channel.h"

namespace openlapi {

// The path that serves is asked as well: whether the peer answers at all tells whether the others have failed.
unsigned PeerChannel::probe_silent(Nanoseconds now) {
  PathWatch& watch = several_->watch;
  std::uint32_t due = watch.take_due(now);
  if (due == 0) return 0;
  several_->report_failed(several_->teller.probed(due, now));
  if (now >= several_->teller.due()) tell_change(now);
  unsigned sent = 0;
  for (; due != 0; due &= due - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(due));
    std::uint32_t refused = 0;
    for (std::uint32_t ends = several_->ends_to_probe(number); ends != 0; ends &= ends - 1) {
      const auto end = static_cast<unsigned>(std::countr_zero(ends));
      const unsigned left = send_long_probe(number, end, now);
      sent += left;
      if (left == 0) refused |= 1u << end;
    }
    several_->probes_refused(number, refused, now);
  }
  if (watch.is_silent(watch.best())) return sent;
  alignas(8) std::array<std::byte, wire::kPacketHeaderSize> bytes;
  return sent + send_for_path(reliable_, best_, bytes, wire::kPacketPathProbe, now);
}

// As long as the longest packet: a path that loses those, and carries short ones, does not serve. A short one where no
// buffer is free: what holds them all may wait for this path.
unsigned PeerChannel::send_long_probe(unsigned number, unsigned end, Nanoseconds now) {
  alignas(8) std::array<std::byte, wire::kPacketHeaderSize> short_one;
  std::byte* const buffer = context_.pool->take();
  std::span<std::byte> bytes(short_one);
  if (buffer != nullptr) bytes = {buffer, wire::kPacketHeaderSize + reliable_.max_payload()};
  std::memset(bytes.data(), 0, bytes.size());
  const unsigned sent = send_for_path(reliable_, several_->ends[number].at(end), bytes, wire::kPacketPathProbe, now);
  if (buffer != nullptr) context_.pool->give_back(buffer);
  return sent;
}

unsigned PeerChannel::answer_probes(Nanoseconds now) {
  unsigned sent = 0;
  for (std::uint32_t paths = std::exchange(answers_, 0); paths != 0; paths &= paths - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(paths));
    std::uint32_t ends = several_ != nullptr ? several_->ends[number].take_probed_from() : 1;
    for (; ends != 0; ends &= ends - 1) {
      const auto end = static_cast<unsigned>(std::countr_zero(ends));
      alignas(8) std::array<std::byte, wire::kPacketHeaderSize> bytes;
      const PeerPath& to = several_ != nullptr ? several_->ends[number].at(end) : best_;
      sent += send_for_path(reliable_, to, bytes, wire::kPacketPathAnswer, now);
    }
  }
  return sent;
}

}  // namespace openlapi
