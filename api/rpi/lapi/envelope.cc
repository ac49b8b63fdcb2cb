#include "api/rpi/lapi/envelope.h"

#include "api/rpi/include/lam_mpi.h"
#include "dataplane/base/little_endian.h"

namespace openlapi::rpi {
namespace {

constexpr std::size_t kLeavesSize = 8, kAnswerSize = 16, kShortSize = 20, kSynchronousSize = 28;

// 0: there is no such kind.
std::size_t size_of(EnvelopeKind kind) {
  switch (kind) {
    case EnvelopeKind::short_message:
      return kShortSize;
    case EnvelopeKind::synchronous:
      return kSynchronousSize;
    case EnvelopeKind::long_message:
      return kMostEnvelope;
    case EnvelopeKind::matched:
    case EnvelopeKind::fetched:
      return kAnswerSize;
    case EnvelopeKind::leaves:
      return kLeavesSize;
  }
  return 0;
}

// Of lengths st_length is an int; addresses do not wrap round.
bool is_possible(const Envelope& envelope) {
  if (envelope.is_answer()) return envelope.sequence == 0 && envelope.request != 0;
  if (envelope.kind == EnvelopeKind::leaves) return true;
  if (envelope.tag == MPI_ANY_TAG) return false;
  if (envelope.kind == EnvelopeKind::short_message) return true;
  if (envelope.request == 0) return false;
  if (envelope.kind == EnvelopeKind::synchronous) return true;
  return envelope.length >= 1 && envelope.length <= INT32_MAX && envelope.address <= UINT64_MAX - envelope.length;
}

template <class Number>
void take(std::span<const std::byte> header, std::size_t place, Number& number) {
  number = load_little<Number>(header.data() + place);
}

}  // namespace

std::span<const std::byte> encode(const Envelope& envelope, std::span<std::byte, kMostEnvelope> room) {
  std::byte* place = room.data();
  store_little(place, std::uint8_t{kEnvelopeVersion});
  store_little(place + 1, static_cast<std::uint8_t>(envelope.kind));
  store_little(place + 2, static_cast<std::uint16_t>(envelope.rank));
  store_little(place + 4, envelope.sequence);
  if (envelope.kind == EnvelopeKind::leaves) return room.first(kLeavesSize);
  if (envelope.is_answer()) {
    store_little(place + 8, envelope.request);
    return room.first(kAnswerSize);
  }
  store_little(place + 8, static_cast<std::uint32_t>(envelope.context));
  store_little(place + 12, static_cast<std::uint32_t>(envelope.tag));
  store_little(place + 16, static_cast<std::uint32_t>(envelope.number));
  if (envelope.kind == EnvelopeKind::short_message) return room.first(kShortSize);
  store_little(place + 20, envelope.request);
  store_little(place + 28, envelope.address);
  store_little(place + 36, envelope.length);
  return room.first(size_of(envelope.kind));
}

std::optional<Envelope> decode_envelope(std::span<const std::byte> header) {
  if (header.size() < kLeavesSize || load_little<std::uint8_t>(header.data()) != kEnvelopeVersion) return {};
  Envelope envelope;
  envelope.kind = static_cast<EnvelopeKind>(load_little<std::uint8_t>(header.data() + 1));
  if (header.size() != size_of(envelope.kind)) return {};
  const auto rank = load_little<std::uint16_t>(header.data() + 2);
  take(header, 4, envelope.sequence);
  if (header.size() >= kShortSize) {
    envelope.rank = rank;
    take(header, 8, envelope.context);
    take(header, 12, envelope.tag);
    take(header, 16, envelope.number);
  } else if (rank != 0) {
    return {};
  }
  if (header.size() == kAnswerSize) take(header, 8, envelope.request);
  if (header.size() >= kSynchronousSize) take(header, 20, envelope.request);
  if (header.size() == kMostEnvelope) {
    take(header, 28, envelope.address);
    take(header, 36, envelope.length);
  }
  if (!is_possible(envelope)) return {};
  return envelope;
}

}  // namespace openlapi::rpi
