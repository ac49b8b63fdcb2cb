// An adapter that reads a few bytes of other tasks of one process without their help: a test says whether it can, when
// its reads end and how.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "dataplane/transport/one_sided_memory.h"

namespace openlapi {

class ScriptedOneSidedMemory final : public OneSidedMemory {
 public:
  struct Read {
    PeerIndex peer;
    std::uint64_t address;
    std::size_t length;
    std::uint32_t token;
  };

  // What a test sets.
  bool reaches = true;
  bool holds_endings = false;  // they come by end() alone; else at the next step

  // What it sees.
  std::vector<Read> under_way;
  unsigned begun = 0;
  unsigned asked = 0;  // begun or not
  std::vector<PeerIndex> parted, resumed;

  // The read at this place of under_way is over.
  void end(std::size_t place, bool done) {
    const Read read = under_way.at(place);
    under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(place));
    std::vector<std::byte> data(done ? read.length : 0);
    if (done) {
      std::memcpy(data.data(), reinterpret_cast<const void*>(static_cast<std::uintptr_t>(read.address)), read.length);
    }
    ended_.push_back({read.token, std::move(data)});
  }

  bool begin_get(PeerIndex peer, std::uint64_t address, std::size_t length, std::uint32_t token) override {
    ++asked;
    if (!reaches) return false;
    under_way.push_back({peer, address, length, token});
    ++begun;
    return true;
  }
  bool take_ending(Ending& ending) override {
    if (!holds_endings && !under_way.empty()) end(0, true);
    if (ended_.empty()) return false;
    latest_ = std::move(ended_.front());
    ended_.erase(ended_.begin());
    ending = {latest_.token, latest_.data.empty() ? nullptr : latest_.data.data()};
    return true;
  }
  void part_from(PeerIndex peer) override { parted.push_back(peer); }
  void resume(PeerIndex peer) override { resumed.push_back(peer); }

 private:
  struct Ended {
    std::uint32_t token;
    std::vector<std::byte> data;
  };
  std::vector<Ended> ended_;
  Ended latest_{};
};

}  // namespace openlapi
