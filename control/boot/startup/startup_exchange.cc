#include "control/boot/startup/startup_exchange.h"

#include <algorithm>
#include <utility>

namespace openlapi::boot {
namespace {

// The first message over a connection that goes on may come with the answer.
constexpr std::size_t kLongestForClient = 64 << 20;

}  // namespace

StartupExchange::StartupExchange(const StartupKey& key, StartupKind kind, const StartupBytes& payload)
    : is_client_(true), sealed_(key, sealing::Role::kConnects, kind, kLongestForClient) {
  sealed_.send(payload);
}

StartupExchange::StartupExchange(const StartupKey& key, StartupKind kind, std::size_t longest_payload)
    : is_client_(false), sealed_(key, sealing::Role::kAccepts, kind, longest_payload) {}

StartupExchange::State StartupExchange::take(std::span<const std::uint8_t> bytes) {
  if (state_ != State::kGoesOn) return state_;
  if (!sealed_.take(bytes)) return state_ = State::kBroken;
  auto message = sealed_.next();
  if (!message) return state_;
  if (!is_client_) {
    payload_ = std::move(*message);
    return state_ = State::kPayload;
  }
  return state_ = std::ranges::equal(*message, kTaken) ? State::kDone : State::kRefused;
}

}  // namespace openlapi::boot
