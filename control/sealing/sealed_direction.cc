#include "control/sealing/sealed_direction.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace openlapi::sealing {
namespace {

constexpr std::uint64_t kTextsOfAKey = 1 << 16;

[[noreturn]] void fail(const char* what) { throw std::runtime_error(std::string("libcrypto has no ") + what); }

// Fetched once: a process looks for them in libcrypto's tables only at its first connection.
EVP_KDF* hkdf() {
  static EVP_KDF* const found = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  if (found == nullptr) fail("HKDF");
  return found;
}

EVP_CIPHER* cipher() {
  static EVP_CIPHER* const found = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
  if (found == nullptr) fail("AES-256-GCM");
  return found;
}

// `mode`: of EVP_KDF-HKDF(7).
void derive(int mode, std::span<const std::uint8_t> key, std::span<const std::uint8_t> salt, std::string_view label,
            std::span<std::uint8_t> derived) {
  char digest[] = "SHA256";
  const auto octets = [](const char* name, const void* bytes, std::size_t size) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<void*>(bytes), size);
  };
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
                                   OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                                   octets(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
                                   octets(OSSL_KDF_PARAM_INFO, label.data(), label.size()),
                                   salt.empty() ? OSSL_PARAM_construct_end()  // an empty one is refused
                                                : octets(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
                                   OSSL_PARAM_construct_end()};
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(hkdf()), EVP_KDF_CTX_free);
  if (!context || EVP_KDF_derive(context.get(), derived.data(), derived.size(), parameters) != 1) fail("HKDF-SHA256");
}

int size_of(std::span<const std::uint8_t> bytes) { return static_cast<int>(bytes.size()); }

}  // namespace

void SealedDirection::Free::operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }

SealedDirection::SealedDirection(const Key& secret, std::span<const std::uint8_t> salt, std::string_view label)
    : context_(EVP_CIPHER_CTX_new()) {
  std::array<std::uint8_t, sizeof key_ + sizeof nonce_base_> derived{};
  derive(EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND, secret, salt, label, derived);
  std::copy_n(derived.begin(), key_.size(), key_.begin());
  std::copy(derived.begin() + key_.size(), derived.end(), nonce_base_.begin());
  OPENSSL_cleanse(derived.data(), derived.size());
}

SealedDirection::~SealedDirection() { OPENSSL_cleanse(key_.data(), key_.size()); }
SealedDirection::SealedDirection(SealedDirection&&) noexcept = default;
SealedDirection& SealedDirection::operator=(SealedDirection&&) noexcept = default;

void SealedDirection::begin_text(bool seals) {
  const bool changes_key = texts_ != 0 && texts_ % kTextsOfAKey == 0;
  if (changes_key) {
    Key next{};
    derive(EVP_KDF_HKDF_MODE_EXPAND_ONLY, key_, {}, "next key", next);
    key_ = next;
    OPENSSL_cleanse(next.data(), next.size());
  }
  auto nonce = nonce_base_;
  for (std::size_t n = 0; n < 8; ++n) nonce[nonce.size() - 1 - n] ^= static_cast<std::uint8_t>(texts_ >> 8 * n);
  const bool same_key = texts_ != 0 && !changes_key;
  ++texts_;
  if (EVP_CipherInit_ex2(context_.get(), same_key ? nullptr : cipher(), same_key ? nullptr : key_.data(), nonce.data(),
                         seals ? 1 : 0, nullptr) != 1) {
    fail("AES-256-GCM");
  }
}

void SealedDirection::seal(std::span<const std::uint8_t> text, Bytes& sealed) {
  begin_text(true);
  const std::size_t before = sealed.size();
  sealed.resize(before + text.size() + kSealBytes);
  std::uint8_t* out = sealed.data() + before;
  int count = 0, rest = 0;
  if (EVP_CipherUpdate(context_.get(), out, &count, text.data(), size_of(text)) != 1 ||
      EVP_CipherFinal_ex(context_.get(), out + count, &rest) != 1 ||
      EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kSealBytes, out + text.size()) != 1) {
    fail("AES-256-GCM");
  }
}

bool SealedDirection::open(std::span<const std::uint8_t> sealed, Bytes& text) {
  if (sealed.size() < kSealBytes) return false;
  begin_text(false);
  const auto body = sealed.first(sealed.size() - kSealBytes);
  std::array<std::uint8_t, kSealBytes> seal{};
  std::copy_n(sealed.end() - kSealBytes, kSealBytes, seal.begin());
  const std::size_t before = text.size();
  text.resize(before + body.size());
  int count = 0, rest = 0;
  if (EVP_CipherUpdate(context_.get(), text.data() + before, &count, body.data(), size_of(body)) == 1 &&
      EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kSealBytes, seal.data()) == 1 &&
      EVP_CipherFinal_ex(context_.get(), text.data() + before + count, &rest) == 1) {
    return true;
  }
  // Nobody shall look at what was not proved.
  OPENSSL_cleanse(text.data() + before, body.size());
  text.resize(before);
  return false;
}

}  // namespace openlapi::sealing
