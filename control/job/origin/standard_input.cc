#include "control/job/origin/standard_input.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace openlapi {

bool StandardInput::open(std::string& error) {
  if (isatty(STDIN_FILENO) == 0) {
    task_end_.reset(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  } else {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) == 0) {
      task_end_.reset(ends[0]);
      pipe_.reset(ends[1]);
      fcntl(ends[1], F_SETFL, O_NONBLOCK);
    }
  }
  if (task_end_.is_open()) return true;
  error = std::string("cannot hand over standard input: ") + std::strerror(errno);
  return false;
}

void StandardInput::watch(PollSet& poll_set) {
  if (!pipe_.is_open()) return;
  if (!waiting_.empty()) {
    poll_set.add(pipe_.get(), POLLOUT, [this] { pass_on(); });
  } else if (tcgetpgrp(STDIN_FILENO) == getpgrp()) {
    poll_set.add(STDIN_FILENO, POLLIN, [this] { read_terminal(); });
  }
}

void StandardInput::read_terminal() {
  char buffer[4096];
  const ssize_t count = read(STDIN_FILENO, buffer, sizeof buffer);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    pipe_.reset();
    return;
  }
  waiting_.assign(buffer, static_cast<std::size_t>(count));
  pass_on();
}

void StandardInput::pass_on() {
  const ssize_t count = write(pipe_.get(), waiting_.data(), waiting_.size());
  if (count >= 0) {
    waiting_.erase(0, static_cast<std::size_t>(count));
  } else if (errno != EAGAIN && errno != EINTR) {
    waiting_.clear();
    pipe_.reset();  // task 0 reads no more
  }
}

}  // namespace openlapi
