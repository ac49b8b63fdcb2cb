#include "nic/dpdk/huge_pages.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <fstream>
#include <vector>

namespace openlapi::dpdk {
namespace {

struct Pages {
  std::uint64_t size = 0;  // bytes of each
  std::uint64_t free = 0;
};

std::uint64_t number_in(const std::string& file) {
  std::uint64_t number = 0;
  std::ifstream(file) >> number;
  return number;
}

// Of every size that the kernel has.
std::vector<Pages> list_pages(const std::string& folder) {
  std::vector<Pages> all;
  DIR* const sizes = opendir(folder.c_str());
  if (sizes == nullptr) return all;
  while (const dirent* entry = readdir(sizes)) {
    unsigned long kibibytes = 0;
    if (std::sscanf(entry->d_name, "hugepages-%lukB", &kibibytes) != 1 || kibibytes == 0) continue;
    const std::string path = folder + "/" + entry->d_name;
    const std::uint64_t free = number_in(path + "/free_hugepages"), reserved = number_in(path + "/resv_hugepages");
    all.push_back({std::uint64_t{kibibytes} * 1024, free - std::min(free, reserved)});
  }
  closedir(sizes);
  return all;
}

std::uint64_t pages_for(std::uint64_t bytes, std::uint64_t page_size) { return (bytes + page_size - 1) / page_size; }

// Whichever size DPDK takes. As much again is left to other jobs that start now.
bool suffice_for_all(const std::vector<Pages>& all, HugePageNeed need) {
  return std::ranges::all_of(all, [&](const Pages& pages) {
    return pages.free == 0 || pages.free / 2 / pages_for(need.bytes, pages.size) >= need.tasks;
  });
}

// The kernel reserves what is mapped, and refuses what it cannot reserve.
bool can_map(std::uint64_t bytes, std::uint64_t page_size) {
  const std::uint64_t length = pages_for(bytes, page_size) * page_size;
  const int size = std::countr_zero(page_size) << MAP_HUGE_SHIFT;
  void* const memory =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | size, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, length);
  return true;
}

}  // namespace

std::uint64_t free_huge_bytes(const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const Pages& pages : list_pages(folder)) bytes += pages.size * pages.free;
  return bytes;
}

bool huge_pages_hold(std::uint64_t bytes, const std::string& folder) {
  const std::vector<Pages> all = list_pages(folder);
  return bytes != 0 && std::ranges::any_of(all, [&](const Pages& pages) {
           return pages.size * pages.free >= bytes && can_map(bytes, pages.size);
         });
}

HugePageTurn::HugePageTurn(HugePageNeed need, const std::string& folder, std::chrono::milliseconds patience) {
  const std::vector<Pages> all = list_pages(folder);
  const auto suffice_for_one = [&](const Pages& pages) { return pages.size * pages.free >= need.bytes; };
  if (need.bytes == 0 || std::ranges::none_of(all, suffice_for_one)) return;
  are_plenty_ = suffice_for_all(all, need);
  if (are_plenty_) return;
  folder_ = FileDescriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  wait_for_lock(patience);
}

// Closing would not do: the lock belongs to the open folder, which a process that was forked meanwhile has as well.
HugePageTurn::~HugePageTurn() {
  if (held()) flock(folder_.get(), LOCK_UN);
}

void HugePageTurn::wait_for_lock(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (folder_.is_open() && flock(folder_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= end) {
      folder_ = {};
      return;
    }
    const timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
  }
}

}  // namespace openlapi::dpdk
