#include "nic/verbs/arrival_rings.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/base/cancellation.h"
#include "nic/verbs/monotonic_time.h"

namespace openlapi::verbs {
namespace {

constexpr std::size_t kRead64 = kRingBytes;  // behind the slots: where the sender's count is read to
constexpr std::size_t kMemoryBytes = kRingBytes + sizeof(std::uint64_t);

}  // namespace

std::uint64_t ArrivalRings::Ring::written() const {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(memory->data() + kRead64), __ATOMIC_ACQUIRE);
}

RingPlace ArrivalRings::place_of(const Ring& ring) {
      return {reinterpret_cast<std::uintptr_t>(ring.memory->data()), ring.memory->remote_key()};
  }

RingPlace ArrivalRings::find(const ReliableQueuePair& queue_pair, const RingPlace& control) const {
  const auto found = std::ranges::find_if(rings_, [&](const Ring& ring) {
    return ring.queue_pair == &queue_pair && ring.control.address == control.address;
  });
  return found != rings_.end() ? place_of(*found) : RingPlace{};
}

RingPlace ArrivalRings::grant(ReliableQueuePair& queue_pair, std::uint64_t connection, const RingPlace& control) {
  forget(&queue_pair);
  poll();
  if (rings_.size() >= most_) give_one_back();
  if (rings_.size() >= most_ || queue_pair.inline_bytes() < sizeof(RingNews)) return {};
  Ring ring;
  ring.memory = std::make_unique<RegisteredMemory>();
  if (ring.memory->open(memory_, kMemoryBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) != 0) return {};
  ring.queue_pair = &queue_pair;
  ring.number = ++next_number_ << 1;
  ring.control = control;
  ring.slots = SlotReader(ring.memory->data(), ring_epoch(connection, control.address));
  ring.last_use = ++uses_;
  rings_.push_back(std::move(ring));
  return place_of(rings_.back());
}

void ArrivalRings::forget(const ReliableQueuePair* queue_pair) {
  std::erase_if(rings_, [&](Ring& ring) {
    if (ring.queue_pair != queue_pair) return false;
    set(ring, State::open);  // for the count
    return true;
  });
}

// Begins behind the ring that has filled the packets the last time.
std::size_t ArrivalRings::take(std::span<IncomingPacket> packets, LastUses& uses) {
  std::size_t count = 0;
  std::size_t which = first_ < rings_.size() ? first_ : 0;
  for (std::size_t looks = rings_.size(); looks != 0; --looks) {
    Ring& ring = rings_[which];
    if (++which == rings_.size()) which = 0;
    if (!ring.slots.shows()) [[likely]]
      continue;
    count += take_from(ring, packets.subspan(count));
    uses.note(ring.queue_pair->number());
    if (count == packets.size()) {
      first_ = which;
      break;
    }
  }
  return count;
}

std::size_t ArrivalRings::take_from(Ring& ring, std::span<IncomingPacket> packets) {
  if (ring.state == State::broken) return 0;
  std::size_t count = 0;
  while (count < packets.size()) {
    std::byte* const room = copied_.room();
    if (room == nullptr) break;
    const std::uint32_t length = ring.slots.take(room);
    if (length == SlotReader::kNothing) {
      if (ring.slots.shows()) miss_packet(ring);  // it is only partly there
      break;
    }
    copied_.push();
    packets[count++] = {room, length, kUnknownPeer, false, 0};
  }
  if (count != 0) {
    uses_ += count;
    counters_.packets += count;
    ring.last_use = uses_;
  }
  // Whoever is told that the ring is closed is told of slots as well when it opens.
  if (ring.state == State::open && static_cast<std::uint32_t>(ring.slots.taken()) - ring.told >= kTellAfter)
    tell(ring, RingState::open);
  return count;
}

void ArrivalRings::count_send(std::uint32_t queue_pair) {
  for (Ring& ring : rings_) {
    if (ring.queue_pair->number() != queue_pair || ring.state != State::closed || ring.leaving) continue;
    if (++ring.sends < kSendsOfOneAwake || !tell(ring, RingState::open)) continue;
    set(ring, State::open);
    ++counters_.openings;
  }
}

bool ArrivalRings::close() {
  keep_up();
  bool closed = true;
  for (Ring& ring : rings_) {
    if (ring.state == State::open) begin_closing(ring);
    if (ring.state == State::open || ring.state == State::closing) closed = false;
  }
  return closed;
}

bool ArrivalRings::begin_closing(Ring& ring) {
  if (!tell(ring, RingState::closed)) return false;
  set(ring, State::closing);
  ++counters_.closings;
  read(ring);
  return true;
}

