#include "control/job/messages/counted_messages.h"

#include <utility>

namespace openlapi::jobs {
namespace {

// One confirmation for so many: it costs little, and the other end does not keep much.
constexpr std::size_t kMessages = 16;
constexpr std::size_t kBytes = 64 << 10;

}  // namespace

void CountedMessages::sent(daemon::MessageBytes body) { unconfirmed_.push_back(std::move(body)); }

void CountedMessages::confirm(std::uint64_t taken) {
  if (taken > confirmed_ + unconfirmed_.size()) return;
  for (; confirmed_ < taken; ++confirmed_) unconfirmed_.pop_front();
}

bool CountedMessages::took(std::size_t bytes) {
  ++taken_;
  ++messages_since_;
  bytes_since_ += bytes;
  if (messages_since_ < kMessages && bytes_since_ < kBytes) return false;
  messages_since_ = bytes_since_ = 0;
  return true;
}

}  // namespace openlapi::jobs
