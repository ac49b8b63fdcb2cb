#include "control/sealing/universe_word.h"

#include <openssl/hmac.h>

#include <stdexcept>
#include <string_view>

namespace openlapi::sealing {
namespace {

constexpr std::size_t kUniverseWordBytes = 16;
constexpr std::string_view kPurpose = "name of the universe";

}  // namespace

std::string universe_word(const Key& key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(kPurpose.data()), kPurpose.size(), digest.data(),
           nullptr) == nullptr) {
    throw std::runtime_error("libcrypto has no HMAC-SHA256");
  }
  std::string word;
  for (std::size_t n = 0; n < kUniverseWordBytes; ++n) {
    constexpr char kDigits[] = "0123456789abcdef";
    word += {kDigits[digest[n] >> 4], kDigits[digest[n] & 15]};
  }
  return word;
}

}  // namespace openlapi::sealing
