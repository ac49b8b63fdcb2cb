// What a life of requests is judged by, after each step and at its end.
#include <algorithm>

#include "tests/unit/rpi/lifecycle/lifecycle_run.h"

namespace openlapi::rpi {

namespace {

constexpr int kMostCopiedBytes = 65536;

std::size_t place_of(const Layout& layout, int at) {
  return static_cast<std::size_t>(at / layout.block * layout.stride + at % layout.block);
}

int number_in(const std::vector<char>& buffer, const Layout& layout) {
  const auto byte = [&](int at) { return static_cast<unsigned char>(buffer[place_of(layout, at)]); };
  return byte(1) | byte(2) << 8;
}

}  // namespace

void LifecycleRun::look() {
  // The data of an orphan lie in its buffer when the host has seen that it is done.
  if (host_->orphans() > 0) host_->progress();
  look_at_receives();
  look_at_sends();
  look_at_receipts();
  model_.judge_rest(0, !has_peers_);  // messages to oneself are not on their way
}

void LifecycleRun::look_at_receives() {
  std::vector<MatchingModel::Match> matches;
  for (const auto& each : known_) {
    Known& known = *each;
    if (known.is_send() || !known.is_active || known.is_done || known.is_cancelled || known.is_orphan) continue;
    const _req& request = *known.handle;
    if (request.rq_state != LAM_RQSDONE) continue;
    known.is_done = true;
    if (known.operation.type == LAM_RQIPROBE) {
      model_.cancel(known.model);
      continue;  // what it found may be gone
    }
    const bool is_truncated = (request.rq_flags & LAM_RQFTRUNC) != 0;
    matches.push_back({known.model, request.rq_status, request.rq_seq, is_truncated});
    known.number = request.rq_seq;
  }
  look_at_orphans(matches);
  model_.take(matches);
}

// Only its data tell what a receive got that was freed.
void LifecycleRun::look_at_orphans(std::vector<MatchingModel::Match>& matches) {
  std::size_t open = 0;
  for (const auto& each : known_) {
    Known& known = *each;
    const Layout& layout = known.operation.layout;
    if (!known.is_orphan || known.is_done) continue;
    const bool has_data = known.buffer[place_of(layout, 0)] != kUntouched;
    open += has_data ? 0 : 1;
    if (!has_data) continue;
    known.is_done = true;
    known.is_active = false;
    known.handle = MPI_REQUEST_NULL;
    const int source = known.buffer[place_of(layout, 0)], number = number_in(known.buffer, layout);
    const ModelMessage* message = model_.find_message(source, number);
    if (message == nullptr) throw Failure("an orphan got what nobody has sent");
    const int length = std::min(message->length, layout.size());
    judge_data(known, source, number, length);
    matches.push_back({known.model, {source, message->tag, 0, length}, number, message->length > layout.size()});
  }
  if (host_->orphans() < open) throw Failure("an orphan is gone that is not done");
}

void LifecycleRun::look_at_sends() {
  for (const auto& each : known_) {
    Known& known = *each;
    if (!known.is_send() || !known.is_active || known.is_cancelled) continue;
    const bool is_done = known.handle->rq_state == LAM_RQSDONE;
    known.is_done = is_done;
    if (known.operation.peer != 0) continue;
    const bool must_wait = known.operation.type == LAM_RQISSEND || known.operation.layout.size() > kMostCopiedBytes;
    const bool is_received = model_.message(known.model).is_taken;
    if (is_done && must_wait && !is_received) {
      throw Failure("a send is done before its message is received: " + shown(model_.message(known.model)));
    }
    if (!is_done && (is_received || !must_wait)) {
      throw Failure("a send is not done: " + shown(model_.message(known.model)));
    }
  }
}

void LifecycleRun::look_at_receipts() {
  for (int n = 0; has_peers_ && n < kPeerModules; ++n) {
    const auto& receipts = peers(n).receipts;
    for (std::size_t& seen = receipts_seen_[n]; seen < receipts.size(); ++seen) {
      for (std::size_t earlier = 0; earlier < seen; ++earlier) {
        if (receipts[earlier].first == receipts[seen].first && receipts[earlier].second >= receipts[seen].second) {
          throw Failure("rank " + std::to_string(receipts[seen].first) + " received message " +
                        std::to_string(receipts[seen].second) + " after a later one");
        }
      }
      for (const auto& each : known_) {
        if (each->is_send() && each->is_cancelled && each->operation.peer == receipts[seen].first &&
            each->number == receipts[seen].second) {
          throw Failure("a message was received that was cancelled");
        }
      }
    }
  }
}

void LifecycleRun::judge_handle(const Known& known) {
  const bool is_persistent = (known.operation.marks & LAM_RQFPERSIST) != 0;
  if ((known.handle != MPI_REQUEST_NULL) == is_persistent) return;
  throw Failure(is_persistent ? "a persistent request is gone" : "a request is left that is complete");
}

void LifecycleRun::judge_completion(Known& known, const MPI_Status& status) {
  const bool was_expected = known.is_done || known.is_cancelled;
  if (!was_expected) throw Failure("a request is complete that was not done");
  if ((status.MPI_SOURCE == MPI_CANCEL_SOURCE) != known.is_cancelled) {
    throw Failure(known.is_cancelled ? "a cancelled request does not say so" : "a request says cancelled");
  }
  known.is_active = false;
  judge_handle(known);
  if (known.operation.type != LAM_RQIRECV) return;
  if (known.is_cancelled) {
    if (std::ranges::any_of(known.buffer, [](char each) { return each != kUntouched; })) {
      throw Failure("a receive that was cancelled has data");
    }
    return;
  }
  judge_data(known, status.MPI_SOURCE, known.number, status.st_length);
}

void LifecycleRun::judge_data(const Known& known, int source, int number, int length) const {
  const Layout& layout = known.operation.layout;
  std::vector<char> expected(known.buffer.size(), kUntouched);
  for (int at = 0; at < length; ++at) expected[place_of(layout, at)] = data_byte(source, number, at);
  if (expected != known.buffer) {
    throw Failure("the data of message " + std::to_string(number) + " of rank " + std::to_string(source) +
                  " are wrong, or lie where none belong");
  }
}

// Everything that can be received is; the rest is cancelled and complete.
void LifecycleRun::finish() {
  for (int n = 0; has_peers_ && n < kPeerModules; ++n) peers(n).receive_next(1'000'000);
  // A request in each module, so that it is called.
  for (int rank = 0; has_peers_ && rank <= 2; ++rank) {
    add({.type = LAM_RQIRECV, .layout = contiguous(0), .peer = rank, .tag = 999, .comm = communicators_[0]->handle()});
  }
  for (int n = 0; n < 3; ++n) {
    host_->progress();
    look();
  }
  for (int rank = 0; rank < lam_num_procs; ++rank) model_.judge_rest(rank, true);
  for (const auto& each : known_) {
    if (each->is_active && each->is_send() && !each->is_cancelled && each->operation.peer != 0 && !each->is_done) {
      throw Failure("a send to a peer is not done that the peer has received");
    }
    if (each->is_orphan || each->handle == MPI_REQUEST_NULL) continue;
    if (each->is_active) {
      if (!each->is_done && !each->is_cancelled) {
        host_->cancel(each->handle);
        each->is_cancelled = true;
      }
      MPI_Request handle = each->handle;
      const MPI_Status status = host_->wait(handle);
      each->handle = handle;
      judge_completion(*each, status);
    }
    if (each->handle != MPI_REQUEST_NULL) host_->free(each->handle);
  }
  std::size_t orphans = 0;
  for (const auto& each : known_) orphans += each->is_orphan && !each->is_done ? 1 : 0;
  if (host_->orphans() != orphans) {
    throw Failure(std::to_string(host_->orphans()) + " orphans are left, not " + std::to_string(orphans));
  }
}

}  // namespace openlapi::rpi
