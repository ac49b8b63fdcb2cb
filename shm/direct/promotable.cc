#include "shm/direct/promotable.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "dataplane/base/adapter_memory.h"
#include "dataplane/base/check.h"
#include "dataplane/base/file_descriptor.h"
#include "shm/direct/mapping_in_place.h"
#include "shm/segment_layout.h"

namespace openlapi::direct {
namespace {

// A thread's robust list is in its control block, of which the C library tells no more. On both sides of it are fields
// that the kernel writes (rseq) and that pthread_join() waits for, and the thread's static variables. The block ends a
// stack; glibc's has 1568 bytes from the list on, and no more than a page.
constexpr std::uint64_t kBelowRobustList = 4096, kAboveRobustList = 1536;
// The main stack grows downwards into what is below it.
constexpr std::uint64_t kStackEnd = 64 << 10;

// Without opendir(), which allocates. Calls `visit(thread)` until it returns false. False: there is no list.
template <typename Visit>
bool each_thread(Visit visit) {
  const FileDescriptor list(open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!list.is_open()) return false;
  alignas(dirent64) std::array<char, 4096> text;
  long count = 0;
  while ((count = syscall(SYS_getdents64, list.get(), text.data(), text.size())) > 0) {
    for (long at = 0; at < count;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(text.data() + at);
      at += entry->d_reclen;
      const int thread = std::atoi(entry->d_name);
      if (thread > 0 && !visit(static_cast<pid_t>(thread))) return true;
    }
  }
  return count == 0;
}

// The beginning of a small file of /proc. Empty: errno says why.
template <std::size_t Size>
std::string_view read_text(const char* path, std::array<char, Size>& text) {
  const FileDescriptor file(open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t count = file.is_open() ? read(file.get(), text.data(), text.size()) : -1;
  return count <= 0 ? std::string_view() : std::string_view(text.data(), static_cast<std::size_t>(count));
}

std::uint64_t next_number(std::string_view& words, int base) {
  if (base == 16 && words.starts_with("0x")) words.remove_prefix(2);
  std::uint64_t number = 0;
  const char* const end = std::from_chars(words.data(), words.data() + words.size(), number, base).ptr;
  words.remove_prefix(static_cast<std::size_t>(end - words.data()));
  if (!words.empty()) words.remove_prefix(1);
  return number;
}

// The thread, or what is told of it, is not there. Anything else: it cannot be asked now, for want of a descriptor,
// say.
bool is_missing(int error) { return error == ENOENT || error == ESRCH; }

// A futex that is not private is named by the memory that it is in: promoted, it is another one to whoever wakes.
bool waits_for_futex(pid_t thread, const AddressRange& range) {
  std::array<char, 64> path;
  std::array<char, 256> text;
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/syscall", thread);
  std::string_view words = read_text(path.data(), text);
  if (words.empty()) return !is_missing(errno);
  if (words.starts_with("running") || words.starts_with("-1")) return false;
  const std::uint64_t call = next_number(words, 10), address = next_number(words, 16),
                      operation = next_number(words, 16);
#ifdef SYS_futex_waitv
  if (call == SYS_futex_waitv) return true;  // any number of them
#endif
  const bool is_private = (operation & FUTEX_PRIVATE_FLAG) != 0;
  return call == SYS_futex && !is_private && address >= range.begin && address < range.end;
}

bool clip_thread_blocks(std::uint64_t address, AddressRange& range) {
  bool outside = true;
  const bool listed = each_thread([&](pid_t thread) {
    void* robust_list = nullptr;
    std::size_t size = 0;
    if (syscall(SYS_get_robust_list, thread, &robust_list, &size) != 0 || robust_list == nullptr) return true;
    const auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(robust_list));
    const std::uint64_t begin = (at - kBelowRobustList) / shm::kPage * shm::kPage;
    const std::uint64_t end = (at + kAboveRobustList + shm::kPage - 1) / shm::kPage * shm::kPage;
    return outside = clip_out(address, begin, end, range);
  });
  return listed && outside;
}

Refusal refuse_range(std::uint64_t address, const Mapping& mapping, const KeptRanges& kept, AddressRange& range) {
  const bool is_stack = mapping.name == "[stack]";
  if (is_stack && !clip_out(address, mapping.begin, mapping.begin + kStackEnd, range)) return Refusal::kKeptPrivate;
  if (!kept.clip(address, range) || !clip_thread_blocks(address, range)) return Refusal::kKeptPrivate;
  bool waits = false;
  if (!each_thread([&](pid_t thread) { return !(waits = waits_for_futex(thread, range)); }) || waits) {
    return Refusal::kFutex;
  }
  return is_locked(range) ? Refusal::kLocked : Refusal::kNone;
}

}  // namespace

// Locked memory is the only one of the kind that is promoted to which the kernel gives no such advice. To other memory
// it means little: the pages are about to be given up for those of the file.
bool is_locked(const AddressRange& range) {
  constexpr int kCold = 20;  // MADV_COLD, since Linux 5.4
  return madvise(pointer_to(range.begin), range.end - range.begin, kCold) != 0 && errno == EINVAL;
}

std::uint64_t pinned_bytes() {
  std::array<char, 4096> text;
  std::string_view rest = read_text("/proc/self/status", text);
  if (rest.empty()) return UINT64_MAX;
  const std::size_t line = rest.find("\nVmPin:");
  if (line == std::string_view::npos) return 0;
  rest.remove_prefix(line + std::strlen("\nVmPin:"));
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return next_number(rest, 10) * 1024;
}

std::string_view text_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "it is not refused";
    case Refusal::kNever:
      return "nothing is promoted in this process";
    case Refusal::kOtherThreads:
      return "other threads run, whose system calls would fail";
    case Refusal::kNotMapped:
      return "nothing is mapped there";
    case Refusal::kOtherKind:
      return "the memory is shared, of a file, executable or not writable";
    case Refusal::kKeptPrivate:
      return "the memory is a thread's or the library's own";
    case Refusal::kFutex:
      return "a thread waits for a shared futex there";
    case Refusal::kLocked:
      return "the memory is locked (mlock)";
    case Refusal::kPinned:
      return "an adapter or somebody else has it pinned, or may have";
    case Refusal::kNoRoom:
      return "there is no room in the table or the file";
    case Refusal::kTooMuch:
      return "it is more than can be copied at once";
    case Refusal::kMappings:
      return "the process has half of the mappings that vm.max_map_count allows";
    case Refusal::kChanged:
      return "the program has changed the mapping meanwhile";
    case Refusal::kSystem:
      return "the kernel refused it";
  }
  return "";
}

