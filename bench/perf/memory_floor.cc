#include "bench/perf/memory_floor.h"

#include <cstring>

#include "bench/perf/payload.h"

namespace openlapi::bench {

void MemoryFloor::flag(std::uint64_t iterations, double parts, Samples* samples) {
  std::atomic<std::uint64_t>& word = region_->flag.value;
  const auto turn = static_cast<std::uint64_t>(region_.side());
  time_batches(iterations, 4, parts, samples, [&] {
    // Task 0 writes odd values and task 1 answers with even ones.
    if (turn == 0) word.store(flag_ + 1, std::memory_order_release);
    const std::uint64_t wanted = flag_ + 2 - turn;
    spin_until([&] { return word.load(std::memory_order_acquire) == wanted; });
    if (turn == 1) word.store(flag_ + 2, std::memory_order_release);
    flag_ += 2;
  });
}

void MemoryFloor::publish(int direction, std::size_t length) {
  write_all(region_->bytes[direction], length, sequence_);
  region_->sequence[direction].value.store(sequence_, std::memory_order_release);
}

void MemoryFloor::consume(int direction, std::size_t length) {
  std::atomic<std::uint64_t>& word = region_->sequence[direction].value;
  spin_until([&] { return word.load(std::memory_order_acquire) >= sequence_; });
  read_all(region_->bytes[direction], length);
}

void MemoryFloor::bytes(std::uint64_t iterations, std::size_t length, Samples* samples) {
  time_batches(iterations, 4, 2, samples, [&] {
    ++sequence_;
    if (region_.side() == 0) {
      publish(0, length);
      consume(1, length);
    } else {
      consume(0, length);
      publish(1, length);
    }
  });
}

void MemoryFloor::fetch(std::uint64_t iterations, std::size_t length, Samples* samples) {
  time_batches(iterations, 4, 1, samples, [&] {
    ++sequence_;
    std::atomic<std::uint64_t>& request = region_->sequence[0].value;
    std::atomic<std::uint64_t>& answer = region_->sequence[1].value;
    if (region_.side() == 0) {
      request.store(sequence_, std::memory_order_release);
      spin_until([&] { return answer.load(std::memory_order_acquire) >= sequence_; });
      std::memcpy(target_.data(), region_->bytes[1], length);
      asm volatile("" : : "r"(target_.data()) : "memory");
    } else {
      spin_until([&] { return request.load(std::memory_order_acquire) >= sequence_; });
      std::memcpy(region_->bytes[1], source_.data(), length);
      answer.store(sequence_, std::memory_order_release);
    }
  });
}

void MemoryFloor::both_ways(std::uint64_t iterations, std::size_t length, Samples* samples) {
  time_batches(iterations, 4, 1, samples, [&] {
    ++sequence_;
    publish(region_.side(), length);
    consume(region_.other(), length);
  });
}

void MemoryFloor::produce_messages(std::uint64_t messages) {
  std::atomic<std::uint64_t>& head = region_->ring_head.value;
  for (std::uint64_t i = 0; i < messages; ++i) {
    const std::uint64_t ticket = ring_next_++;
    spin_until([&] {
      if (ticket - ring_taken_ < kRingSlots) return true;
      ring_taken_ = head.load(std::memory_order_acquire);
      return ticket - ring_taken_ < kRingSlots;
    });
    RingSlot& slot = region_->ring[ticket % kRingSlots];
    std::memcpy(slot.data, &ticket, sizeof ticket);
    slot.sequence.store(ticket + 1, std::memory_order_release);
  }
  spin_until([&] { return head.load(std::memory_order_acquire) == ring_next_; });
  ring_taken_ = ring_next_;
}

void MemoryFloor::consume_messages(std::uint64_t messages) {
  for (std::uint64_t i = 0; i < messages; ++i) {
    const std::uint64_t ticket = ring_next_++;
    RingSlot& slot = region_->ring[ticket % kRingSlots];
    spin_until([&] { return slot.sequence.load(std::memory_order_acquire) == ticket + 1; });
    read_all(slot.data, 8);
    // Told to the producer four times a round of the ring: each telling moves a line between the cores.
    if (ring_next_ % (kRingSlots / 4) == 0) region_->ring_head.value.store(ring_next_, std::memory_order_release);
  }
  region_->ring_head.value.store(ring_next_, std::memory_order_release);
}

void MemoryFloor::ring(std::uint64_t messages, Samples* samples) {
  time_each(1, static_cast<double>(messages), samples, [&] {
    const std::uint64_t start = ticks();
    region_.side() == 0 ? produce_messages(messages) : consume_messages(messages);
    return ticks() - start;
  });
}

}  // namespace openlapi::bench
