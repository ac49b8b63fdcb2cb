// What is known of a transport's links from outside of the traffic: the kernel's, the driver's or a daemon's word.
#pragma once

#include <atomic>
#include <cstdint>

#include "dataplane/transport/packet.h"

namespace openlapi {

// It may be late, or wrong: whoever asks goes on trying what is said to be down.
class LinkStatus {
 public:
  // Counts the changes of what words_against() may say. The word, which several transports may share, stays as long as
  // the transport.
  virtual const std::atomic<std::uint32_t>& changes() const = 0;

  // Takes in what is new. Never blocks; may cost a system call.
  virtual void look() = 0;

  // Nobody has told yet where the peer is. Such a path is not there, and has not failed.
  static constexpr std::uint32_t kNotThereYet = 1u << 31;

  // Who says that packets do not get from here to the peer, a bit for each, or kNotThereYet; 0: nobody. What one of
  // them says anew is news also where another one, who may be wrong, has said so long before.
  virtual std::uint32_t words_against(PeerIndex peer) const = 0;
  // Whether packets get there, as far as anybody has told; true where nobody has.
  bool reaches(PeerIndex peer) const { return words_against(peer) == 0; }

  // Who says that it is not, if that is somebody else than the system here; a constant text for people. Null: nobody.
  virtual const char* told_by(PeerIndex peer) const = 0;

  // The traffic has shown that nothing comes through to the peer: whoever can looks into it. Never blocks.
  virtual void path_failed(PeerIndex peer) = 0;

 protected:
  ~LinkStatus() = default;
};

}  // namespace openlapi
