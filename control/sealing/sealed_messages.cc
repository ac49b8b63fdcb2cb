#include "control/sealing/sealed_messages.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

#include "dataplane/base/byte_codec.h"
#include "dataplane/base/random_number.h"

namespace openlapi::sealing {
namespace {

constexpr std::size_t kFixedBytes = 8;        // of a hello, before its nonce
constexpr std::size_t kMostKeptIdle = 65536;  // memory that a connection keeps between messages

}  // namespace

SealedMessages::SealedMessages(const Key& key, Role role, Purpose purpose, std::size_t longest)
    : key_(key), role_(role), longest_(longest) {
  own_hello_ = {'L', 'A', 'M', 'S', 1, static_cast<std::uint8_t>(purpose), 0, 0};
  own_hello_.resize(kHelloBytes);
  fill_randomly(std::span(own_hello_).subspan(kFixedBytes));
  outgoing_ = own_hello_;
}

void SealedMessages::await(Stage stage, std::size_t bytes) {
  stage_ = stage;
  wanted_ = bytes;
  piece_.clear();
  if (piece_.capacity() > kMostKeptIdle) piece_ = {};
}

void SealedMessages::queue(std::span<const std::uint8_t> message) {
  out_->seal(little_bytes(static_cast<std::uint32_t>(message.size())), outgoing_);
  if (!message.empty()) out_->seal(message, outgoing_);
}

bool SealedMessages::is_hello_possible() const {
  const std::size_t compared = std::min(piece_.size(), kFixedBytes);
  return std::equal(own_hello_.begin(), own_hello_.begin() + static_cast<std::ptrdiff_t>(compared), piece_.begin());
}

void SealedMessages::take_hello() {
  const bool connects = role_ == Role::kConnects;
  Bytes salt = connects ? own_hello_ : piece_;
  const Bytes& second = connects ? piece_ : own_hello_;
  salt.insert(salt.end(), second.begin(), second.end());
  in_.emplace(key_, salt, connects ? "openlapi accepts" : "openlapi connects");
  out_.emplace(key_, salt, connects ? "openlapi connects" : "openlapi accepts");
  OPENSSL_cleanse(key_.data(), key_.size());
  queue({});
  await(Stage::kProof, kSealedLengthBytes);
}

void SealedMessages::take_length() {
  Bytes text;
  if (!in_->open(piece_, text)) return void(broken_ = true);
  const std::size_t length = ByteReader(text).number();
  const bool proves = stage_ == Stage::kProof;
  if (length > (proves ? 0 : longest_)) return void(broken_ = true);
  if (length > 0) return await(Stage::kMessage, length + kSealBytes);
  await(Stage::kLength, kSealedLengthBytes);
  if (!proves) return void(messages_.emplace_back());
  for (const Bytes& message : std::exchange(held_, {})) queue(message);
}

void SealedMessages::take_message() {
  Bytes text;
  if (!in_->open(piece_, text)) return void(broken_ = true);
  messages_.push_back(std::move(text));
  await(Stage::kLength, kSealedLengthBytes);
}

void SealedMessages::take_piece() {
  if (stage_ == Stage::kHello) return take_hello();
  if (stage_ == Stage::kMessage) return take_message();
  take_length();
}

bool SealedMessages::take(std::span<const std::uint8_t> bytes) {
  while (!broken_ && !bytes.empty()) {
    const auto some = bytes.first(std::min(bytes.size(), wanted_ - piece_.size()));
    piece_.insert(piece_.end(), some.begin(), some.end());
    bytes = bytes.subspan(some.size());
    if (stage_ == Stage::kHello) broken_ = !is_hello_possible();
    if (!broken_ && piece_.size() == wanted_) take_piece();
  }
  return !broken_;
}

void SealedMessages::send(std::span<const std::uint8_t> message) {
  if (is_proven()) return queue(message);
  held_.emplace_back(message.begin(), message.end());
}

std::optional<Bytes> SealedMessages::next() {
  if (messages_.empty()) return std::nullopt;
  Bytes message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

}  // namespace openlapi::sealing
