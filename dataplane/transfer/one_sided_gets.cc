#include "dataplane/transfer/one_sided_gets.h"

#include "dataplane/base/copy_bytes.h"
#include "dataplane/message/served_packet.h"

namespace openlapi {

bool OneSidedGets::begin_now(Peer& peer, std::uint32_t id, const GetRequest& request) {
  if (peer.bulk_paths.size() > 1) peer.channel->watch_links();
  for (const BulkPath& path : peer.bulk_paths) {
    if (path.one_sided == nullptr || !peer.serves(path)) continue;
    if (!path.one_sided->begin_get(peer.index, request.target_address, request.length, id)) continue;
    PendingRequest& pending = *means_.requests.find(id);
    pending.read = true;
    pending.read_from = request.target_address;
    ++under_way_;
    means_.signs.set(StepSigns::one_sided, true);
    return true;
  }
  return false;
}

unsigned OneSidedGets::advance() {
  unsigned moved = 0;
  for (OneSidedMemory* const memory : means_.memories) {
    for (OneSidedMemory::Ending ending{}; memory->take_ending(ending); ++moved) ended(ending);
  }
  means_.signs.set(StepSigns::one_sided, under_way_ != 0);
  return moved;
}

// A handler may purge the peer, or begin the next get.
void OneSidedGets::ended(const OneSidedMemory::Ending& ending) {
  --under_way_;
  PendingRequest* const request = means_.requests.find(ending.token);
  if (request == nullptr) return;  // the peer was given up
  Peer& from = means_.peers.at(request->peer);
  if (ending.data == nullptr) {
    request->read = false;
    const AttachRead get{.peer = from.index,
                         .is_get = true,
                         .id = ending.token,
                         .source_address = request->read_from,
                         .target_counter = 0};
    return means_.fallback.ask_for_packets(from, get, request->length);
  }
  const MovedMessage moved(request);
  copy_bytes(static_cast<std::byte*>(request->buffer), ending.data, request->length);
  means_.requests.complete(ending.token, from);
}

}  // namespace openlapi
