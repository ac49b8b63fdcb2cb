// What one end of a job, lapirun or the helper of a node, tells the other and is told, counted: a connection that takes
// the place of a lost one goes on where that ended, and nothing is lost or comes twice. Passive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "control/daemon/messages/message_fields.h"

namespace openlapi::jobs {

class CountedMessages {
 public:
  // Kept until the other end has confirmed it.
  void sent(daemon::MessageBytes body);
  // The other end has taken so many in all; what cannot be is as if nothing had been said.
  void confirm(std::uint64_t taken);
  // What a new connection begins with, in this order.
  const std::deque<daemon::MessageBytes>& unconfirmed() const { return unconfirmed_; }

  // A message has come. True: it is time to confirm.
  bool took(std::size_t bytes);
  std::uint64_t taken() const { return taken_; }

 private:
  std::deque<daemon::MessageBytes> unconfirmed_{};
  std::uint64_t confirmed_ = 0;
  std::uint64_t taken_ = 0;
  std::size_t messages_since_ = 0, bytes_since_ = 0;  // the last time to confirm
};

}  // namespace openlapi::jobs
