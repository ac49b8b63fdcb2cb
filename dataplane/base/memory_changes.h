// A log of changes to watched memory. One writer (the thread that reads the kernel's events) and any number of readers
// without locks. The writer never waits for a reader; a reader waits only while the writer moves events from the kernel
// into the log.
//
// That wait makes it exact. The kernel lets munmap() return once its event has been read, not once anybody has acted on
// it. The writer announces a round before it reads, so whoever runs after that munmap() sees an unfinished round and
// waits for it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace openlapi {

class MemoryChanges {
 public:
  static constexpr std::size_t kKept = 1024;  // changes; a reader further behind is told that everything has changed

  // For the writer: begin_round(), any number of add(), finish_round(). None of them allocates or waits.
  void begin_round() { begun_.fetch_add(1); }
  void finish_round() { finished_.store(begun_.load()); }
  // `gone`: what was there is certainly not there any more.
  void add(std::uint64_t begin, std::uint64_t end, bool gone) {
    const std::uint64_t number = written_.load();
    claimed_.store(number + 1);
    Change& change = changes_[number % kKept];
    change.begin.store(begin);
    change.end.store(end);
    change.gone.store(gone);
    written_.store(number + 1);
  }

  // One reader's position in the log.
  class Reader {
   public:
    explicit Reader(const MemoryChanges& changes) : changes_(&changes), next_(changes.written_.load()) {}

    // Whether take() may have something to report; a single load, in one order with what others store.
    bool behind() const { return changes_->begun_.load() != round_; }

    // Calls `changed(begin, end, gone)` for every change made before this call; begin 0 and end UINT64_MAX mean that
    // anything may have changed (and then nothing is certainly gone). `wait()` is called repeatedly while a round is
    // being written.
    template <typename Wait, typename Changed>
    void take(Wait wait, Changed changed) {
      const std::uint64_t round = changes_->begun_.load();
      while (changes_->finished_.load() < round) wait();
      round_ = round;
      for (const std::uint64_t end = changes_->written_.load(); next_ != end; ++next_) {
        const Change& change = changes_->changes_[next_ % kKept];
        const std::uint64_t from = change.begin.load(), to = change.end.load();
        const bool gone = change.gone.load();
        if (changes_->claimed_.load() - next_ > kKept) {  // overwritten, perhaps while it was read
          next_ = end;
          return changed(std::uint64_t{0}, UINT64_MAX, false);
        }
        changed(from, to, gone);
      }
    }

   private:
    const MemoryChanges* changes_;
    std::uint64_t round_ = 0;
    std::uint64_t next_;
  };

 private:
  struct Change {
    std::atomic<std::uint64_t> begin{0}, end{0};
    std::atomic<bool> gone{false};
  };
  alignas(64) std::atomic<std::uint64_t> begun_{0};  // rounds
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<std::uint64_t> claimed_{0};  // changes
  std::atomic<std::uint64_t> written_{0};
  std::array<Change, kKept> changes_;
};

}  // namespace openlapi
