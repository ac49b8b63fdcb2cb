#include "shm/keyed_digest.h"

#include <bit>

namespace openlapi::shm {
namespace {

struct SipState {
  std::uint64_t a, b, c, d;

  void mix(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      a += b;
      c += d;
      b = std::rotl(b, 13) ^ a;
      d = std::rotl(d, 16) ^ c;
      a = std::rotl(a, 32);
      c += b;
      a += d;
      b = std::rotl(b, 17) ^ c;
      d = std::rotl(d, 21) ^ a;
      c = std::rotl(c, 32);
    }
  }

  void absorb(std::uint64_t word) {
    d ^= word;
    mix(2);
    a ^= word;
  }
};

}  // namespace

std::uint64_t keyed_digest(std::uint64_t cookie, std::uint64_t domain, std::span<const std::uint64_t> words) {
  // The four initial words are SipHash's own ("somepseudorandomlygeneratedbytes").
  SipState state{cookie ^ 0x736f6d6570736575, domain ^ 0x646f72616e646f6d, cookie ^ 0x6c7967656e657261,
                 domain ^ 0x7465646279746573};
  for (const std::uint64_t word : words) state.absorb(word);
  state.absorb(std::uint64_t{words.size() * 8} << 56);
  state.c ^= 0xff;
  state.mix(4);
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace openlapi::shm
