// Threads of a boot algorithm. If one cannot be started, the others do its work.
#pragma once

#include <system_error>
#include <thread>
#include <vector>

namespace openlapi::boot {

// Returns how many were started.
template <typename Work>
int start_threads(std::vector<std::jthread>& threads, int count, const Work& work) {
  for (int n = 0; n < count; ++n) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {
      return n;
    }
  }
  return count;
}

}  // namespace openlapi::boot
