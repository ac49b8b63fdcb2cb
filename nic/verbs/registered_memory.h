// Zeroed memory that an adapter may read and write: locked, registered, and not inherited by child processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "dataplane/base/adapter_memory.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  // Called once. `rights`: the adapter's, and through it the peers'. Returns 0 or an errno value.
  int open(ibv_pd& domain, std::size_t bytes, int rights = IBV_ACCESS_LOCAL_WRITE);

  std::byte* data() const { return data_; }
  std::uint32_t key() const { return region_->lkey; }
  std::uint32_t remote_key() const { return region_->rkey; }

 private:
  std::byte* data_ = nullptr;  // page-aligned
  std::size_t bytes_ = 0;
  MemoryRegion region_;
  AdapterMemory::Pinned pinned_;
};

}  // namespace openlapi::verbs
