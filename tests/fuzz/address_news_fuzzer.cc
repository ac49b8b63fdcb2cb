// Arbitrary bytes to the decoder of what tasks tell each other of changed addresses: what it accepts must be encoded as
// something that it takes for the same.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/check.h"
#include "dataplane/paths/address_exchange.h"

using openlapi::AddressNews;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  AddressNews news;
  if (!news.decode({reinterpret_cast<const std::byte*>(data), size})) return 0;
  std::array<std::byte, AddressNews::kMostBytes> bytes;
  const std::size_t length = news.encode(bytes);
  OPENLAPI_CHECK(length <= size);
  AddressNews again;
  OPENLAPI_CHECK(again.decode({bytes.data(), length}));
  OPENLAPI_CHECK(again.changes == news.changes && again.taken == news.taken);
  OPENLAPI_CHECK(again.addresses.size() == news.addresses.size());
  for (std::size_t i = 0; i != news.addresses.size(); ++i) {
    OPENLAPI_CHECK(again.addresses[i].published == news.addresses[i].published);
    OPENLAPI_CHECK(again.addresses[i].present == news.addresses[i].present);
  }
  return 0;
}
