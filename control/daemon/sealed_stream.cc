#include "control/daemon/sealed_stream.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <stdexcept>

#include "dataplane/base/random_number.h"

namespace openlapi::daemon {
namespace {

constexpr std::array<std::uint8_t, 8> kBegin = {'L', 'A', 'M', 'D', 1, 0, 0, 0};
constexpr std::size_t kHello = kBegin.size() + 32;
constexpr std::size_t kSeal = 16;

std::array<std::uint8_t, 32> keyed_digest(std::span<const std::uint8_t> key, std::span<const std::uint8_t> text) {
  std::array<std::uint8_t, 32> digest{};
  unsigned int length = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text.data(), text.size(), digest.data(), &length) ==
      nullptr) {
    throw std::runtime_error("libcrypto has no HMAC-SHA256");
  }
  return digest;
}

MessageBytes direction_text(std::string_view sender, const MessageBytes& connects, const MessageBytes& accepts) {
  MessageBytes text(sender.begin(), sender.end());
  text.insert(text.end(), connects.begin(), connects.end());
  text.insert(text.end(), accepts.begin(), accepts.end());
  return text;
}

}  // namespace

SealedStream::SealedStream(const BootKey& key, Role role) : boot_key_(key), role_(role) {
  own_hello_.assign(kHello, 0);
  std::ranges::copy(kBegin, own_hello_.begin());
  fill_randomly(std::span(own_hello_).subspan(kBegin.size()));
  outgoing_ = own_hello_;
}

std::array<std::uint8_t, 16> SealedStream::seal(const Direction& direction, std::span<const std::uint8_t> frame) {
  MessageBytes text;
  for (int shift = 0; shift < 64; shift += 8) text.push_back(static_cast<std::uint8_t>(direction.frames >> shift));
  text.insert(text.end(), frame.begin(), frame.end());
  const auto digest = keyed_digest(direction.key, text);
  std::array<std::uint8_t, 16> seal{};
  std::copy_n(digest.begin(), kSeal, seal.begin());
  return seal;
}

void SealedStream::seal_and_queue(std::span<const std::uint8_t> message) {
  MessageBytes frame;
  append_length(frame, message.size());
  frame.insert(frame.end(), message.begin(), message.end());
  const auto mark = seal(out_, frame);
  ++out_.frames;
  outgoing_.insert(outgoing_.end(), frame.begin(), frame.end());
  outgoing_.insert(outgoing_.end(), mark.begin(), mark.end());
}

void SealedStream::take_hello() {
  const std::size_t compared = std::min(incoming_.size(), kBegin.size());
  if (!std::equal(kBegin.begin(), kBegin.begin() + static_cast<std::ptrdiff_t>(compared), incoming_.begin())) {
    broken_ = true;
    return;
  }
  if (incoming_.size() < kHello) return;
  const MessageBytes hello(incoming_.begin(), incoming_.begin() + kHello);
  incoming_.erase(incoming_.begin(), incoming_.begin() + kHello);
  const bool connects = role_ == Role::kConnects;
  const MessageBytes& first = connects ? own_hello_ : hello;
  const MessageBytes& second = connects ? hello : own_hello_;
  in_.key = keyed_digest(boot_key_, direction_text(connects ? "accepts " : "connects", first, second));
  out_.key = keyed_digest(boot_key_, direction_text(connects ? "connects" : "accepts ", first, second));
  greeted_ = true;
  seal_and_queue({});
}

// True: there may be another.
bool SealedStream::take_frame() {
  const auto length = frame_length(proven_ ? kLongestMessage : 0);
  if (!length || incoming_.size() < 4 + *length + kSeal) return false;
  const std::span<const std::uint8_t> frame(incoming_.data(), 4 + *length);
  if (CRYPTO_memcmp(seal(in_, frame).data(), incoming_.data() + frame.size(), kSeal) != 0) {
    broken_ = true;
    return false;
  }
  ++in_.frames;
  if (proven_) messages_.emplace_back(frame.begin() + 4, frame.end());
  incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(frame.size() + kSeal));
  if (!proven_) {
    proven_ = true;
    for (const MessageBytes& message : held_) seal_and_queue(message);
    held_.clear();
  }
  return true;
}

bool SealedStream::take(std::span<const std::uint8_t> bytes) {
  if (broken_) return false;
  incoming_.insert(incoming_.end(), bytes.begin(), bytes.end());
  if (!greeted_) take_hello();
  while (!broken_ && greeted_ && take_frame()) {
  }
  return !broken_;
}

void SealedStream::send(MessageBytes message) {
  if (proven_) {
    seal_and_queue(message);
  } else {
    held_.push_back(std::move(message));
  }
}

}  // namespace openlapi::daemon
