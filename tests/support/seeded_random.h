// Random numbers that are the same on every machine and with every standard library: a failing seed must be replayable
// anywhere. splitmix64: one addition and a mixing function per number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace openlapi {

constexpr std::uint64_t mix_bits(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

class SeededRandom {
 public:
  // Different streams of one seed are independent of each other.
  explicit SeededRandom(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mix_bits(seed ^ mix_bits(stream * kStep + 1))) {}

  std::uint64_t next() { return mix_bits(state_ += kStep); }

  // 0 .. bound-1; the bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + below(most - least + 1); }
  bool chance(double share) { return share > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < share; }

  template <typename Value>
  Value pick(std::span<const Value> values) {
    return values[below(values.size())];
  }
  template <typename Value, std::size_t kCount>
  Value pick(const Value (&values)[kCount]) {
    return values[below(kCount)];
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  std::uint64_t state_;
};

}  // namespace openlapi
