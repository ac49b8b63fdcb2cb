// How many bytes of a packet a queue pair copies into its requests. No driver tells it beforehand: they refuse queue
// pairs that want more (96 bytes with some, 101 with others), and some do not say in errno that, or why, they refuse.
#pragma once

#include <cstdint>

#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

class InlineLimit {
 public:
  explicit InlineLimit(std::uint32_t wanted = 0) : bytes_(wanted) {}

  // Makes a queue pair with the most inline bytes that it can have, up to those wanted. After the first one of its kind
  // that takes one attempt. `wanted` gets what was granted. Null, and errno: the adapter refuses it, whatever it
  // copies.
  QueuePair make(ibv_pd& domain, ibv_qp_init_attr& wanted);

  std::uint32_t bytes() const { return bytes_; }  // to ask for

 private:
  std::uint32_t bytes_;
};

}  // namespace openlapi::verbs
