// What this task keeps because of what a peer has sent: messages that are not complete or that a header handler has
// refused, answers for which there was no room, fences to answer. A correct peer never comes near the limits; a faulty
// one must not use up all memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "dataplane/tuning.h"

namespace openlapi {

struct KeptForPeer {
  std::size_t things = 0;
  std::uint64_t bytes = 0;

  bool has_room(std::uint64_t more) const {
    return things < tuning::kMostThingsOfPeer && bytes <= tuning::kMostBytesOfPeer &&
           more <= tuning::kMostBytesOfPeer - bytes;
  }
};

// One such thing, counted as long as this object exists. The peer outlives it.
class KeptShare {
 public:
  KeptShare() = default;
  KeptShare(KeptForPeer& all, std::uint64_t bytes) : all_(&all), bytes_(bytes) {
    ++all.things;
    all.bytes += bytes;
  }
  KeptShare(KeptShare&& other) noexcept : all_(std::exchange(other.all_, nullptr)), bytes_(other.bytes_) {}
  KeptShare& operator=(KeptShare&& other) noexcept {
    std::swap(all_, other.all_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  bool counts() const { return all_ != nullptr; }
  ~KeptShare() {
    if (all_ == nullptr) return;
    --all_->things;
    all_->bytes -= bytes_;
  }

 private:
  KeptForPeer* all_ = nullptr;  // null: nothing is counted
  std::uint64_t bytes_ = 0;
};

}  // namespace openlapi
