#include "nic/verbs/connection_message.h"

#include <algorithm>
#include <string>

#include "dataplane/base/little_endian.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint8_t kMessageVersion = 1;
constexpr std::size_t kAddress = 24;
constexpr std::uint32_t kMost24Bits = 0xffffff;

static_assert(kAddress + kAddressLength == kConnectionMessageLength);

}  // namespace

std::array<std::byte, kConnectionMessageLength> encode(const ConnectionMessage& message) {
  std::array<std::byte, kConnectionMessageLength> bytes{};
  bytes[0] = std::byte{kMessageVersion};
  bytes[1] = static_cast<std::byte>(message.kind);
  bytes[2] = static_cast<std::byte>(message.reads);
  bytes[3] = static_cast<std::byte>(message.purpose);
  store_little(&bytes[4], message.queue_pair);
  store_little(&bytes[8], message.first_packet);
  store_little(&bytes[16], message.connection);
  const PeerAddress address = encode(message.address);
  std::copy_n(address.bytes.begin(), kAddressLength, bytes.begin() + kAddress);
  return bytes;
}

bool decode(std::span<const std::byte> bytes, ConnectionMessage& message) {
  if (bytes.size() != kConnectionMessageLength || bytes[0] != std::byte{kMessageVersion}) return false;
  const auto kind = std::to_integer<std::uint8_t>(bytes[1]);
  const auto purpose = std::to_integer<std::uint8_t>(bytes[3]);
  if (kind < 1 || kind > 4 || purpose > 1 || load_little<std::uint32_t>(&bytes[12]) != 0) return false;
  message.kind = static_cast<ConnectionMessage::Kind>(kind);
  message.purpose = static_cast<ConnectionMessage::Purpose>(purpose);
  message.reads = std::to_integer<std::uint8_t>(bytes[2]);
  message.queue_pair = load_little<std::uint32_t>(&bytes[4]);
  message.first_packet = load_little<std::uint32_t>(&bytes[8]);
  message.connection = load_little<std::uint64_t>(&bytes[16]);
  if (message.queue_pair > kMost24Bits || message.first_packet > kMost24Bits) return false;
  const bool connects =
      message.kind == ConnectionMessage::Kind::request || message.kind == ConnectionMessage::Kind::accept;
  if (connects && (message.queue_pair < 2 || message.reads == 0)) return false;
  PeerAddress address;
  address.length = kAddressLength;
  std::copy_n(bytes.begin() + kAddress, kAddressLength, address.bytes.begin());
  std::string ignored;
  return decode(address, message.address, ignored);
}

}  // namespace openlapi::verbs
