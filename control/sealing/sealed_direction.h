// One direction of a connection under AES-256-GCM. Only who has the key can seal a text or open it; sealed texts can be
// opened only in the order in which they were sealed, each once.
//
// The first key and the base of the nonces are HKDF-SHA256(secret, salt, label). A nonce is the base XOR the text's
// number; a key seals 65,536 texts, its successor is HKDF-Expand(key, "next key").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

struct evp_cipher_ctx_st;

namespace openlapi::sealing {

using Key = std::array<std::uint8_t, 32>;
using Bytes = std::vector<std::uint8_t>;

inline constexpr std::size_t kSealBytes = 16;  // by which a sealed text is longer

class SealedDirection {
 public:
  // `salt` makes the key new for each connection, `label` for each direction. Throws std::runtime_error: libcrypto does
  // not work.
  SealedDirection(const Key& secret, std::span<const std::uint8_t> salt, std::string_view label);
  ~SealedDirection();
  SealedDirection(SealedDirection&&) noexcept;
  SealedDirection& operator=(SealedDirection&&) noexcept;

  // Appends the sealed text.
  void seal(std::span<const std::uint8_t> text, Bytes& sealed);
  // Appends the text. False: it is not the next one that the other side has sealed; nothing is appended.
  bool open(std::span<const std::uint8_t> sealed, Bytes& text);

 private:
  void begin_text(bool seals);

  Key key_{};
  std::array<std::uint8_t, 12> nonce_base_{};
  std::uint64_t texts_ = 0;
  struct Free {
    void operator()(evp_cipher_ctx_st* context) const;
  };
  std::unique_ptr<evp_cipher_ctx_st, Free> context_;
};

}  // namespace openlapi::sealing
