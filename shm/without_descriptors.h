// What a task does that has no descriptor left to do it with.
#pragma once

#include <functional>

namespace openlapi::shm {

// Runs `body` in a child that has given up what this process has open, and waits until it has ended, which it has at
// the latest after `seconds`. Nothing that `body` throws leaves the child. Where no child can be made, `body` does not
// run.
void run_without_descriptors(unsigned seconds, const std::function<void()>& body);

}  // namespace openlapi::shm
