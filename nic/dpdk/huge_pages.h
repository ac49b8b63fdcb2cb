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

// Tasks of a machine that start together would all count the same free pages. Each waits for its turn, and has it from
// its count until it has taken its pages. Without free pages nobody waits, nor longer than `patience`: who has no
// turn takes ordinary pages.
class HugePageTurn {
 public:
  explicit HugePageTurn(const std::string& folder = kHugePages,
                        std::chrono::milliseconds patience = std::chrono::seconds(30));

  bool held() const { return folder_.is_open(); }

 private:
  FileDescriptor folder_;  // with a lock on it
};

}  // namespace openlapi::dpdk
