#include "control/job/origin/output_forwarder.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "control/base/fork_failure.h"

namespace openlapi {
namespace {

constexpr int kPiecesPerRound = 64;  // then signals and tasks are looked at again

}  // namespace

OutputForwarder::OutputForwarder(int output, int errors, bool tag)
    : output_{output, LineMerger(tag)}, errors_{errors, LineMerger(tag)} {}

void OutputForwarder::note(std::string_view text) {
  if (!errors_.reader_gone) errors_.merger.add_note(std::string(text) + "\n", errors_.waiting);
}

void OutputForwarder::take(std::uint32_t task, bool errors, std::string_view text) {
  Stream& stream = errors ? errors_ : output_;
  if (!stream.reader_gone) stream.merger.add(task, text, stream.waiting);
}

bool OutputForwarder::note_lost(std::string_view before, std::string_view after) {
  bool lost = false;
  for (Stream* stream : {&output_, &errors_}) {
    const int error = std::exchange(stream->error, 0);
    if (error == 0) continue;
    lost = true;
    note(std::string(before) + "cannot write the standard " + (stream == &output_ ? "output" : "error") +
         " of the tasks: " + std::strerror(error) + (error == EFBIG ? file_limit() : "") + std::string(after));
  }
  return lost;
}

void OutputForwarder::watch(PollSet& poll_set) {
  for (Stream* stream : {&output_, &errors_}) {
    if (!stream->waiting.empty()) poll_set.add(stream->fd, POLLOUT, [stream] { write_waiting(*stream); });
  }
}

void OutputForwarder::write_waiting(Stream& stream) {
  for (int pieces = 0; pieces < kPiecesPerRound && write_piece(stream); ++pieces) {
    pollfd next{stream.fd, POLLOUT, 0};
    if (::poll(&next, 1, 0) != 1) return;
  }
}

// The descriptor is shared with others, so it cannot be made non-blocking; what poll called writable takes a piece of
// this size without blocking. False when there is no more to write.
bool OutputForwarder::write_piece(Stream& stream) {
  const std::size_t size = std::min(stream.waiting.size() - stream.written, std::size_t{PIPE_BUF});
  const ssize_t written = ::write(stream.fd, stream.waiting.data() + stream.written, size);
  if (written >= 0) {
    stream.written += static_cast<std::size_t>(written);
  } else if (errno != EAGAIN && errno != EINTR) {
    stream.reader_gone = true;
    if (errno != EPIPE) stream.error = errno;
  }
  if (!stream.reader_gone && stream.written < stream.waiting.size()) return true;
  stream.waiting.clear();
  stream.written = 0;
  return false;
}

}  // namespace openlapi
