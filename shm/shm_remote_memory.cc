// process_vm_readv between tasks of one user. Whether it works depends on ptrace rules, seccomp filters and process
// namespaces, so nothing is assumed: a peer counts as reachable once we have read its proof out of its own memory, and
// until the kernel refuses to read that process at all, or has given its number, or the process, to another program:
// each call reads the proof anew.
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "shm/shm_transport.h"

namespace openlapi {
namespace {

constexpr std::size_t kMaxChunk = 1u << 30;  // the kernel moves less than 2 GiB a call

// A 32-bit task can name only the first 4 GiB of the other one's memory to the kernel.
bool can_name(std::uint64_t address, std::uint64_t length) {
  return address <= UINTPTR_MAX && length <= UINTPTR_MAX - address;
}

// Not what the kernel says of memory that is not there.
bool refuses_process(int error) { return error == EPERM || error == ESRCH || error == ENOSYS; }

// The ranges of a call, and room for the proof behind them.
using Vectors = std::array<iovec, RemoteMemory::kMostRanges + 1>;

// Reads `count_there` ranges of the owner's memory, `wanted` bytes, and its proof behind them. The kernel takes all of
// a call from one memory, so who has the proof had the ranges, too. Returns how many bytes of the ranges are there; -1:
// errno says why (ESRCH: it is not the owner any more).
ssize_t read_owned(const shm::SegmentHeader& owner, Vectors& here, std::size_t count_here, Vectors& there,
                   std::size_t count_there, std::size_t wanted) {
  std::uint64_t found = 0;
  here[count_here] = {&found, sizeof found};
  there[count_there] = {reinterpret_cast<void*>(static_cast<std::uintptr_t>(owner.proof_address)), sizeof found};
  ssize_t moved;
  do {
    moved = process_vm_readv(static_cast<pid_t>(owner.process_id), here.data(), count_here + 1, there.data(),
                             count_there + 1, 0);
  } while (moved < 0 && errno == EINTR);
  if (moved < static_cast<ssize_t>(wanted)) return moved;
  if (moved == static_cast<ssize_t>(wanted + sizeof found) && found == owner.proof) return static_cast<ssize_t>(wanted);
  errno = ESRCH;
  return -1;
}

// False: errno says why.
bool read_process(const shm::SegmentHeader& owner, std::uint64_t address, void* local, std::size_t length) {
  errno = EFAULT;
  if (!can_name(address, length)) return false;
  auto* target = static_cast<std::byte*>(local);
  Vectors here, there;
  while (length != 0) {
    const std::size_t chunk = std::min(length, kMaxChunk);
    here[0] = {target, chunk};
    there[0] = {reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), chunk};
    const ssize_t moved = read_owned(owner, here, 1, there, 1, chunk);
    if (moved <= 0) {
      if (moved == 0) errno = EFAULT;
      return false;
    }
    target += moved;
    address += static_cast<std::uint64_t>(moved);
    length -= static_cast<std::size_t>(moved);
  }
  return true;
}

void fill(Vectors& vectors, std::span<const MemoryRange> ranges) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    vectors[i] = {reinterpret_cast<void*>(static_cast<std::uintptr_t>(ranges[i].address)),
                  static_cast<std::size_t>(ranges[i].length)};
  }
}

}  // namespace

ShmRemoteMemory::ShmRemoteMemory(shm::ShmGroup& group)
    : group_(group), proofs_(group.size(), Proof::kUntried), eras_(group.size()) {}

// Whether the bytes that were read were still the owner's to show: its user may change them once it has purged us, or
// has ended the context.
bool ShmRemoteMemory::same_era(std::uint32_t index) const {
  std::atomic_thread_fence(std::memory_order_acquire);  // after the reading
  const std::uint64_t era = group_.segment(index).eras[group_.self()].load(std::memory_order_relaxed);
  return era == eras_[index] && !shm::is_closed(era) && !group_.closed(index);
}

// In another process namespace the number may mean a stranger.
bool ShmRemoteMemory::prove(std::uint32_t index) {
  Vectors here, there;
  const bool proved = read_owned(*group_.segment(index).header, here, 0, there, 0, 0) == 0;
  proofs_[index] = proved ? Proof::kReachable : Proof::kUnreachable;
  return proved;
}

bool ShmRemoteMemory::reachable(PeerIndex peer) {
  const std::uint32_t index = group_.index_of(peer);
  if (index == shm::kNoIndex) return false;
  return proofs_[index] == Proof::kUntried ? prove(index) : proofs_[index] == Proof::kReachable;
}

bool ShmRemoteMemory::read(PeerIndex peer, std::uint64_t remote_address, void* local, std::size_t length) {
  if (!reachable(peer)) return false;
  const std::uint32_t index = group_.index_of(peer);
  if (!same_era(index)) return false;
  const shm::SegmentHeader& header = *group_.segment(index).header;
  if (read_process(header, remote_address, local, length)) return same_era(index);
  if (refuses_process(errno)) proofs_[index] = Proof::kUnreachable;
  return false;
}

// A read that ends early has met memory that is not there: trying the rest would end in the same place.
bool ShmRemoteMemory::read_ranges(PeerIndex peer, std::span<const MemoryRange> remote,
                                  std::span<const MemoryRange> local) {
  if (remote.size() > kMostRanges || local.size() > kMostRanges || !reachable(peer)) return false;
  const auto nameable = [](const MemoryRange& range) { return can_name(range.address, range.length); };
  if (!std::all_of(remote.begin(), remote.end(), nameable)) return false;
  const std::uint32_t index = group_.index_of(peer);
  if (!same_era(index)) return false;
  Vectors here, there;
  fill(here, local);
  fill(there, remote);
  std::size_t wanted = 0;
  for (const MemoryRange& range : local) wanted += range.length;
  const ssize_t moved = read_owned(*group_.segment(index).header, here, local.size(), there, remote.size(), wanted);
  if (moved < 0 && refuses_process(errno)) proofs_[index] = Proof::kUnreachable;
  return moved == static_cast<ssize_t>(wanted) && same_era(index);
}

}  // namespace openlapi
