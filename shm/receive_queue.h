// The owner's side of a task's queue. What senders write is checked before it is believed: a slot with an impossible
// source, era or length is counted and skipped.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "dataplane/transport/transport.h"
#include "shm/segment.h"

namespace openlapi::shm {

class ReceiveQueue {
 public:
  // `tasks` gives each source's task number; it and the segment outlive the queue.
  ReceiveQueue(const SegmentView& segment, const GroupLayout& layout, std::span<const PeerIndex> tasks)
      : lines_(segment.lines),
        mask_(layout.slots - 1),
        kept_at_most_(mask_ / 4),
        packet_bytes_(layout.packet_bytes),
        near_rooms_(segment.near_rooms),
        rooms_(segment.rooms),
        room_stride_(layout.room_stride()),
        tasks_(tasks),
        header_(segment.header),
        sender_lines_(segment.senders),
        eras_(segment.eras),
        withheld_bits_(segment.withheld),
        holes_(layout.slots),
        senders_(std::size_t{1} << kSenderBits, kUnknownPeer) {
    for (std::uint32_t source = 0; source < tasks.size(); ++source) admit(source);
  }

  // What has arrived, oldest first. Never waits.
  std::size_t receive(std::span<IncomingPacket> packets) {
    std::size_t count = 0;
    while (count < packets.size()) {
      if (withheld_count_ != 0 && !pass_withheld()) [[unlikely]] {
        last_look_ = lines_[next_ & mask_].control.load(std::memory_order_relaxed);
        break;
      }
      PacketLine& line = lines_[next_ & mask_];
      // Acquire: the packet's bytes after its announcement; pairs with the release in SendQueue::send().
      const std::uint64_t control = line.control.load(std::memory_order_acquire);
      if (control_sequence(control) != static_cast<std::uint32_t>(next_ + 1)) {
        last_look_ = control;
        break;
      }
      const PeerIndex task = senders_[control_sender(control)];
      const std::uint32_t length = control_length(control);
      if (task == kUnknownPeer || length > packet_bytes_) [[unlikely]] {
        ++dropped_;
        pass_over();
        continue;
      }
      std::byte* data = length <= kInlineBytes ? line.data : in_room(control);
      packets[count++] = {data, length, task, false, 0};
      ++next_;
    }
    if (count == 0) note_empty();
    return count;
  }

  // Gives the slots of the oldest `count` packets back to the senders, in batches.
  void release(std::size_t count) {
    if (hole_count_ == 0) [[likely]] {
      released_ += count;
    } else {
      release_around_holes(count);
    }
    if (released_ - published_ > kept_at_most_) publish_head();
  }

  // From now on not in batches: senders wait to see that what they sent was taken.
  void release_at_once() { kept_at_most_ = 0; }

  // Whether the queue's next slot has been published.
  bool waiting() const {
    const std::uint64_t control = lines_[next_ & mask_].control.load(std::memory_order_acquire);
    return control_sequence(control) == static_cast<std::uint32_t>(next_ + 1) && !is_withheld(next_);
  }

  // The word that the next packet's sender will change; valid after a receive() that did not fill its span.
  ArrivalWord arrival_word() const { return {&lines_[next_ & mask_].control, last_look_}; }

  // Whether senders have claimed slots that were not received yet. Reads a cache line that senders write. Sequentially
  // consistent, as ShmDoorbell::arm() needs; pairs with the claim in SendQueue::claim().
  bool claimed() const { return header_->tail.load(std::memory_order_seq_cst) != next_; }

  // Tickets: how many were handed out so far, and how many were received.
  std::uint64_t handed_out() const { return header_->tail.load(std::memory_order_acquire); }
  std::uint64_t received() const { return next_; }

  // Skips slots at the front of the queue whose owners died before they published. `gone` says whether a local task is
  // known to be dead. Returns how many.
  std::size_t skip_orphans(const std::function<bool(std::uint32_t)>& gone);

  // The same; it also finds the claim of a sender that is given up or purged. When it finds the same claim for the
  // second time it withholds those slots, but never more than half of all. Call it rarely enough that a sender that is
  // not stopped publishes in between.
  std::size_t look_at_turn(const std::function<bool(std::uint32_t)>& gone);

