// The words by which the two ends of a ring in memory agree whether it may be written. They lie in the sender's memory:
// the receiver writes and reads them by RDMA through its end of the same connection, so nobody at the sender has to
// look for the receiver to go to sleep.
//
// A receiver that sleeps waits for an event, and an RDMA WRITE makes none. So it closes its rings before it sleeps, and
// a closed ring's sender sends packets through the connection as without a ring, which make events. Who is first is
// decided as two neighbours do it (Dekker):
//
//   sender                                  receiver
//   written = n + 1                         RDMA WRITE: state = closed
//   fence                                   RDMA READ of written, on the same connection: behind the write
//   state is open: RDMA WRITE of slot n     until it has taken as many packets: it does not sleep, and looks again
//   else: written = n again, and a send     then it asks for events, looks once more for sends, and sleeps
//
// If the sender has seen `open`, its count was visible before the receiver's write was, so the receiver's read has it:
// the receiver knows of a slot that is still on its way, and waits for it. If the read does not have it, the sender
// sees `closed`, and sends. tests/models/ring_sleep.pml tries all orders. A sender that is killed between the two, or
// has been stopped there, leaves a count without a slot. The receiver does not sleep then, but polls and yields, until
// the slot comes or the connection ends; after a second it ends that itself (ArrivalRings::overdue()).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace openlapi::verbs {

enum class RingState : std::uint32_t { open = 0, closed = 1, given_back = 2 };

// What the receiver writes, in one piece.
struct RingNews {
  std::uint32_t taken = 0;  // packets, lower 32 bits
  std::uint32_t state = 0;  // RingState
};

struct RingControl {
  std::atomic<std::uint32_t> taken;  // RingNews
  std::atomic<std::uint32_t> state;
  alignas(64) std::atomic<std::uint64_t> written;  // packets; by the sender
  std::byte unused[56];
};

inline constexpr std::size_t kRingsOfConnection = 32;  // one after another; each has words of its own

// Where the sender's words are, or the receiver's slots, for the other end.
struct RingPlace {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

static_assert(sizeof(RingControl) == 128 && offsetof(RingControl, written) == 64);
static_assert(offsetof(RingControl, taken) == 0 && offsetof(RingControl, state) == 4 && sizeof(RingNews) == 8);

}  // namespace openlapi::verbs
