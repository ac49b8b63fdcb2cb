#include "nic/verbs/connection_message.h"

#include <algorithm>
#include <string>

#include "dataplane/base/little_endian.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint8_t kMessageVersion = 2;
constexpr std::size_t kAddress = 24;
constexpr std::uint32_t kMost24Bits = 0xffffff;

constexpr std::uint8_t kLastKind = 7;
constexpr std::uint8_t kLastPurpose = 2;

static_assert(kAddress + kAddressLength == kConnectionMessageLength);

bool may_have_key(const ConnectionMessage& message) {
  return message.kind == ConnectionMessage::Kind::accept && message.purpose == ConnectionMessage::Purpose::one_sided;
}

bool decode_ring(std::span<const std::byte> bytes, ConnectionMessage& message) {
  message.ring = std::to_integer<std::uint8_t>(bytes[2]);
  message.place = {.address = load_little<std::uint64_t>(&bytes[8]), .key = load_little<std::uint32_t>(&bytes[4])};
  if (message.purpose != ConnectionMessage::Purpose::packets || message.ring >= kRingsOfConnection) return false;
  if (message.kind == ConnectionMessage::Kind::ring_refuse) return message.place.address == 0 && message.place.key == 0;
  return message.place.address != 0 && message.place.address % 8 == 0;
}

bool decode_connection(std::span<const std::byte> bytes, ConnectionMessage& message) {
  message.key = load_little<std::uint32_t>(&bytes[12]);
  if (message.key != 0 && !may_have_key(message)) return false;
  message.reads = std::to_integer<std::uint8_t>(bytes[2]);
  message.queue_pair = load_little<std::uint32_t>(&bytes[4]);
  message.first_packet = load_little<std::uint32_t>(&bytes[8]);
  if (message.queue_pair > kMost24Bits || message.first_packet > kMost24Bits) return false;
  const bool connects =
      message.kind == ConnectionMessage::Kind::request || message.kind == ConnectionMessage::Kind::accept;
  return !connects || (message.queue_pair >= 2 && message.reads != 0);
}

}  // namespace

std::array<std::byte, kConnectionMessageLength> encode(const ConnectionMessage& message) {
  std::array<std::byte, kConnectionMessageLength> bytes{};
  bytes[0] = std::byte{kMessageVersion};
  bytes[1] = static_cast<std::byte>(message.kind);
  bytes[3] = static_cast<std::byte>(message.purpose);
  if (message.is_of_ring()) {
    bytes[2] = static_cast<std::byte>(message.ring);
    store_little(&bytes[4], message.place.key);
    store_little(&bytes[8], message.place.address);
  } else {
    bytes[2] = static_cast<std::byte>(message.reads);
    store_little(&bytes[4], message.queue_pair);
    store_little(&bytes[8], message.first_packet);
    store_little(&bytes[12], message.key);
  }
  store_little(&bytes[16], message.connection);
  const PeerAddress address = encode(message.address);
  std::copy_n(address.bytes.begin(), kAddressLength, bytes.begin() + kAddress);
  return bytes;
}

bool decode(std::span<const std::byte> bytes, ConnectionMessage& message) {
  if (bytes.size() != kConnectionMessageLength || bytes[0] != std::byte{kMessageVersion}) return false;
  const auto kind = std::to_integer<std::uint8_t>(bytes[1]);
  const auto purpose = std::to_integer<std::uint8_t>(bytes[3]);
  if (kind < 1 || kind > kLastKind || purpose > kLastPurpose) return false;
  message = {};
  message.kind = static_cast<ConnectionMessage::Kind>(kind);
  message.purpose = static_cast<ConnectionMessage::Purpose>(purpose);
  message.connection = load_little<std::uint64_t>(&bytes[16]);
  if (!(message.is_of_ring() ? decode_ring(bytes, message) : decode_connection(bytes, message))) return false;
  PeerAddress address;
  address.length = kAddressLength;
  std::copy_n(bytes.begin() + kAddress, kAddressLength, address.bytes.begin());
  std::string ignored;
  return decode(address, message.address, ignored);
}

}  // namespace openlapi::verbs
