// process_vm_readv between tasks of one user. Whether it works depends on ptrace rules, seccomp filters and process
// namespaces, so nothing is assumed: a peer counts as reachable once we have read its proof out of its own memory.
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "shm/shm_transport.h"

namespace openlapi {
namespace {

constexpr std::size_t kMaxChunk = 1u << 30;  // the kernel moves less than 2 GiB a call

bool read_process(pid_t process, std::uint64_t address, void* local, std::size_t length) {
  auto* target = static_cast<std::byte*>(local);
  while (length != 0) {
    const std::size_t chunk = std::min(length, kMaxChunk);
    const iovec here{target, chunk};
    const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), chunk};
    const ssize_t moved = process_vm_readv(process, &here, 1, &there, 1, 0);
    if (moved <= 0) {
      if (moved < 0 && errno == EINTR) continue;
      return false;
    }
    target += moved;
    address += static_cast<std::uint64_t>(moved);
    length -= static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

ShmRemoteMemory::ShmRemoteMemory(shm::ShmGroup& group) : group_(group), proofs_(group.size(), Proof::kUntried) {}

bool ShmRemoteMemory::prove(std::uint32_t index) {
  const shm::SegmentHeader& header = group_.segment(index).front->header;
  std::uint64_t found = 0;
  // In another process namespace the number may mean a stranger, who does not have the proof at that address.
  const bool proved = read_process(static_cast<pid_t>(header.process_id), header.proof_address, &found, sizeof found) &&
                      found == header.proof;
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
  const shm::SegmentHeader& header = group_.segment(group_.index_of(peer)).front->header;
  return read_process(static_cast<pid_t>(header.process_id), remote_address, local, length);
}

}  // namespace openlapi
