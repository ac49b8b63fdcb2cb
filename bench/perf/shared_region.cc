#include "bench/perf/shared_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace openlapi::bench {

SharedRegion::~SharedRegion() {
  if (layout_ != nullptr) munmap(layout_, sizeof(RegionLayout));
  if (descriptor_ >= 0) close(descriptor_);
}

bool SharedRegion::map(int descriptor, std::string& error) {
  void* memory = mmap(nullptr, sizeof(RegionLayout), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (memory == MAP_FAILED) {
    error = "memory of the floors cannot be mapped: " + std::string(std::strerror(errno));
    return false;
  }
  layout_ = static_cast<RegionLayout*>(memory);
  return true;
}

bool SharedRegion::create(std::string& error) {
  descriptor_ = memfd_create("lapi_perf", MFD_CLOEXEC);
  if (descriptor_ < 0 || ftruncate(descriptor_, sizeof(RegionLayout)) != 0) {
    error = "memory of the floors cannot be made: " + std::string(std::strerror(errno));
    return false;
  }
  return map(descriptor_, error);
}

std::uint64_t SharedRegion::ticket() const {
  return static_cast<std::uint64_t>(getpid()) << 32 | static_cast<std::uint32_t>(descriptor_);
}

bool SharedRegion::open(std::uint64_t ticket, std::string& error) {
  side_ = 1;
  const std::string path = "/proc/" + std::to_string(ticket >> 32) + "/fd/" + std::to_string(ticket & 0xffffffffu);
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) {
    error = "memory of the floors, " + path + ", cannot be opened: " + std::strerror(errno) +
            " (both tasks must run on one machine, in one process namespace and as one user)";
    return false;
  }
  return map(descriptor_, error);
}

std::uint64_t SharedRegion::agree(std::uint64_t value) {
  if (side_ == 0) layout_->agreed.value.store(value, std::memory_order_relaxed);
  barrier();
  const std::uint64_t agreed = layout_->agreed.value.load(std::memory_order_relaxed);
  barrier();
  return agreed;
}

std::uint64_t SharedRegion::exchange(std::uint64_t value) {
  layout_->posted[side_].value.store(value, std::memory_order_relaxed);
  barrier();
  const std::uint64_t theirs = layout_->posted[other()].value.load(std::memory_order_relaxed);
  barrier();
  return theirs;
}

}  // namespace openlapi::bench
