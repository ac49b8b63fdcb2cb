#include "control/boot/startup_exchange.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "control/boot/boot_error.h"
#include "dataplane/base/random_number.h"

namespace openlapi::boot {
namespace {

constexpr std::size_t kProof = 32;
constexpr std::size_t kHello = 8 + kProof;

}  // namespace

StartupKey keyed_hash(const StartupKey& key, std::span<const std::uint8_t> text) {
  StartupKey hash{};
  unsigned int length = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text.data(), text.size(), hash.data(), &length) ==
      nullptr) {
    throw BootError("libcrypto has no HMAC-SHA256");
  }
  return hash;
}

StartupExchange::StartupExchange(const StartupKey& key, StartupKind kind, StartupBytes payload)
    : key_(key), kind_(kind), is_client_(true), payload_(std::move(payload)) {
  fill_randomly(client_nonce_);
  const std::uint8_t begin[] = {'L', 'A', 'M', '1', static_cast<std::uint8_t>(kind), 0, 0, 0};
  send(begin);
  send(client_nonce_);
}

StartupExchange::StartupExchange(const StartupKey& key, StartupKind kind, std::size_t longest_payload)
    : key_(key), kind_(kind), is_client_(false), longest_(longest_payload) {
  fill_randomly(server_nonce_);
}

StartupExchange::Proof StartupExchange::proof(std::string_view who, std::span<const std::uint8_t> payload) const {
  StartupBytes text(who.begin(), who.end());
  text.push_back(static_cast<std::uint8_t>(kind_));
  text.insert(text.end(), client_nonce_.begin(), client_nonce_.end());
  text.insert(text.end(), server_nonce_.begin(), server_nonce_.end());
  text.insert(text.end(), payload.begin(), payload.end());
  return keyed_hash(key_, text);
}

bool StartupExchange::take_proof(std::string_view who, std::span<const std::uint8_t> payload,
                                 std::size_t offset) const {
  return CRYPTO_memcmp(proof(who, payload).data(), incoming_.data() + offset, kProof) == 0;
}

std::size_t StartupExchange::wanted() const {
  if (!is_client_) return SIZE_MAX;
  const std::size_t whole = step_ == 0 ? 2 * kProof : kProof;
  return whole - std::min(whole, incoming_.size());
}

StartupExchange::State StartupExchange::take(std::span<const std::uint8_t> bytes) {
  if (state_ != State::kGoesOn) return state_;
  incoming_.insert(incoming_.end(), bytes.begin(), bytes.end());
  return is_client_ ? take_as_client() : take_as_server();
}

StartupExchange::State StartupExchange::take_as_client() {
  if (step_ == 0 && incoming_.size() >= 2 * kProof) {
    std::copy_n(incoming_.begin(), kProof, server_nonce_.begin());
    if (!take_proof("server", {}, kProof)) return refuse();
    incoming_.erase(incoming_.begin(), incoming_.begin() + 2 * kProof);
    step_ = 1;
    const auto length = static_cast<std::uint32_t>(payload_.size());
    for (int shift = 0; shift < 32; shift += 8) outgoing_.push_back(static_cast<std::uint8_t>(length >> shift));
    send(payload_);
    send(proof("client", payload_));
  }
  if (step_ == 1 && incoming_.size() >= kProof) {
    if (!take_proof("taken ", {}, 0)) return refuse();
    state_ = State::kDone;
  }
  return state_;
}

bool StartupExchange::has_hello() {
  const std::uint8_t begin[] = {'L', 'A', 'M', '1', static_cast<std::uint8_t>(kind_), 0, 0, 0};
  return std::equal(std::begin(begin), std::end(begin), incoming_.begin());
}

StartupExchange::State StartupExchange::take_as_server() {
  if (step_ == 0 && incoming_.size() >= kHello) {
    if (!has_hello()) return refuse();
    std::copy_n(incoming_.begin() + 8, kProof, client_nonce_.begin());
    incoming_.erase(incoming_.begin(), incoming_.begin() + kHello);
    step_ = 1;
    send(server_nonce_);
    send(proof("server", {}));
  }
  if (step_ == 1 && incoming_.size() >= 4) {
    const std::size_t length =
        incoming_[0] | incoming_[1] << 8 | incoming_[2] << 16 | static_cast<std::size_t>(incoming_[3]) << 24;
    if (length > longest_ || incoming_.size() > 4 + length + kProof) return refuse();
    if (incoming_.size() < 4 + length + kProof) return state_;
    const std::span<const std::uint8_t> payload(incoming_.data() + 4, length);
    if (!take_proof("client", payload, 4 + length)) return refuse();
    payload_.assign(payload.begin(), payload.end());
    state_ = State::kPayload;
  }
  return state_;
}

void StartupExchange::accept() {
  send(proof("taken ", {}));
  state_ = State::kDone;
}

}  // namespace openlapi::boot
