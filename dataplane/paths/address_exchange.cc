#include "dataplane/paths/address_exchange.h"

#include <algorithm>
#include <cstring>

#include "dataplane/tuning.h"
#include "dataplane/wire/byte_order.h"

namespace openlapi {

namespace {

using wire::load_little_endian;
using wire::store_little_endian;

constexpr std::size_t kBegin = 8;    // both numbers
constexpr std::size_t kLengths = 8;  // of two addresses, and zeros

constexpr std::size_t room_of(std::size_t length) { return (length + 7) & ~std::size_t{7}; }

std::byte* put(std::byte* to, const PeerAddress& address) {
  std::memset(to, 0, room_of(address.length));
  std::memcpy(to, address.bytes.data(), address.length);
  return to + room_of(address.length);
}

bool take_address(std::span<const std::byte>& rest, std::size_t length, PeerAddress& address) {
  if (length == 0 || length > PeerAddress::kCapacity || rest.size() < room_of(length)) return false;
  std::copy_n(rest.begin(), length, address.bytes.begin());
  address.length = static_cast<std::uint32_t>(length);
  rest = rest.subspan(room_of(length));
  return true;
}

}  // namespace

std::size_t AddressNews::encode(std::span<std::byte, kMostBytes> out) const {
  store_little_endian(out.data(), changes);
  store_little_endian(out.data() + 4, taken);
  std::byte* at = out.data() + kBegin;
  for (const ChangedAddress& address : addresses) {
    const std::size_t bytes = kLengths + room_of(address.published.length) + room_of(address.present.length);
    if (bytes > static_cast<std::size_t>(out.data() + out.size() - at)) break;
    std::memset(at, 0, kLengths);
    at[0] = static_cast<std::byte>(address.published.length);
    at[1] = static_cast<std::byte>(address.present.length);
    at = put(put(at + kLengths, address.published), address.present);
  }
  return static_cast<std::size_t>(at - out.data());
}

bool AddressNews::decode(std::span<const std::byte> payload) {
  if (payload.size() < kBegin || payload.size() > kMostBytes) return false;
  changes = load_little_endian<std::uint32_t>(payload.data());
  taken = load_little_endian<std::uint32_t>(payload.data() + 4);
  addresses.clear();
  for (std::span<const std::byte> rest = payload.subspan(kBegin); !rest.empty();) {
    if (rest.size() < kLengths) return false;
    const auto published = std::to_integer<std::size_t>(rest[0]), present = std::to_integer<std::size_t>(rest[1]);
    rest = rest.subspan(kLengths);
    ChangedAddress address;
    if (!take_address(rest, published, address.published) || !take_address(rest, present, address.present))
      return false;
    addresses.push_back(address);
  }
  return true;
}

std::vector<ChangedAddress> OwnAddresses::changed() const {
  std::vector<ChangedAddress> all;
  for (const Known& known : known_) {
    if (known.changed) all.push_back({known.published, known.present});
  }
  return all;
}

void AddressExchange::tell(Nanoseconds now) {
  untold_ = true;
  tries_ = 0;
  pause_ = tuning::kFirstProbePause;
  next_ = now;
}

bool AddressExchange::take(const AddressNews& news, std::uint32_t own_changes, Nanoseconds now) {
  if (untold_ && news.taken == own_changes) {
    untold_ = false;
    next_ = UINT64_MAX;
  }
  if (news.addresses.empty()) return false;
  next_ = now;  // who tells waits for an answer
  if (static_cast<std::int32_t>(news.changes - taken_) <= 0) return false;
  taken_ = news.changes;
  return true;
}

void AddressExchange::sent(Nanoseconds now) {
  const bool goes_on = untold_ && ++tries_ < tuning::kMostAddressTries;
  next_ = goes_on ? now + pause_ : UINT64_MAX;
  pause_ = std::min(2 * pause_, tuning::kLongestProbePause);
}

}  // namespace openlapi
