// How transports with several ports find out which of them leads to a peer: a question and its answer, in frames as
// packets have (ethernet_frame.h) but for their mark, so that isolated ports bring them, too, whose flow rules leave
// all ARP to the kernel.
//
//   offset  bytes  (numbers are big-endian)
//   0       48     as of a packet, with kPathMark; UDP's checksum is 0 (none)
//   48      1      1: a question, 2: an answer
//   49      3      0
//   52      4      the sender's token, by which the receiver knows the peer, and answers
//   56      4      0: padding
//
// Who asks can reach the peer by the way that the question has taken, backwards.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "nic/dpdk/ethernet_frame.h"

namespace openlapi::dpdk {

struct PathMessage {
  bool question = false;  // otherwise an answer
  FrameEnd sender;        // without its VLAN
};

using PathFrame = std::array<std::byte, kShortestFrame>;

// The whole frame, without a tag. `to` may have the hardware address of everybody.
PathFrame make_path_frame(const FrameEnd& own, const FrameEnd& to, const FrameMarks& marks, bool question);

// Of a frame that parse_frame() sees as a FrameKind::path. False: it is no message of this form.
bool parse_path_frame(std::span<const std::byte> frame, const FrameView& view, PathMessage& message);

}  // namespace openlapi::dpdk
