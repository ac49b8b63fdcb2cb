// Operations on memory of a peer that need no message: loads and stores on it, where the transport reaches it
// (transport/direct_memory.h). They are complete at their targets when the call returns, so fences need not know of
// them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "dataplane/counter/counters.h"
#include "dataplane/host/requests.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/transfer/guarded_layouts.h"
#include "dataplane/transfer/origin_notices.h"
#include "dataplane/transfer/pending_requests.h"

namespace openlapi {

class DirectOperations {
 public:
  struct Means {
    HandlerHost& host;
    Statistics& statistics;
    Counters& counters;
    PendingRequests& requests;
    OriginNotices& origins;
    const GuardedLayouts& guard;
  };
  explicit DirectOperations(const Means& means) : means_(means) {}

  // Each: false: it was not done, and takes a message. A send completion handler has run before the counter moves that
  // an answer would move.
  bool put(Peer& peer, const PutRequest& request) {
    return peer.direct_memory != nullptr && may_go(peer, request.length) && put_now(peer, request);
  }
  bool get(Peer& peer, const GetRequest& request) {
    return peer.direct_memory != nullptr && may_go(peer, request.length) && get_now(peer, request);
  }
  // False: both layouts are at their beginnings.
  bool put(Peer& peer, const LayoutPutRequest& request) {
    return peer.direct_memory != nullptr &&
           may_go(peer, std::min(request.source->total_bytes(), request.destination->total_bytes())) &&
           put_pieces_now(peer, request);
  }
  bool get(Peer& peer, const LayoutGetRequest& request) {
    return peer.direct_memory != nullptr && may_go(peer, request.source->total_bytes()) &&
           get_pieces_now(peer, request);
  }
  bool read_modify_write(Peer& peer, const RmwRequest& request) {
    return peer.direct_memory != nullptr && may_go(peer, request.width) && change_now(peer, request);
  }

 private:
  // Programs lean on the order in which they begin operations, so nothing overtakes a message that is still here. What
  // has left is the transport's to look after.
  static bool may_go(const Peer& peer, std::uint64_t length) {
    return length - 1 < DirectMemory::kMostBytes && peer.backlog.empty() && peer.outgoing.empty() && !peer.untold &&
           !peer.gone;
  }
  [[gnu::noinline]] bool put_now(Peer& peer, const PutRequest& request);
  [[gnu::noinline]] bool get_now(Peer& peer, const GetRequest& request);
  [[gnu::noinline]] bool change_now(Peer& peer, const RmwRequest& request);
  [[gnu::noinline]] bool put_pieces_now(Peer& peer, const LayoutPutRequest& request);
  [[gnu::noinline]] bool get_pieces_now(Peer& peer, const LayoutGetRequest& request);
  template <typename Request>
  void put_is_done(Peer& peer, const Request& request, std::uint64_t length);
  void answered(Peer& peer, const HandlerCall& send_handler, std::uint64_t counter);
  void get_is_done(Peer& peer, std::uint64_t length, std::uint64_t origin_counter, const HandlerCall& handler);

  // For the pieces of both sides of a transfer, and its data: during a visit only memory is touched that is there.
  struct Room {
    std::array<LayoutPiece, DirectMemory::kMostPieces> own, theirs;
    std::array<std::byte, DirectMemory::kMostBytes> data;
  };
  Room* room();

  const Means means_;
  std::unique_ptr<Room> room_;  // from the first transfer on that needs it
};

// Beyond it a message costs little more than the copy: memory is not opened for that.
inline constexpr std::uint64_t kShortOperation = 4096;

[[gnu::noinline]] void ask_for(DirectMemory& memory, std::uint64_t address, std::uint64_t counter);
[[gnu::noinline]] void ask_for(DirectMemory& memory, LayoutCursor& layout, std::uint64_t length, std::uint64_t counter);

// The other side: a message of the peer has come for something that could have been done without, had it been open.
inline void note_message(const Peer& from, std::uint64_t address, std::uint64_t length, std::uint64_t counter = 0) {
  if (from.direct_memory != nullptr && length <= kShortOperation) [[unlikely]]
    ask_for(*from.direct_memory, address, counter);
}
// The first `length` bytes of the layout, which stays where it is.
inline void note_message(const Peer& from, LayoutCursor& layout, std::uint64_t length, std::uint64_t counter) {
  if (from.direct_memory != nullptr && length <= kShortOperation) [[unlikely]]
    ask_for(*from.direct_memory, layout, length, counter);
}

}  // namespace openlapi
