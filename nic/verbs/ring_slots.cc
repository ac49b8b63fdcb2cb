#include "nic/verbs/ring_slots.h"

#include <atomic>
#include <bit>
#include <cstring>

#include "dataplane/base/check.h"

namespace openlapi::verbs {
namespace {

constexpr std::size_t kLength = kRingSlotBytes - 16;
constexpr std::size_t kCheck = kRingSlotBytes - 12;
constexpr std::size_t kSequence = kRingSlotBytes - 8;
constexpr std::size_t kWord = 8;

static_assert(kLength == kLongestInRing && kRingBytes == 4096);
static_assert(std::endian::native == std::endian::little, "a ring's words are stored as they are");

constexpr std::size_t whole_words(std::size_t length) { return (length + kWord - 1) / kWord * kWord; }

std::uint64_t sequence_of(std::uint32_t epoch, std::uint64_t number) {
  return std::uint64_t{epoch} << 32 | static_cast<std::uint32_t>(number);
}

// `bytes`: whole words. Each one changes the sum as a whole, so bytes of an earlier lap among them show.
std::uint32_t hash(const std::byte* bytes, std::size_t length, std::uint64_t sequence) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  std::uint64_t sum = (sequence ^ length) * kFactor;
  for (std::size_t at = 0; at < length; at += kWord) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, kWord);
    sum = (std::rotl(sum, 29) ^ word) * kFactor;
  }
  return static_cast<std::uint32_t>(sum >> 32);
}

}  // namespace

void SlotWriter::compose(const OutgoingPacket& packet, SlotImage& image) const {
  OPENLAPI_CHECK(packet.length <= kLongestInRing);
  image.begin = kLength - whole_words(packet.length);
  image.place = written_ % kRingSlots * kRingSlotBytes + image.begin;
  std::byte* const end = copy_pieces(image.bytes.data() + image.begin, packet.pieces);
  std::memset(end, 0, static_cast<std::size_t>(image.bytes.data() + kLength - end));
  const std::uint64_t sequence = sequence_of(epoch_, written_);
  const std::uint32_t check = hash(image.bytes.data() + image.begin, packet.length, sequence);
  std::memcpy(&image.bytes[kLength], &packet.length, sizeof packet.length);
  std::memcpy(&image.bytes[kCheck], &check, sizeof check);
  std::memcpy(&image.bytes[kSequence], &sequence, sizeof sequence);
}

// Acquire: the adapter has placed the packet before this word. Its writes are coherent with loads, as all of its are.
std::uint64_t SlotReader::sequence() const {
  const auto* const word = reinterpret_cast<const std::uint64_t*>(slot() + kSequence);
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

std::uint64_t SlotReader::awaited() const { return sequence_of(epoch_, taken_); }

// What the peer may change meanwhile is copied before it is looked at.
std::uint32_t SlotReader::take(std::byte* out) {
  if (!shows()) return kNothing;
  std::uint32_t length = 0, check = 0;
  std::memcpy(&length, slot() + kLength, sizeof length);
  std::memcpy(&check, slot() + kCheck, sizeof check);
  if (length > kLongestInRing) return kNothing;
  const std::size_t words = whole_words(length);
  std::memcpy(out, slot() + kLength - words, words);
  if (check != hash(out, length, awaited())) return kNothing;
  ++taken_;
  return length;
}

}  // namespace openlapi::verbs
