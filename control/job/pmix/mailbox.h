// Brings what libpmix's thread has to say to the thread that runs the loop.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {

class Mailbox {
 public:
  using Letter = std::function<void()>;

  Mailbox() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // Any thread. The letter runs in the loop's thread.
  void post(Letter letter) {
    {
      std::lock_guard held(lock_);
      letters_.push_back(std::move(letter));
    }
    const std::uint64_t one = 1;
    // Only a full counter refuses, and then the loop is awake already.
    [[maybe_unused]] const ssize_t ignored = ::write(event_.get(), &one, sizeof one);
  }

  // The loop: readable when there are letters.
  int fd() const { return event_.get(); }

  void run_letters() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t ignored = ::read(event_.get(), &count, sizeof count);
    std::vector<Letter> letters;
    {
      std::lock_guard held(lock_);
      letters.swap(letters_);
    }
    for (Letter& letter : letters) letter();
  }

 private:
  FileDescriptor event_;
  std::mutex lock_;
  std::vector<Letter> letters_;
};

}  // namespace openlapi
