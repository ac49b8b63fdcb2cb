// What the loop waits for in one round, with what to do then. Built anew each round from the present state, so that
// nothing has to be unregistered.
#pragma once

#include <poll.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace openlapi {

class PollSet {
 public:
  using Handler = std::function<void()>;

  void add(int fd, short events, Handler handler) {
    descriptors_.push_back({fd, events, 0});
    handlers_.push_back(std::move(handler));
  }

  // Waits at most `milliseconds` (-1: for ever) and runs the handlers of what is ready (or hung up).
  void wait(int milliseconds) {
    if (::poll(descriptors_.data(), descriptors_.size(), milliseconds) <= 0) return;
    for (std::size_t i = 0; i < descriptors_.size(); ++i)
      if (descriptors_[i].revents != 0) handlers_[i]();
  }

 private:
  std::vector<pollfd> descriptors_;
  std::vector<Handler> handlers_;
};

}  // namespace openlapi
