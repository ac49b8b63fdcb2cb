#include "tests/unit/rpi/job/loaded_process.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

namespace openlapi::rpi {
namespace {

constexpr int kTags = 3, kContexts = 2, kMostLength = 6000;
constexpr char kUntouched = 0x7e;

// The same in all processes.
ModelMessage planned(int from, int to, int number) {
  std::mt19937 random(static_cast<unsigned>((from * 16 + to) * 100'000 + number));
  const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  const int lengths[] = {4, 4 + below(300), 4 + below(kMostLength)};
  return {below(kContexts), from, below(kTags), lengths[below(3)], number};
}

char byte_of(int from, int number, std::size_t place) {
  return static_cast<char>(from * 31 + number * 7 + static_cast<int>(place));
}

}  // namespace

LoadedProcess::LoadedProcess(int rank, int messages, unsigned seed)
    : rank_(rank),
      messages_(messages),
      random_(seed * 64 + static_cast<unsigned>(rank)),
      sent_(job_processes().size()) {
  for (int from = 0; from < lam_num_procs; ++from) {
    for (int number = 0; number < messages; ++number) model_.add(planned(from, rank, number));
  }
}

void LoadedProcess::send_next(int to) {
  const int number = sent_[static_cast<std::size_t>(to)]++;
  const ModelMessage message = planned(rank_, to, number);
  Pending& send = pending_.emplace_back();
  for (std::size_t place = 0; place < static_cast<std::size_t>(message.length); ++place) {
    send.buffer.push_back(byte_of(rank_, number, place));
  }
  std::memcpy(send.buffer.data(), &number, sizeof number);
  send.operation = process_.send(to, message.tag, send.buffer.data(), message.length, message.context);
  if (below(5) == 0) send.operation.type = LAM_RQISSEND;
  send.handle = host().build_and_start(send.operation);
}

void LoadedProcess::receive(int from, int tag, int context) {
  Pending& receive = pending_.emplace_back();
  const int room = below(6) == 0 ? 4 + static_cast<int>(below(100)) : kMostLength + 10;
  receive.buffer.assign(static_cast<std::size_t>(room), kUntouched);
  receive.operation = process_.receive(from, tag, receive.buffer.data(), room, context);
  receive.model = model_.add(ModelRequest{context, from, tag, room});
  receive.handle = host().build_and_start(receive.operation);
}

void LoadedProcess::act() {
  const std::size_t choice = below(10);
  const int peer = static_cast<int>(below(sent_.size()));
  if (choice < 5) {
    if (sent_[static_cast<std::size_t>(peer)] < messages_) send_next(peer);
  } else if (choice < 9 && pending_.size() < 40) {
    receive(below(2) == 0 ? MPI_ANY_SOURCE : peer, below(2) == 0 ? MPI_ANY_TAG : static_cast<int>(below(kTags)),
            static_cast<int>(below(kContexts)));
  }
  look();
}

void LoadedProcess::cancel() {
  if (pending_.empty()) return;
  Pending& chosen = *std::next(pending_.begin(), static_cast<std::ptrdiff_t>(below(pending_.size())));
  if (chosen.operation.type == LAM_RQIRECV) host().cancel(chosen.handle);
}

void LoadedProcess::look() {
  host().progress();
  for (auto each = pending_.begin(); each != pending_.end();) {
    MPI_Status status{};
    if (!host().test(each->handle, &status)) {
      ++each;
      continue;
    }
    if (each->operation.type == LAM_RQIRECV) judge(*each, status);
    each = pending_.erase(each);
  }
}

void LoadedProcess::judge(Pending& receive, const MPI_Status& status) {
  if (status.MPI_SOURCE == MPI_CANCEL_SOURCE) return model_.cancel(receive.model);
  const bool truncated = status.MPI_ERROR == MPI_ERR_TRUNCATE;
  if (status.MPI_ERROR != MPI_SUCCESS && !truncated) {
    throw Failure("a receive has failed: error " + std::to_string(status.MPI_ERROR));
  }
  int number = 0;
  std::memcpy(&number, receive.buffer.data(), sizeof number);
  for (std::size_t place = sizeof number; place < receive.buffer.size(); ++place) {
    const bool is_data = place < static_cast<std::size_t>(status.st_length);
    if (receive.buffer[place] == (is_data ? byte_of(status.MPI_SOURCE, number, place) : kUntouched)) continue;
    throw Failure("wrong data in message " + std::to_string(number) + " of " + std::to_string(status.MPI_SOURCE));
  }
  matches_.push_back({receive.model, status, number, truncated});
}

void LoadedProcess::finish() {
  for (int to = 0; to < lam_num_procs; ++to) {
    while (sent_[static_cast<std::size_t>(to)] < messages_) send_next(to);
  }
  const auto all = static_cast<std::size_t>(messages_ * lam_num_procs);
  while (matches_.size() < all) {
    for (int context = 0; context < kContexts; ++context) {
      if (host().iprobe(process_.comm(context), MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_STATUS_IGNORE)) {
        receive(MPI_ANY_SOURCE, MPI_ANY_TAG, context);
      }
    }
    look();
  }
  for (Pending& each : pending_) {
    if (each.operation.type == LAM_RQIRECV) host().cancel(each.handle);
  }
  while (!pending_.empty()) look();
  model_.take(matches_);
  for (int from = 0; from < lam_num_procs; ++from) model_.judge_rest(from, true);
}

}  // namespace openlapi::rpi
