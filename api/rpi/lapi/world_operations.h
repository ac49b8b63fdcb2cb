// What an EndpointWorld begins at its endpoint, and whom it tells of the end.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "api/rpi/lapi/world.h"
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
  explicit Waiting(const SentMessage& from) : header_length(from.header.size()), message{{}, from.data, from.when_sent} {
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

}  // namespace openlapi::rpi
