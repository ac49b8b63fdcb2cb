#include "shm/direct/page_copy.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "shm/direct/mapping_in_place.h"
#include "shm/segment_layout.h"

namespace openlapi::direct {
namespace {

// Of pagemap.
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kSwapped = std::uint64_t{1} << 62;

// Not by pwrite(): sanitizers that the program was built with would look at what is poisoned in its memory.
bool write_whole(int file, std::uint64_t from, std::uint64_t length, std::uint64_t offset) {
  while (length > 0) {
    const long count = syscall(SYS_pwrite64, file, from, length, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    const auto written = static_cast<std::uint64_t>(count);
    from += written, offset += written, length -= written;
  }
  return true;
}

// One page. It is read by the kernel, for the program may unmap it at any time.
bool write_unless_zero(int file, std::uint64_t from, std::uint64_t offset) {
  alignas(8) std::array<char, shm::kPage> page;
  const iovec here = {page.data(), page.size()}, there = {pointer_to(from), page.size()};
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(page.size())) return false;
  const bool is_zero = page[0] == 0 && std::memcmp(page.data(), page.data() + 1, page.size() - 1) == 0;
  return is_zero || write_whole(file, reinterpret_cast<std::uintptr_t>(page.data()), page.size(), offset);
}

}  // namespace

bool PageMap::open() {
  file_.reset(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  return file_.is_open();
}

// Calls visit(state, begin, end) for pages in a row that are in the same state, until it returns false. False: it has,
// or the states could not be read.
template <typename Visit>
bool PageMap::each_run(const AddressRange& range, Visit visit) const {
  std::array<std::uint64_t, 4096> states;
  for (std::uint64_t at = range.begin; at < range.end;) {
    const std::uint64_t pages = std::min<std::uint64_t>((range.end - at) / shm::kPage, states.size());
    const auto wanted = static_cast<ssize_t>(pages * sizeof states[0]);
    const auto place = static_cast<off_t>(at / shm::kPage * sizeof states[0]);
    if (pread(file_.get(), states.data(), static_cast<std::size_t>(wanted), place) != wanted) return false;
    for (std::uint64_t page = 0; page < pages;) {
      const std::uint64_t state = states[page] & (kPresent | kSwapped), first = page;
      while (page < pages && (states[page] & (kPresent | kSwapped)) == state) ++page;
      if (!visit(state, at + first * shm::kPage, at + page * shm::kPage)) return false;
    }
    at += pages * shm::kPage;
  }
  return true;
}

bool PageMap::copy(const AddressRange& range, bool anonymous, int file, std::uint64_t offset,
                   std::uint64_t& pages) const {
  return each_run(range, [&](std::uint64_t state, std::uint64_t begin, std::uint64_t end) {
    if (state == 0 && anonymous) return true;
    const std::uint64_t count = (end - begin) / shm::kPage, to = offset + (begin - range.begin);
    if (count > pages) return false;
    pages -= count;
    if (state == kPresent) return write_whole(file, begin, end - begin, to);
    for (std::uint64_t page = begin; page < end; page += shm::kPage) {
      if (!write_unless_zero(file, page, to + (page - begin))) return false;
    }
    return true;
  });
}

}  // namespace openlapi::direct
