// Attach mode between layouts: many pieces of a peer's memory go to many pieces here in one system call.
#include <algorithm>
#include <array>
#include <new>

#include "dataplane/layout/own_layouts.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/transfer/attach_reads.h"
#include "dataplane/tuning.h"

namespace openlapi {

// Reads the bytes from `offset` on, at most `most`; answers how many, 0: it cannot be done. What has no place here
// counts as read.
std::uint64_t AttachReads::read_layout(Peer& peer, LayoutCursor& remote, LayoutCursor& local, std::uint64_t offset,
                                       std::uint64_t most) {
  if (offset >= local.total_bytes()) return most;
  remote.seek(offset);
  local.seek(offset);
  std::array<LayoutPiece, RemoteMemory::kMostRanges> here, there;
  std::size_t here_count = local.next_pieces(here, most);
  const std::uint64_t room = local.position() - offset;
  const std::size_t there_count = remote.next_pieces(there, room);
  const std::uint64_t bytes = remote.position() - offset;
  if (bytes < room) {
    local.seek(offset);
    here_count = local.next_pieces(here, bytes);
  }
  if (bytes == 0) return 0;
  const bool done = peer.remote_memory->read_ranges(peer.index, std::span(there).first(there_count),
                                                    std::span(here).first(here_count));
  return done ? bytes : 0;
}

// True: nothing further is to be done, whether the message is here or comes in packets.
bool AttachReads::advance_layout_attach(AttachRead& read, Peer& peer, IncomingMessage& message) {
  const bool described = read.source != nullptr || read_description(read, peer, message);
  const bool readable = described && (message.layout == nullptr || message.layout->only_copies());
  std::uint64_t step = 0;
  if (readable) {
    StridedCursor buffer(reinterpret_cast<std::uintptr_t>(message.buffer), message.total);
    LayoutCursor& local = message.layout != nullptr ? *message.layout : static_cast<LayoutCursor&>(buffer);
    const std::uint64_t most = std::min(message.total - message.received, tuning::kAttachPiece);
    step = read_layout(peer, *read.source, local, message.received, most);
  }
  if (step == 0) {
    refuse_attach(read, peer, message);
    return true;
  }
  if (message.received + step != message.total) {
    message.received += step;
    return false;
  }
  finish_attach(read, peer, message, step);
  return true;
}

// Fetches and decodes what says where the data lies in the origin, and where it goes if it is a put's.
bool AttachReads::read_description(AttachRead& read, Peer& peer, IncomingMessage& message) {
  if (!peer.remote_memory->reachable(peer.index)) return false;
  if (read.layout_length == 0) {
    read.source = std::make_unique<StridedCursor>(read.source_address, message.total);
    return true;
  }
  if (read.layout_length > tuning::kLongestDescriptions || !peer.kept.has_room(read.layout_length)) return false;
  read.kept = {peer.kept, read.layout_length};
  try {
    read.description.resize(read.layout_length);
  } catch (const std::bad_alloc&) {
    return false;  // the message comes in packets, which bring the description in small parts
  }
  if (!peer.remote_memory->read(peer.index, read.source_address, read.description.data(), read.layout_length)) {
    return false;
  }
  std::span<const std::byte> rest(read.description);
  wire::LayoutDescription layout;
  if (!wire::next_description(rest, layout) || layout.total_bytes < message.total) return false;
  read.source = cursor_of(layout);
  if (!message.is_put()) return rest.empty();
  if (!wire::next_description(rest, layout) || layout.total_bytes < message.total || !rest.empty() ||
      !is_own_layout(layout)) {
    return false;  // what is not this task's memory is refused when the data comes in packets
  }
  message.layout = cursor_of(layout);
  return true;
}

}  // namespace openlapi
