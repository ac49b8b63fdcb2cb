// Huge pages of this machine. EAL ends with an error when it finds fewer than it was started for, and cannot be started
// a second time; so it is known before whether they suffice.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::dpdk {

inline constexpr const char* kHugePages = "/sys/kernel/mm/hugepages";

// Bytes in free pages that nobody has reserved. `folder` is kHugePages except in tests.
std::uint64_t free_huge_bytes(const std::string& folder = kHugePages);

// Whether this process gets so many bytes in pages of one size: some may be free and a limit (a container's) forbid it.
bool huge_pages_hold(std::uint64_t bytes, const std::string& folder = kHugePages);

// What each task of a job on this machine takes.
struct HugePageNeed {
  std::uint64_t bytes = 0;
  std::uint32_t tasks = UINT32_MAX;  // of the job on this machine; not known: the largest number
};

// Tasks of a machine that start together would all count the same free pages. Each waits for its turn, and has it from
// its count until it has taken its pages. Nobody waits for pages that are too few for one task, or that are enough for
// all, nor longer than `patience`: who has no turn then takes ordinary pages.
class HugePageTurn {
 public:
  explicit HugePageTurn(HugePageNeed need, const std::string& folder = kHugePages,
                        std::chrono::milliseconds patience = std::chrono::seconds(30));
  ~HugePageTurn();
  HugePageTurn(const HugePageTurn&) = delete;
  HugePageTurn& operator=(const HugePageTurn&) = delete;

  bool held() const { return folder_.is_open(); }          // others wait for it
  bool may_take() const { return held() || are_plenty_; }  // huge pages

 private:
  void wait_for_lock(std::chrono::milliseconds patience);

  FileDescriptor folder_;  // with a lock on it
  bool are_plenty_ = false;
};

}  // namespace openlapi::dpdk
