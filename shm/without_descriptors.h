// For a task that has run out of file descriptors.
#pragma once

#include <functional>

namespace openlapi::shm {

// Runs `body` in a child process that has closed all descriptors of this process, and waits for its end, at most
// `seconds`. Exceptions that `body` throws do not leave the child. If no child can be made, `body` does not run.
void run_without_descriptors(unsigned seconds, const std::function<void()>& body);

}  // namespace openlapi::shm
