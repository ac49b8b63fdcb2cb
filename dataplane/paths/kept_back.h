// Packets that have come while their task made no calls, copied until it makes one: then they are taken as if they came
// now. Nothing has been believed of them but that they are of the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dataplane/transport/transport.h"

namespace openlapi {

class KeptBack {
 public:
  // What a packet has in common with those that bring the same again.
  struct Name {
    std::uint32_t source;
    std::uint32_t sequence;
    std::uint64_t epoch;  // of the source
    bool operator==(const Name&) const = default;
  };
  struct Packet {
    Name name;
    const Transport* transport;
    IncomingPacket packet;  // its bytes are in `words`
    std::unique_ptr<std::uint64_t[]> words;
  };

  // As lost counts what finds no room (tuning::kMostPacketsKeptBack) or no memory; of what is sent again and again, one
  // copy is kept.
  void keep(const Name& name, const Transport& transport, const IncomingPacket& packet);

  bool empty() const { return packets_.empty(); }
  // All, in the order in which they came.
  std::vector<Packet> take() {
    bytes_ = 0;
    return std::exchange(packets_, {});
  }

 private:
  std::vector<Packet> packets_;
  std::size_t bytes_ = 0;
};

}  // namespace openlapi
