#include "shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace openlapi::shm {
namespace {

void fail(ShmSetupError& error, ShmFailure failure, const char* what, std::uint64_t bytes, int number) {
  error.failure = failure;
  error.reason = std::string(what) + " (" + std::to_string(bytes) + " bytes): " + std::strerror(number);
}

// Growing a file beyond RLIMIT_FSIZE does not fail, it kills with SIGXFSZ: look first.
bool file_size_allowed(std::uint64_t size, ShmSetupError& error) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size) return true;
  error.failure = ShmFailure::kCreate;
  error.reason = "the file size limit (RLIMIT_FSIZE, ulimit -f) is " + std::to_string(limit.rlim_cur) +
                 " bytes, the shared memory needs " + std::to_string(size);
  return false;
}

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// POSIX record locks, not flock or open-file-description locks: they belong to the process, so a child of fork() does
// not keep a dead task alive, and the tasks share one open file description anyway.
struct flock life_lock_of(std::uint32_t index) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = index;
  lock.l_len = 1;
  return lock;
}

}  // namespace

GroupMemory::GroupMemory(GroupMemory&& other) noexcept
    : layout_(other.layout_), file_(std::move(other.file_)), base_(std::exchange(other.base_, nullptr)) {}

GroupMemory& GroupMemory::operator=(GroupMemory&& other) noexcept {
  std::swap(layout_, other.layout_);
  std::swap(file_, other.file_);
  std::swap(base_, other.base_);
  return *this;
}

GroupMemory::~GroupMemory() {
  if (base_ != nullptr) munmap(base_, layout_.group_size());
}

bool GroupMemory::map(ShmSetupError& error) {
  const std::uint64_t size = layout_.group_size();
  // A 32-bit task has no room for the largest groups.
  if (size > PTRDIFF_MAX) {
    fail(error, ShmFailure::kAttach, "cannot map the node's shared memory", size, ENOMEM);
    return false;
  }
  void* base =
      mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  if (base == MAP_FAILED) {
    fail(error, ShmFailure::kAttach, "cannot map the node's shared memory", size, errno);
    return false;
  }
  base_ = static_cast<std::byte*>(base);
  return true;
}

GroupMemory GroupMemory::create(const GroupLayout& layout, std::uint64_t nonce, PeerIndex leader,
                                ShmSetupError& error) {
  GroupMemory memory;
  const std::uint64_t size = layout.group_size();
  if (!file_size_allowed(size, error)) return {};
  memory.layout_ = layout;
  memory.file_ = FileDescriptor(memfd_create("openlapi-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.file_.is_open() || ftruncate(memory.file_.get(), static_cast<off_t>(size)) != 0 ||
      fcntl(memory.file_.get(), F_ADD_SEALS, kSeals) != 0) {
    fail(error, ShmFailure::kCreate, "cannot create the node's shared memory", size, errno);
    return {};
  }
  if (!memory.map(error)) return {};
  auto* header = new (memory.base_) GroupHeader{};
  header->magic = kGroupMagic;
  header->nonce = nonce;
  header->tasks = layout.tasks;
  header->slots = layout.slots;
  header->packet_bytes = layout.packet_bytes;
  header->leader = leader;
  header->version = layout.version;
  return memory;
}

GroupMemory GroupMemory::attach(const GroupLayout& layout, std::uint64_t nonce, FileDescriptor file,
                                ShmSetupError& error) {
  GroupMemory memory;
  memory.layout_ = layout;
  memory.file_ = std::move(file);
  struct stat status {};
  const int seals = fcntl(memory.file_.get(), F_GET_SEALS);
  if (fstat(memory.file_.get(), &status) != 0 || seals < 0 || (seals & kSeals) != kSeals ||
      static_cast<std::uint64_t>(status.st_size) != layout.group_size()) {
    error = {ShmFailure::kGet, "the leader's shared memory has " + std::to_string(status.st_size) + " bytes, " +
                                   std::to_string(layout.group_size()) +
                                   " were expected: do all tasks run the same openlapi?"};
    return {};
  }
  if (!memory.map(error)) return {};
  const GroupHeader& header = memory.header();
  if (header.magic != kGroupMagic || header.nonce != nonce || header.tasks != layout.tasks ||
      header.slots != layout.slots || header.packet_bytes != layout.packet_bytes) {
    error = {ShmFailure::kGet,
             "the leader's shared memory is laid out differently: do all tasks run the same openlapi?"};
    return {};
  }
  if (header.version != layout.version) {
    error = {ShmFailure::kGet, "the leader's shared memory has wire version " + std::to_string(header.version) +
                                   ", this task's library " + std::to_string(layout.version) +
                                   ": the tasks of a job have to run libraries of one wire version"};
    return {};
  }
  return memory;
}

SegmentView GroupMemory::segment(std::uint32_t index) const {
  std::byte* start = base_ + layout_.segment_offset(index);
  return {reinterpret_cast<SegmentHeader*>(start),
          reinterpret_cast<SenderLine*>(start + layout_.senders_offset()),
          reinterpret_cast<Era*>(start + layout_.eras_offset()),
          reinterpret_cast<WithheldBits*>(start + layout_.withheld_offset()),
          reinterpret_cast<PacketLine*>(start + layout_.lines_offset()),
          start + layout_.near_rooms_offset(),
          start + layout_.rooms_offset()};
}

bool GroupMemory::hold_life_lock(std::uint32_t index, std::string& error) const {
  struct flock lock = life_lock_of(index);
  if (fcntl(file_.get(), F_SETLK, &lock) == 0) return true;
  error = std::string("cannot lock the task's byte of the shared memory: ") + std::strerror(errno);
  return false;
}

bool GroupMemory::life_lock_held(std::uint32_t index) const {
  struct flock lock = life_lock_of(index);
  if (fcntl(file_.get(), F_GETLK, &lock) != 0) return true;  // cannot tell: never call a living task dead
  return lock.l_type != F_UNLCK;
}

void GroupMemory::populate(std::uint32_t index) const {
#ifdef MADV_POPULATE_WRITE
  // Refused by kernels before 5.14: then the first packets pay for the pages.
  madvise(base_ + layout_.segment_offset(index), layout_.near_rooms_offset() / kPage * kPage, MADV_POPULATE_WRITE);
#else
  (void)index;
#endif
}

}  // namespace openlapi::shm
