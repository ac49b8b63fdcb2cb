// Packets that are being sent: a chain of send requests for one burst, and slots of registered memory for those packets
// that the queue pair does not copy itself.
//
// Every request has a number that is never reused. Only every kSignalEvery-th one asks for a completion, which also
// tells that all requests before it are done. Short packets go inline: the driver copies their pieces and no slot is
// touched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/transport/packet.h"
#include "nic/verbs/registered_memory.h"

namespace openlapi::verbs {

// Where datagrams go; for packets of a connection only the length matters.
struct Destination {
  ibv_ah* handle = nullptr;
  std::uint32_t queue_pair = 0;
  std::uint32_t qkey = 0;
  std::uint32_t max_packet = 0;  // bytes; the smaller of both ends' MTUs
};

class SendRing {
 public:
  static constexpr std::uint32_t kMaxBurst = 64;     // requests of one chain
  static constexpr std::uint32_t kMaxPieces = 4;     // of a request
  static constexpr std::uint32_t kSignalEvery = 32;  // requests
  static constexpr std::uint32_t kFewestSlots = 2 * kSignalEvery;

  // `packet`: length of the longest packet; `first`: number of the first request, a multiple of kSignalEvery. Returns 0
  // or an errno value.
  int open(ibv_pd& domain, std::uint32_t slots, std::uint32_t packet, std::uint64_t first = 0);

  // What the queue pair has granted: the inline size, and how many pieces a request may name.
  void set_inline(std::uint32_t bytes, std::uint32_t pieces) {
    inline_bytes_ = bytes;
    inline_pieces_ = pieces < kMaxPieces ? pieces : kMaxPieces;
  }

  std::uint32_t room() const { return slots_ - static_cast<std::uint32_t>(next_ - done_); }
  bool wants_completions() const { return next_ - done_ >= slots_ / 2; }

  // Appends a request to the chain, which must have room. With an immediate value (not 0) it is not a packet of the
  // engine's.
  void append(const OutgoingPacket& packet, const Destination& destination, std::uint32_t immediate = 0);

  // append() and post() in one for a single packet, without the chain; possible for most packets. False: refused.
  bool may_go_alone(const OutgoingPacket& packet) const {
    return packet.pieces.size() == 1 && packet.length <= inline_bytes_ && packet.length != 0 && room() != 0;
  }
  bool post_alone(ibv_qp& queue_pair, const OutgoingPacket& packet, const Destination& destination);

  // Writes bytes into the peer's memory, beside the chain; there must be room. False: refused.
  bool post_write(ibv_qp& queue_pair, std::span<const std::byte> bytes, std::uint64_t address, std::uint32_t key);
  bool may_write(std::size_t bytes) const { return bytes <= inline_bytes_ && room() != 0; }

  std::uint32_t chained() const { return chained_; }

  // Posts the chain. Returns how many requests were refused; those packets are lost.
  std::uint32_t post(ibv_qp& queue_pair);

  // The request with this number is done, and all before it.
  void complete(std::uint64_t number);

  // The queue pair was reset: nothing is being sent any more. Returns how many requests never completed.
  std::uint64_t forget_posted();

  std::uint64_t next() const { return next_; }  // number of the next request
  bool is_done(std::uint64_t number) const { return number < done_; }
  std::uint64_t inline_sends() const { return inline_sends_; }

 private:
  bool post_one(ibv_qp& queue_pair, ibv_send_wr& request);
  void gather(const OutgoingPacket& packet, ibv_sge& piece);

  RegisteredMemory memory_;
  std::uint32_t slots_ = 0;
  std::size_t stride_ = 0;
  std::uint32_t inline_bytes_ = 0;
  std::uint32_t inline_pieces_ = 0;  // packets of more are gathered first
  std::uint64_t next_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t inline_sends_ = 0;
  std::uint32_t chained_ = 0;
  std::array<ibv_send_wr, kMaxBurst> requests_{};
  std::array<std::array<ibv_sge, kMaxPieces>, kMaxBurst> pieces_{};
};

}  // namespace openlapi::verbs
