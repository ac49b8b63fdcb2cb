#include "shm/direct/heap/heap_window.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "shm/direct/file_size.h"
#include "shm/segment_layout.h"

namespace openlapi::direct {
namespace {

constexpr int kWritable = PROT_READ | PROT_WRITE;
constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, since Linux 5.14

void* at(std::uint64_t address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

// The library's own mmap() is the one that calls this.
bool map_at(std::uint64_t address, std::uint64_t bytes, int rights, int kind, int file = -1, std::uint64_t offset = 0) {
  return syscall(SYS_mmap, address, bytes, rights, kind | MAP_FIXED, file, offset) != -1;
}

int advise(std::uint64_t address, std::uint64_t bytes, int advice) {
  return static_cast<int>(syscall(SYS_madvise, address, bytes, advice));
}

void punch(int file, std::uint64_t offset, std::uint64_t bytes) {
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  fallocate(file, mode, static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + shm::kPage - 1) / shm::kPage * shm::kPage; }

bool is_limited(__rlimit_resource resource, std::uint64_t wanted) {
  rlimit limit{};
  return getrlimit(resource, &limit) != 0 || limit.rlim_cur < wanted;
}

}  // namespace

class HeapWindow::Locked {
 public:
  explicit Locked(HeapWindow& window) : window_(window) { window_.lock(); }
  ~Locked() { window_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  HeapWindow& window_;
};

void HeapWindow::lock() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_mutex_lock(&mutex_);
  signals_ = before;
}

void HeapWindow::unlock() {
  const sigset_t before = signals_;
  pthread_mutex_unlock(&mutex_);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

const char* HeapWindow::open(std::uint64_t size) {
  if (sysconf(_SC_PAGESIZE) != static_cast<long>(shm::kPage)) return "pages are not of 4 KiB";
  if (is_limited(RLIMIT_FSIZE, kFileSize)) return "the size of files is limited (ulimit -f)";
  if (size == kUsualHeapSize && is_limited(RLIMIT_AS, RLIM_INFINITY)) {
    return "addresses are limited (ulimit -v), and OPENLAPI_DIRECT_HEAP does not say for how many bytes there is room";
  }
  file_ = memfd_create("lapi-direct", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(kFileSize)) != 0 || fcntl(file_, F_ADD_SEALS, kFileSeals) != 0) {
    return "the kernel refuses a memory file";
  }
  size = std::min((size + kGranule - 1) / kGranule * kGranule, kHeapPlace);
  const long room = syscall(SYS_mmap, nullptr, size + kGranule, PROT_NONE, kReserved, -1, 0);
  if (room == -1) return "there is no room for the window of addresses (OPENLAPI_DIRECT_HEAP=bytes makes it smaller)";
  begin_ = (static_cast<std::uint64_t>(room) + kGranule - 1) / kGranule * kGranule;
  end_ = begin_ + size;
  advise(begin_, size, MADV_DONTDUMP);
  shared_.store(true, std::memory_order_release);
  return nullptr;
}

// The first of so many free granules in a row; size(): there are none.
std::uint64_t HeapWindow::find_room(std::uint64_t granules) const {
  std::uint64_t first = lowest_free_;
  for (std::uint64_t next = first; next < size() && next - first < granules;) {
    const std::uint64_t taken = (parts_[next] + kGranule - 1) / kGranule;
    next += taken != 0 ? taken : 1;
    if (taken != 0) first = next;
  }
  return granules <= size() - first ? first : size();
}

// Stores of neighbours that came after the part before was given back are gone, too: the allocator takes it for zeros.
void* HeapWindow::map(std::size_t bytes, int rights) {
  const Locked locked(*this);
  const std::uint64_t length = whole_pages(bytes), granules = (length + kGranule - 1) / kGranule;
  if (!is_shared() || length < bytes || granules > size()) return nullptr;
  const std::uint64_t first = find_room(granules);
  if (first == size()) return nullptr;
  const std::uint64_t address = begin_ + first * kGranule, offset = kHeapPlace + first * kGranule;
  punch(file_, offset, granules * kGranule);
  if (!map_at(address, length, rights, MAP_SHARED, file_, offset)) return nullptr;
  advise(address, length, MADV_DONTFORK);
  advise(address, length, MADV_HUGEPAGE);
  parts_[first] = length;
  if (first == lowest_free_) lowest_free_ = first + granules;
  return at(address);
}

// The window stays reserved, and its memory is given back.
void HeapWindow::drop(std::uint64_t first) {
  const std::uint64_t length = parts_[first], address = begin_ + first * kGranule;
  if (is_shared()) punch(file_, kHeapPlace + first * kGranule, length);
  map_at(address, length, PROT_NONE, kReserved);
  advise(address, length, MADV_DONTDUMP);
  parts_[first] = 0;
  lowest_free_ = std::min(lowest_free_, first);
}

// A piece of a part stays mapped, and has no memory.
int HeapWindow::unmap(void* memory, std::size_t bytes) {
  const std::uint64_t distance = reinterpret_cast<std::uintptr_t>(memory) - begin_, first = distance / kGranule;
  {
    const Locked locked(*this);
    if (distance % kGranule == 0 && parts_[first] != 0 && parts_[first] == whole_pages(bytes)) {
      drop(first);
      return 0;
    }
  }
  return discard(memory, bytes);
}

// Private memory of a file would show the file's bytes again.
int HeapWindow::discard(void* memory, std::size_t bytes) {
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(memory);
  const Locked locked(*this);
  if (is_shared()) return advise(address, bytes, MADV_REMOVE);
  return map_at(address, whole_pages(bytes), kWritable, MAP_PRIVATE | MAP_ANONYMOUS) ? 0 : -1;
}

// A copy is made of what there is; who finds memory there later that nobody had used finds the file's.
void HeapWindow::make_private_part(std::uint64_t first, bool copied) const {
  const std::uint64_t length = parts_[first], address = begin_ + first * kGranule;
  const auto offset = static_cast<off_t>(kHeapPlace + first * kGranule), end = offset + static_cast<off_t>(length);
  if (!map_at(address, length, kWritable, MAP_PRIVATE, file_, static_cast<std::uint64_t>(offset))) return;
  for (off_t data = offset; copied && data < end;) {
    data = lseek(file_, data, SEEK_DATA);
    if (data < 0 || data >= end) return;
    const off_t hole = std::min(lseek(file_, data, SEEK_HOLE), end);
    const std::uint64_t from = address + static_cast<std::uint64_t>(data - offset);
    while (advise(from, static_cast<std::uint64_t>(hole - data), kPopulateWrite) != 0 &&
           (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    data = hole;
  }
}

void HeapWindow::make_private(bool copied) {
  if (!is_shared()) return;
  for (std::uint64_t first = 0; first < size();) {
    const std::uint64_t granules = (parts_[first] + kGranule - 1) / kGranule;
    if (granules != 0) make_private_part(first, copied);
    first += granules != 0 ? granules : 1;
  }
  shared_.store(false, std::memory_order_release);
  close(file_);
  file_ = -1;
}

}  // namespace openlapi::direct
