#include "shm/direct/control_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "dataplane/base/random_number.h"
#include "shm/direct/gate.h"

namespace openlapi::direct {
namespace {

constexpr std::uint32_t kMostAccessors = 1u << 16;
constexpr int kControlSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::size_t control_size(std::uint32_t accessors) {
  return sizeof(ControlHeader) + std::size_t{accessors} * sizeof(AccessorLine);
}

ControlMemory refuse_control(std::string& error, const std::string& what) {
  error = "the control memory of direct access " + what;
  return {};
}

}  // namespace

ControlMemory::ControlMemory(ControlMemory&& other) noexcept
    : file_(std::move(other.file_)), base_(std::exchange(other.base_, nullptr)), accessors_(other.accessors_) {}

ControlMemory& ControlMemory::operator=(ControlMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(base_, other.base_);
  std::swap(accessors_, other.accessors_);
  return *this;
}

ControlMemory::~ControlMemory() {
  if (base_ != nullptr) munmap(base_, control_size(accessors_));
}

bool ControlMemory::map(std::uint32_t accessors, std::string& error) {
  void* const base =
      mmap(nullptr, control_size(accessors), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_.get(), 0);
  if (base == MAP_FAILED || madvise(base, control_size(accessors), MADV_DONTFORK) != 0) {
    error = std::string("the control memory of direct access cannot be mapped: ") + std::strerror(errno);
    if (base != MAP_FAILED) munmap(base, control_size(accessors));
    return false;
  }
  base_ = base;
  accessors_ = accessors;
  return true;
}

ControlMemory ControlMemory::create(std::uint32_t accessors, std::string& error) {
  ControlMemory memory;
  memory.file_.reset(memfd_create("lapi-direct-control", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto size = static_cast<off_t>(control_size(accessors));
  if (!memory.file_.is_open() || ftruncate(memory.file_.get(), size) != 0 ||
      fcntl(memory.file_.get(), F_ADD_SEALS, kControlSeals) != 0) {
    return refuse_control(error, std::string("cannot be made: ") + std::strerror(errno));
  }
  if (!memory.map(accessors, error)) return {};
  auto* const header = new (memory.base_) ControlHeader{};
  header->accessors = accessors;
  header->barrier = can_use_global_barrier() ? 1 : 0;
  header->proof = random_number<std::uint64_t>();
  header->generation.store(1);
  header->magic = kControlMagic;
  return memory;
}

ControlMemory ControlMemory::attach(FileDescriptor file, std::string& error) {
  ControlMemory memory;
  memory.file_ = std::move(file);
  struct stat status {};
  const int seals = fcntl(memory.file_.get(), F_GET_SEALS);
  if (fstat(memory.file_.get(), &status) != 0 || seals < 0) {
    return refuse_control(error, std::string("is no memory file: ") + std::strerror(errno));
  }
  if ((seals & kControlSeals) != kControlSeals) return refuse_control(error, "can change its size");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t lines = size < sizeof(ControlHeader) ? 0 : (size - sizeof(ControlHeader)) / sizeof(AccessorLine);
  if (lines == 0 || lines > kMostAccessors || size != control_size(static_cast<std::uint32_t>(lines))) {
    return refuse_control(error, "has " + std::to_string(size) + " bytes, which no number of accessors needs");
  }
  if (!memory.map(static_cast<std::uint32_t>(lines), error)) return {};
  if (memory.header().magic != kControlMagic || memory.header().accessors != lines) {
    return refuse_control(error, "is of another build");
  }
  memory.file_.reset();  // what is mapped needs none
  return memory;
}

void ControlMemory::leave_child() {
  base_ = nullptr;
  file_.reset();
}

AccessorLine& ControlMemory::line(std::uint32_t accessor) const {
  auto* const lines = reinterpret_cast<AccessorLine*>(static_cast<std::byte*>(base_) + sizeof(ControlHeader));
  return lines[accessor];
}

}  // namespace openlapi::direct