bool clip_out(std::uint64_t address, std::uint64_t begin, std::uint64_t end, AddressRange& range) {
  if (address >= begin && address < end) return false;
  if (end <= address && end > range.begin) range.begin = end;
  if (begin > address && begin < range.end) range.end = begin;
  return true;
}

void KeptRanges::add(std::uint64_t begin, std::uint64_t end) {
  OPENLAPI_CHECK(count_ < kMost);
  ranges_[count_++] = {begin, end};
}

bool KeptRanges::clip(std::uint64_t address, AddressRange& range) const {
  for (std::size_t number = 0; number < count_; ++number) {
    if (!clip_out(address, ranges_[number].begin, ranges_[number].end, range)) return false;
  }
  return true;
}

std::optional<AddressRange> promotable_range(std::uint64_t address, std::uint64_t chunk, const ProcessView& process,
                                             Refusal& refusal) {
  const std::uint64_t chunk_begin = address / chunk * chunk;
  AddressRange found{};
  std::uint32_t mappings = 0;
  refusal = Refusal::kNotMapped;
  process.mappings.each([&](const Mapping& mapping) {
    ++mappings;
    if (!mapping.contains(address)) return true;
    found = {std::max(chunk_begin, mapping.begin), std::min(chunk_begin + chunk, mapping.end)};
    const bool taken_back = mapping.name == AdapterMemory::kMovedTo;
    const bool right_kind = mapping.readable && mapping.writable && !mapping.executable && !mapping.shared &&
                            (mapping.inode == 0 || taken_back);
    refusal = right_kind ? refuse_range(address, mapping, process.kept, found) : Refusal::kOtherKind;
    return true;
  });
  if (refusal == Refusal::kNone && mappings > process.most_mappings) refusal = Refusal::kMappings;
  if (refusal != Refusal::kNone) return std::nullopt;
  return found;
}

std::uint32_t most_mappings() {
  constexpr std::uint32_t kUsual = 65530;
  std::array<char, 32> text;
  std::string_view words = read_text("/proc/sys/vm/max_map_count", text);
  const std::uint64_t allowed = words.empty() ? kUsual : next_number(words, 10);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(allowed / 2, INT32_MAX));
}

std::uint32_t count_threads() {
  std::uint32_t count = 0;
  each_thread([&](pid_t) { return ++count != 0; });
  return count;
}

}  // namespace openlapi::direct
