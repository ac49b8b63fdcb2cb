// Messages that their header handlers have refused so far, and messages to oneself that wait for the next step, in the
// order in which they will be offered again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "dataplane/message/step_signs.h"
#include "dataplane/message/whole_message.h"

namespace openlapi {

class RefusedMessages {
 public:
  RefusedMessages(PeerIndex self, StepSigns& signs) : self_(self), signs_(signs) {}

  // A message begins to wait; or one that was taken out was refused again.
  void add(WaitingMessage message) {
    if (message.source == self_) ++own_waiting_;
    put_back(std::move(message));
  }
  void put_back(WaitingMessage message) {
    waiting_.push_back(std::move(message));
    signs_.set(StepSigns::refused, true);
  }
  WaitingMessage& newest() { return waiting_.back(); }
  WaitingMessage take_oldest() {
    WaitingMessage oldest = std::move(waiting_.front());
    waiting_.pop_front();
    signs_.set(StepSigns::refused, !waiting_.empty());
    return oldest;
  }
  // A message that was taken out was delivered, or its source is gone.
  void ended(const WaitingMessage& message) {
    if (message.source == self_) --own_waiting_;
  }
  void give_up(PeerIndex source) {
    std::erase_if(waiting_, [&](const WaitingMessage& waiting) { return waiting.source == source; });
    signs_.set(StepSigns::refused, !waiting_.empty());
  }

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }

  // Messages to oneself are numbered when they begin to wait.
  std::uint64_t next_own_number() { return ++own_kept_; }
  std::uint64_t newest_own_number() const { return own_kept_; }
  std::size_t own_waiting() const { return own_waiting_; }
  bool any_own_up_to(std::uint64_t number) const {
    return own_waiting_ != 0 && std::any_of(waiting_.begin(), waiting_.end(), [&](const WaitingMessage& waiting) {
             return waiting.source == self_ && waiting.number <= number;
           });
  }

  // The next message that is added has not been offered at all.
  void next_is_untried() { untried_ = waiting_.size() + 1; }
  bool any_untried() const { return untried_ != 0; }
  void offered(std::size_t count) { untried_ -= std::min(untried_, count); }

 private:
  PeerIndex self_;
  StepSigns& signs_;
  std::deque<WaitingMessage> waiting_;
  std::uint64_t own_kept_ = 0;  // messages to oneself that had to wait, so far
  std::size_t own_waiting_ = 0;
  std::size_t untried_ = 0;  // some of the first so many in waiting_ were not offered at all
};

}  // namespace openlapi
