// An address handle that a thread of its own makes: of RoCE the kernel looks for the neighbour's address meanwhile,
// which takes a second or more where nobody answers, and this task has other peers.
#pragma once

#include <cstdint>
#include <memory>

#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

class HandleInMaking {
 public:
  struct Made {
    std::shared_ptr<ibv_ah> handle;
    int error = 0;            // errno, when there is no handle
    std::uint64_t ended = 0;  // milliseconds: when the kernel said so
  };

  // Null: there is no thread to be had.
  static std::unique_ptr<HandleInMaking> begin(ibv_pd& domain, const ibv_ah_attr& route);
  // Waits for the kernel.
  virtual ~HandleInMaking() = default;

  // True: it is made, or cannot be. At most so long.
  virtual bool wait(std::uint64_t milliseconds) = 0;
  // Once, when it is.
  virtual Made take() = 0;
};

// The same by the calling thread.
HandleInMaking::Made make_handle(ibv_pd& domain, const ibv_ah_attr& route);

}  // namespace openlapi::verbs
