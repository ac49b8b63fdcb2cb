// The floor under every UDP figure: what bare sockets do between the same two tasks in the same run.
//
// Two cooperating processes (or threads), one on each end, call the two halves of a pair at the same time with the same
// numbers. They open their sockets with open_floor_socket(), tell each other the ports by their own means, and connect
// them with connect_floor_socket(). Nothing here is global and nothing waits for ever: a peer that does not answer for
// ten seconds ends the call with `false`.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace openlapi::bench {

// A non-blocking socket bound to `address` and a free port, with a receive buffer of 4 MiB (or what the system allows).
// -1: errno says why. The caller closes it.
int open_floor_socket(in_addr address, std::uint16_t& port);
bool connect_floor_socket(int socket, in_addr address, std::uint16_t port);

// Ping-pong of `bytes` per datagram (8 .. 65507), one in flight, with plain send() and polling recv(). The initiator
// appends the half round trip of each of `iterations` in nanoseconds to `samples`, after `warm_up` unrecorded ones.
// Both sides give the same numbers. A lost datagram (rare on loopback) is sent again after 20 ms; its sample is left
// out.
struct PingPong {
  std::size_t bytes;
  unsigned warm_up;
  unsigned iterations;
};
bool udp_pingpong_initiator(int socket, const PingPong& run, std::vector<double>& samples);
bool udp_pingpong_responder(int socket, const PingPong& run);

// A stream of messages, as a program would move them: every payload is copied from a source buffer into what is sent,
// and at the receiver to its place in a buffer of the message's size. Segments of `segment` bytes go out in segmented
// calls (UDP_SEGMENT) and come in coalesced (UDP_GRO); at most `window` bytes are unacknowledged. The receiver answers
// each time half a window is there. When offload is missing the same loop works datagram by datagram. Lost segments
// are sent again from the last acknowledged byte on.
// Both buffers have `message` bytes and are used again for every message. The sender appends the nanoseconds of each of
// `messages` to `samples` (from its first byte sent to its last byte acknowledged), after one unrecorded message.
struct Stream {
  std::size_t message;                // bytes, a multiple of 8
  std::size_t segment = 8944;         // payload bytes of a datagram, which has 16 more; at most 65488
  std::size_t window = 512 * 1024;    // bytes
  unsigned messages = 16;
};
bool udp_stream_sender(int socket, const Stream& run, const std::byte* source, std::vector<double>& samples);
bool udp_stream_receiver(int socket, const Stream& run, std::byte* destination);

}  // namespace openlapi::bench
