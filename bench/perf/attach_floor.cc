#include "bench/perf/attach_floor.h"

#include <sys/uio.h>
#include <unistd.h>

#include "bench/perf/payload.h"

namespace openlapi::bench {

AttachFloor::AttachFloor(SharedRegion& region, std::size_t largest)
    : region_(region), source_(largest), target_(largest) {
  peer_ = static_cast<pid_t>(region_.exchange(static_cast<std::uint64_t>(getpid())));
  peer_source_ = region_.exchange(reinterpret_cast<std::uint64_t>(source_.data()));
}

bool AttachFloor::copy(std::size_t length) {
  std::size_t done = 0;
  while (done < length) {
    const iovec here{target_.data() + done, length - done};
    const iovec there{reinterpret_cast<void*>(peer_source_ + done), length - done};
    const ssize_t moved = process_vm_readv(peer_, &here, 1, &there, 1, 0);
    if (moved <= 0) return false;
    done += static_cast<std::size_t>(moved);
  }
  return true;
}

bool AttachFloor::usable() {
  const bool mine = copy(1);
  const bool theirs = region_.exchange(mine ? 1 : 0) == 1;
  return mine && theirs;
}

void AttachFloor::meet() { region_.barrier(); }

void AttachFloor::push(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples) {
  std::atomic<std::uint64_t>& there = region_->attach[0].value;
  std::atomic<std::uint64_t>& done = region_->attach[1].value;
  time_each(iterations, 1, samples, [&] {
    ++sequence_;
    const bool owner = region_.side() == 0;
    if (owner && regime == Regime::fresh) write_all(source_.data(), length, ++written_);
    meet();
    const std::uint64_t start = ticks();
    if (owner) {
      there.store(sequence_, std::memory_order_release);
      spin_until([&] { return done.load(std::memory_order_acquire) == sequence_; });
    } else {
      spin_until([&] { return there.load(std::memory_order_acquire) == sequence_; });
      copy(length);
      done.store(sequence_, std::memory_order_release);
    }
    const std::uint64_t taken = ticks() - start;
    if (!owner && regime == Regime::fresh) read_all(target_.data(), length);
    return taken;
  });
}

void AttachFloor::pull(std::uint64_t iterations, std::size_t length, Regime regime, Samples* samples) {
  time_each(iterations, 1, samples, [&] {
    const bool owner = region_.side() == 1;
    if (owner && regime == Regime::fresh) write_all(source_.data(), length, ++written_);
    meet();
    const std::uint64_t start = ticks();
    if (!owner) copy(length);
    const std::uint64_t taken = ticks() - start;
    if (!owner && regime == Regime::fresh) read_all(target_.data(), length);
    meet();
    return taken;
  });
}

void AttachFloor::both_ways(std::uint64_t iterations, std::size_t length, Samples* samples) {
  time_each(iterations, 1, samples, [&] {
    write_all(source_.data(), length, ++written_);
    meet();
    const std::uint64_t start = ticks();
    copy(length);
    meet();
    const std::uint64_t taken = ticks() - start;
    read_all(target_.data(), length);
    meet();
    return taken;
  });
}

}  // namespace openlapi::bench
