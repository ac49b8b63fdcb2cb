// SipHash-2-4: a keyed one-way function of 64 bits (Aumasson, Bernstein). Without the key one can neither predict a
// result nor find the key, however many results are seen. It is implemented here because the 32-bit library is built
// where there is only a compiler, and both word sizes need the same results.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace openlapi {

static_assert(std::endian::native == std::endian::little, "words are taken as they lie in memory");

// The 16 bytes of SipHash's key as two little-endian words.
struct SipKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// For a message that comes in pieces.
class SipHash {
 public:
  // The four initial words are SipHash's own ("somepseudorandomlygeneratedbytes").
  explicit SipHash(const SipKey& key)
      : a_(key.low ^ 0x736f6d6570736575),
        b_(key.high ^ 0x646f72616e646f6d),
        c_(key.low ^ 0x6c7967656e657261),
        d_(key.high ^ 0x7465646279746573) {}

  // Adds eight bytes, the lowest first. Everything added before must be a multiple of eight bytes.
  void add_word(std::uint64_t word) {
    absorb(word);
    length_ += sizeof(word);
  }

  void add(std::span<const std::byte> bytes) {
    const std::byte* next = bytes.data();
    std::size_t left = bytes.size();
    length_ += left;
    for (; left != 0 && rest_bytes_ != 0; --left) add_byte(*next++);
    for (; left >= sizeof(std::uint64_t); left -= sizeof(std::uint64_t), next += sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, next, sizeof(word));
      absorb(word);
    }
    for (; left != 0; --left) add_byte(*next++);
  }

  std::uint64_t finish() {
    absorb(rest_ | length_ << 56);
    c_ ^= 0xff;
    mix();
    mix();
    mix();
    mix();
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  void add_byte(std::byte byte) {
    rest_ |= std::to_integer<std::uint64_t>(byte) << 8 * rest_bytes_;
    if (++rest_bytes_ != sizeof(rest_)) return;
    absorb(rest_);
    rest_ = 0;
    rest_bytes_ = 0;
  }

  void absorb(std::uint64_t word) {
    d_ ^= word;
    mix();
    mix();
    a_ ^= word;
  }

  void mix() {
    a_ += b_;
    c_ += d_;
    b_ = std::rotl(b_, 13) ^ a_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ = std::rotl(a_, 32);
    c_ += b_;
    a_ += d_;
    b_ = std::rotl(b_, 17) ^ c_;
    d_ = std::rotl(d_, 21) ^ a_;
    c_ = std::rotl(c_, 32);
  }

  std::uint64_t a_, b_, c_, d_;
  std::uint64_t rest_ = 0;  // bytes that do not fill a word yet
  unsigned rest_bytes_ = 0;
  std::uint64_t length_ = 0;  // bytes
};

// The hash of these little-endian words.
inline std::uint64_t siphash(const SipKey& key, std::span<const std::uint64_t> words) {
  SipHash hash(key);
  for (const std::uint64_t word : words) hash.add_word(word);
  return hash.finish();
}

}  // namespace openlapi
