#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "dataplane/base/siphash.h"

namespace openlapi {
namespace {

using Random = std::mt19937_64;
using Bytes = std::vector<std::byte>;

const std::uint8_t* octets(const std::byte* bytes) { return reinterpret_cast<const std::uint8_t*>(bytes); }

class SipHashOfLibcrypto : public testing::Test {
 protected:
  std::uint64_t libcrypto_answers(const SipKey& key, const Bytes& message) {
    std::size_t size = sizeof(std::uint64_t);
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size),
                                     OSSL_PARAM_construct_end()};
    std::byte sixteen[sizeof key];
    std::memcpy(sixteen, &key.low, sizeof key.low);
    std::memcpy(sixteen + sizeof key.low, &key.high, sizeof key.high);
    std::uint8_t answer[sizeof(std::uint64_t)] = {};
    std::size_t length = 0;
    EXPECT_EQ(EVP_MAC_init(context_.get(), octets(sixteen), sizeof sixteen, parameters), 1);
    EXPECT_EQ(EVP_MAC_update(context_.get(), octets(message.data()), message.size()), 1);
    EXPECT_EQ(EVP_MAC_final(context_.get(), answer, &length, sizeof answer), 1);
    EXPECT_EQ(length, sizeof answer);
    std::uint64_t word;
    std::memcpy(&word, answer, sizeof word);
    return word;
  }

  Bytes some_bytes(std::size_t length) {
    Bytes bytes(length);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
    return bytes;
  }
  SipKey some_key() { return {random_(), random_()}; }

  Random random_{1};

 private:
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac_{EVP_MAC_fetch(nullptr, "SIPHASH", nullptr),
                                                               EVP_MAC_free};
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context_{EVP_MAC_CTX_new(mac_.get()),
                                                                           EVP_MAC_CTX_free};
};

TEST_F(SipHashOfLibcrypto, IsOursForMessagesOfEveryLength) {
  for (std::size_t length = 0; length <= 1500; ++length) {
    const SipKey key = some_key();
    const Bytes message = some_bytes(length);
    SipHash hash(key);
    hash.add(message);
    ASSERT_EQ(hash.finish(), libcrypto_answers(key, message)) << length << " bytes";
  }
}

TEST_F(SipHashOfLibcrypto, IsOursForALongMessage) {
  const SipKey key = some_key();
  const Bytes message = some_bytes(65535);
  SipHash hash(key);
  hash.add(message);
  EXPECT_EQ(hash.finish(), libcrypto_answers(key, message));
}

TEST_F(SipHashOfLibcrypto, IsOursWhereverAMessageIsDivided) {
  const SipKey key = some_key();
  const Bytes message = some_bytes(61);
  const std::span<const std::byte> all(message);
  const std::uint64_t answer = libcrypto_answers(key, message);
  for (std::size_t first = 0; first <= all.size(); ++first) {
    for (std::size_t second = first; second <= all.size(); ++second) {
      SipHash hash(key);
      hash.add(all.first(first));
      hash.add(all.subspan(first, second - first));
      hash.add(all.subspan(second));
      ASSERT_EQ(hash.finish(), answer) << first << ", " << second;
    }
  }
}

TEST_F(SipHashOfLibcrypto, IsOursForWords) {
  for (std::size_t count = 0; count <= 16; ++count) {
    const SipKey key = some_key();
    std::vector<std::uint64_t> words(count);
    for (std::uint64_t& word : words) word = random_();
    Bytes message(count * sizeof(std::uint64_t));
    if (count != 0) std::memcpy(message.data(), words.data(), message.size());
    ASSERT_EQ(siphash(key, words), libcrypto_answers(key, message)) << count << " words";
  }
}

}  // namespace
}  // namespace openlapi
