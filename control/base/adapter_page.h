// The network availability matrix for the tasks of a node, in a file that its daemon writes and they have mapped:
// whether something has changed is told by one word, without a system call.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace openlapi {

// An address of an adapter of the universe.
struct AdapterPlace {
  std::uint32_t node = 0;
  std::uint8_t is_up = 0;
  std::uint8_t is_port = 0;  // of an RDMA device
  std::uint8_t length = 0;   // of the address: 4 or 16
  std::uint8_t prefix = 0;   // bits of its network
  std::array<std::uint8_t, 16> address{};
  bool operator==(const AdapterPlace&) const = default;
};
static_assert(sizeof(AdapterPlace) == 24 && std::is_trivially_copyable_v<AdapterPlace>);

// The same for 32-bit and 64-bit tasks.
struct AdapterPage {
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::size_t kMostPlaces = 16384;  // what is beyond is not shown
  static constexpr std::size_t kWords = sizeof(AdapterPlace) / sizeof(std::uint32_t);
  using Word = std::atomic<std::uint32_t>;

  std::uint32_t version;
  Word changes;  // odd: it is being written
  Word count;
  std::uint32_t unused;
  Word places[kMostPlaces][kWords];
};
static_assert(sizeof(AdapterPage) == 16 + 24 * AdapterPage::kMostPlaces && std::is_standard_layout_v<AdapterPage>);
static_assert(AdapterPage::Word::is_always_lock_free);

}  // namespace openlapi