// A completion is for a ring that may have gone meanwhile.
void ArrivalRings::poll() {
  std::array<ibv_wc, kPollBatch> done;
  int count = kPollBatch;
  while (count == kPollBatch) {
    count = ibv_poll_cq(&completions_, kPollBatch, done.data());
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = done[static_cast<std::size_t>(i)];
      Ring* const ring = numbered(completion.wr_id & ~kRead);
      if (ring == nullptr) continue;
      --ring->under_way;
      if (completion.status != IBV_WC_SUCCESS) {
        set(*ring, State::broken);
      } else if ((completion.wr_id & kRead) != 0) {
        ring->reading = false;
      }
    }
  }
}

void ArrivalRings::keep_up() {
  poll();
  for (Ring& ring : rings_) {
    if (ring.state == State::closing && !ring.reading) read_is_done(ring);
  }
  std::erase_if(rings_, [&](Ring& ring) {
    const bool goes = ring.leaving && ring.state == State::closed && tell(ring, RingState::given_back);
    counters_.given_back += goes ? 1 : 0;
    if (!goes && ring.state != State::broken) return false;
    set(ring, State::open);
    return true;
  });
}

// A count that is too high may be taken back (ring_control.h), so it is read anew.
void ArrivalRings::read_is_done(Ring& ring) {
  if (ring.written() == ring.slots.taken()) {
    ring.sends = 0;
    ring.missed = 0;
    set(ring, State::closed);
  } else if (!ring.slots.shows()) {
    miss_packet(ring);
    read(ring);
  }
}

// The next packet is known to be on its way.
void ArrivalRings::miss_packet(Ring& ring) {
  const std::uint64_t now = milliseconds(), next = ring.slots.taken() + 1;
  if (ring.missed != next) {
    ring.missed = next;
    ring.missed_since = now;
  } else if (now - ring.missed_since >= kLongestWait) {
    ring.overdue = true;
  }
}

const ReliableQueuePair* ArrivalRings::overdue() {
  const auto found = std::ranges::find(rings_, true, &Ring::overdue);
  if (found == rings_.end()) return nullptr;
  ++counters_.given_up;
  return found->queue_pair;
}

bool ArrivalRings::tell(Ring& ring, RingState state) {
  const auto is_full = [&] { return ring.under_way + 1 >= kRequests / 2; };  // a read behind it finds room
  if (is_full()) poll();
  if (is_full()) return false;
  const auto taken = static_cast<std::uint32_t>(ring.slots.taken());
  RingNews news{.taken = taken, .state = static_cast<std::uint32_t>(state)};
  ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(&news), .length = sizeof news, .lkey = 0};
  ibv_send_wr request{};
  request.wr_id = ring.number;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  request.wr.rdma = {.remote_addr = ring.control.address, .rkey = ring.control.key};
  ring.told = taken;
  post(ring, request);
  return ring.state != State::broken;
}

void ArrivalRings::read(Ring& ring) {
  if (ring.state != State::closing) return;
  ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(ring.memory->data() + kRead64),
                .length = sizeof(std::uint64_t),
                .lkey = ring.memory->key()};
  ibv_send_wr request{};
  request.wr_id = ring.number | kRead;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {.remote_addr = ring.control.address + offsetof(RingControl, written), .rkey = ring.control.key};
  ring.reading = true;
  post(ring, request);
}

// What is refused is so because the connection has failed: nothing comes through it any more.
void ArrivalRings::post(Ring& ring, ibv_send_wr& request) {
  if (ring.state == State::broken) return;
  ibv_send_wr* refused = nullptr;
  const CancellationOff off;
  if (ibv_post_send(ring.queue_pair->queue_pair(), &request, &refused) == 0) {
    ++ring.under_way;
  } else {
    set(ring, State::broken);
  }
}

void ArrivalRings::set(Ring& ring, State state) {
  if (ring.state == State::broken && state != State::open) return;
  not_open_ += ring.state == State::open && state != State::open ? 1 : 0;
  not_open_ -= ring.state != State::open && state == State::open ? 1 : 0;
  ring.state = state;
}

// It takes until the ring is closed.
void ArrivalRings::give_one_back() {
  keep_up();
  if (rings_.size() < most_) return;
  const auto least = std::ranges::min_element(rings_, {}, &Ring::last_use);
  if (least->leaving || uses_ - least->last_use < kIdleUses) return;
  least->leaving = least->state == State::closed || least->state == State::closing ||
                   (least->state == State::open && begin_closing(*least));
}

ArrivalRings::Ring* ArrivalRings::numbered(std::uint64_t number) {
  const auto found = std::ranges::find(rings_, number, &Ring::number);
  return found != rings_.end() ? &*found : nullptr;
}

bool ArrivalRings::any_open() const {
  return std::ranges::any_of(rings_, [](const Ring& ring) { return ring.state == State::open; });
}

}  // namespace openlapi::verbs