  // Whose packet is awaited although its slot is claimed (one of them, if several may have claimed it): a sender that
  // is neither `gone` nor given up. The result differs from packet to packet.
  struct Holder {
    std::uint32_t source = UINT32_MAX;  // local index; UINT32_MAX: nobody's packet
    std::uint64_t ticket = 0;
  };
  Holder holder(const std::function<bool(std::uint32_t)>& gone) const;

  // `source` is purged or given up: what it has sent is void, and so is what it sends until it is opened again and has
  // begun anew.
  void close(std::uint32_t source);
  void open(std::uint32_t source) { open_as(source, opened_era(era_of(source))); }
  void give_up(std::uint32_t source) {
    close(source);
    open_as(source, opened_era(era_of(source)) | kGivenUp);
  }

  std::uint64_t era_of(std::uint32_t source) const { return eras_[source].load(std::memory_order_relaxed); }

  // True once in kLookAfter empty receives in a row: time to look for orphaned slots.
  bool look_due() const { return look_due_; }

  std::uint64_t dropped() const { return dropped_; }

  // How much of a packet in a room is prefetched before anyone reads it: as much as processors have misses to spare
  // for. Otherwise the lines come from another core one by one while a handler reads its data in place.
  static constexpr std::size_t kPrefetchBytes = 2048;
  static constexpr std::uint32_t kLookAfter = 1 << 14;

 private:
  void note_empty() {
    if (released_ != published_) publish_head();
    look_due_ = (++empty_receives_ & (kLookAfter - 1)) == 0;
  }

  // Release: our reads of the slots before their reuse; pairs with the acquire in SendQueue::claim().
  void publish_head() {
    header_->head.store(released_, std::memory_order_release);
    published_ = released_;
  }

  std::byte* in_room(std::uint64_t control) const {
    std::byte* room = control_near(control) ? near_rooms_ + (next_ & (kNearRooms - 1)) * room_stride_
                                            : rooms_ + (next_ & mask_) * room_stride_;
    std::byte* data = room + control_start(control);
    const std::size_t ahead = std::min<std::size_t>(control_length(control), kPrefetchBytes);
    for (std::size_t at = 0; at < ahead; at += kCacheLine) __builtin_prefetch(data + at);
    return data;
  }

  void open_as(std::uint32_t source, std::uint64_t era);
  void admit(std::uint32_t source) { senders_[make_sender(source, era_of(source))] = tasks_[source]; }
  void void_packets_of(std::uint32_t source);
  void pass_over();
  void release_around_holes(std::size_t count);
  enum class Owner : std::uint8_t { living, dead, given_up };
  Owner owner(const std::function<bool(std::uint32_t)>& gone, std::uint64_t& claim) const;
  bool has_begun(std::uint32_t source) const;
  bool withhold();
  bool pass_withheld();
  bool is_withheld(std::uint64_t ticket) const {
    if (withheld_count_ == 0) [[likely]]
      return false;
    const std::uint64_t slot = ticket & mask_;
    return (withheld_bits_[slot / 64].load(std::memory_order_relaxed) >> slot % 64 & 1) != 0;
  }

  PacketLine* lines_;
  std::uint64_t mask_;
  std::uint64_t kept_at_most_;   // released slots that senders do not know of yet
  std::uint64_t next_ = 0;       // the next ticket to receive
  std::uint64_t last_look_ = 0;  // the next slot's control word when it was last found empty
  std::uint64_t released_ = 0;   // tickets below it are given back
  std::uint64_t published_ = 0;  // the value of released_ that senders can see
  std::uint32_t packet_bytes_;
  std::uint32_t empty_receives_ = 0;
  std::byte* near_rooms_;
  std::byte* rooms_;
  std::size_t room_stride_;
  std::span<const PeerIndex> tasks_;
  SegmentHeader* header_;
  const SenderLine* sender_lines_;
  Era* eras_;
  WithheldBits* withheld_bits_;
  std::uint32_t withheld_count_ = 0;
  std::uint64_t given_up_claim_ = 0;  // found by the last look_at_turn(); 0: none
  std::uint64_t overdue_claim_ = 0;   // and by the one before it
  std::size_t hole_count_ = 0;        // slots skipped and not given back yet, marked in holes_
  std::vector<bool> holes_;
  std::vector<PeerIndex> senders_;  // by what make_sender() gives; kUnknownPeer: no task's present era
  std::uint64_t dropped_ = 0;
  bool look_due_ = false;
};

}  // namespace openlapi::shm
