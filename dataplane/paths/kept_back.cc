#include "dataplane/paths/kept_back.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "dataplane/tuning.h"

namespace openlapi {

void KeptBack::keep(const Name& name, const Transport& transport, const IncomingPacket& packet) {
  if (packets_.size() >= tuning::kMostPacketsKeptBack || bytes_ + packet.length > tuning::kMostBytesKeptBack) return;
  if (std::ranges::any_of(packets_, [&](const Packet& kept) { return kept.name == name; })) return;
  try {
    auto words = std::make_unique_for_overwrite<std::uint64_t[]>((packet.length + 7) / 8);
    IncomingPacket copy = packet;
    copy.data = reinterpret_cast<std::byte*>(words.get());
    copy.same_datagram = false;
    std::memcpy(copy.data, packet.data, packet.length);
    packets_.push_back({.name = name, .transport = &transport, .packet = copy, .words = std::move(words)});
    bytes_ += packet.length;
  } catch (const std::bad_alloc&) {
    return;  // it comes again
  }
}

}  // namespace openlapi
