// What a task says of its own adapters in a PMIx event: which of them have a link, and which have none any more.
//
// The event's one byte object: a byte with the version, a byte with the number of words, and for each word the
// adapter's address (an IPv6 address or a GID; an IPv4 address as ::ffff:a.b.c.d) and a byte, 1: it has a link, or 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/byte_codec.h"

namespace openlapi {

using AdapterAddress = std::array<std::uint8_t, 16>;

struct AdapterWord {
  AdapterAddress address{};
  bool is_up = false;
  bool operator==(const AdapterWord&) const = default;
};

struct AdapterEvent {
  static constexpr int kCode = -3485;  // below PMIX_EXTERNAL_ERR_BASE; PMIx has none for adapters
  static constexpr const char* kKey = "openlapi.adapters";
  static constexpr std::uint8_t kVersion = 1;
  static constexpr std::size_t kMostWords = 64;
  std::vector<AdapterWord> words{};  // at least one
  bool operator==(const AdapterEvent&) const = default;
};

inline std::vector<std::uint8_t> encode(const AdapterEvent& event) {
  std::vector<std::uint8_t> bytes;
  bytes.push_back(AdapterEvent::kVersion);
  bytes.push_back(static_cast<std::uint8_t>(event.words.size()));
  for (const AdapterWord& word : event.words) {
    bytes.insert(bytes.end(), word.address.begin(), word.address.end());
    bytes.push_back(word.is_up ? 1 : 0);
  }
  return bytes;
}

// Nothing: no such event.
inline std::optional<AdapterEvent> decode_adapter_event(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes);
  AdapterEvent event;
  if (reader.byte() != AdapterEvent::kVersion) return std::nullopt;
  const std::size_t count = reader.byte();
  if (count == 0 || count > AdapterEvent::kMostWords) return std::nullopt;
  for (std::size_t n = 0; n < count; ++n) {
    const auto address = reader.take(sizeof(AdapterAddress));
    const std::uint8_t is_up = reader.byte();
    if (reader.failed() || is_up > 1) return std::nullopt;
    AdapterWord& word = event.words.emplace_back();
    for (std::size_t at = 0; at < address.size(); ++at) word.address[at] = address[at];
    word.is_up = is_up != 0;
  }
  return reader.left() == 0 ? std::optional(event) : std::nullopt;
}

}  // namespace openlapi
