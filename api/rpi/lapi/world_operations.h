// What an EndpointWorld begins at its endpoint, and whom it tells of the end.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "api/rpi/lapi/world.h"
#include "dataplane/base/little_endian.h"
#include "dataplane/host/handler_host.h"

namespace openlapi::rpi {

struct SentMessage {
  std::span<const std::byte> header, data;
  WhenDone when_sent{};
};

struct Reading {
  std::uint64_t remote = 0;
  std::span<std::byte> local{};
  WhenDone when_here{};
};

// A message or reading for which there was no room yet.
struct Waiting {
  explicit Waiting(const SentMessage& from)
      : header_length(from.header.size()), message{{}, from.data, from.when_sent} {
    std::ranges::copy(from.header, header.begin());
  }
  explicit Waiting(const Reading& from) : reads(true), reading(from) {}

  std::span<const std::byte> header_bytes() const { return std::span(header).first(header_length); }
  const WhenDone& when_done() const { return reads ? reading.when_here : message.when_sent; }

  bool reads = false;
  std::array<std::byte, World::kMostHeader> header{};
  std::size_t header_length = 0;
  SentMessage message{};
  Reading reading{};
};

inline void call(const WhenDone& when_done, Outcome outcome) {
  if (when_done.function != nullptr) when_done.function(when_done.argument, outcome);
}

// As the endpoint keeps it.
inline HandlerCall handler_of(const WhenDone& when_done) {
  return {reinterpret_cast<void*>(when_done.function), when_done.argument};
}

inline void call(const HandlerCall& handler, Outcome outcome) {
  call(WhenDone{reinterpret_cast<void (*)(void*, Outcome)>(handler.function), handler.info}, outcome);
}

// All messages have one handler, so that its number can be the first word of the header: with it, what comes with 8
// bytes of data fits into one slot of shared memory.
inline constexpr std::size_t kFirstWord = sizeof(std::uint32_t);

inline std::uint32_t first_word_of(std::span<const std::byte> header) {
  return load_little<std::uint32_t>(header.data());
}

// Of a message that has come.
class WholeHeader {
 public:
  explicit WholeHeader(const ArrivedMessage& message)
      : length_(kFirstWord + std::min<std::size_t>(message.user_header_length, World::kMostHeader - kFirstWord)) {
    store_little(bytes_.data(), static_cast<std::uint32_t>(message.handler));
    std::memcpy(bytes_.data() + kFirstWord, message.user_header, length_ - kFirstWord);
  }

  std::span<const std::byte> bytes() const { return std::span(bytes_).first(length_); }

 private:
  const std::size_t length_;
  std::array<std::byte, World::kMostHeader> bytes_;
};

}  // namespace openlapi::rpi
