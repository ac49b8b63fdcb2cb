#include "shm/direct/unattended_memory.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dataplane/base/random_number.h"
#include "shm/direct/mapping_in_place.h"
#include "shm/segment_layout.h"

namespace openlapi::direct {
namespace {

constexpr int kTries = 4;  // to read a word that is being written

// Read-only, so that it is never promoted. Null: there is no memory for it.
void* page_with(std::uint64_t value) {
  void* const page = mmap(nullptr, shm::kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  std::memcpy(page, &value, sizeof value);
  if (madvise(page, shm::kPage, MADV_DONTFORK) == 0 && mprotect(page, shm::kPage, PROT_READ) == 0) return page;
  munmap(page, shm::kPage);
  return nullptr;
}

}  // namespace

OwnProof::OwnProof() : process_(getpid()), value_(random_number<std::uint64_t>()), page_(page_with(value_)) {}

// A child may have other memory there.
OwnProof::~OwnProof() {
  if (page_ != nullptr && process_ == getpid()) munmap(page_, shm::kPage);
}

std::uint64_t OwnProof::address() const { return reinterpret_cast<std::uintptr_t>(page_); }

// Behind the data: who has the proof then had the memory, too, when it was read. The kernel takes all of a call from
// the memory that the process had at its beginning, and stops where there is none.
bool UnattendedMemory::is_proved(ssize_t moved, ssize_t wanted, std::uint64_t found) {
  if (moved == wanted && found == proof_) return true;
  const bool lacks_proof = moved >= wanted - static_cast<ssize_t>(sizeof found);
  const bool lacks_memory = moved >= 0 || errno == EFAULT || errno == ENOMEM || errno == EINTR;
  if (lacks_proof || !lacks_memory) process_ = kNoProcess;
  return false;
}

// The kernel copies short pieces byte by byte: a word is read twice, and believed if it is the same both times.
UnattendedMemory::Outcome UnattendedMemory::read_once(std::uint64_t address, void* buffer, std::size_t length) {
  std::uint64_t again = 0, found = 0;
  const std::size_t twice = length <= sizeof again ? length : 0;
  const iovec here[] = {{buffer, length}, {&again, twice}, {&found, sizeof found}};
  const iovec there[] = {
      {pointer_to(address), length}, {pointer_to(address), twice}, {pointer_to(proof_address_), sizeof found}};
  const ssize_t moved = process_vm_readv(process_, here, 3, there, 3, 0);
  if (!is_proved(moved, static_cast<ssize_t>(length + twice + sizeof found), found)) return Outcome::kFailed;
  return std::memcmp(buffer, &again, twice) == 0 ? Outcome::kRead : Outcome::kTorn;
}

bool UnattendedMemory::read(std::uint64_t address, void* buffer, std::size_t length) {
  if (has_ended() || proof_address_ == 0 || address > UINT64_MAX - length) return false;
  Outcome outcome = Outcome::kTorn;
  for (int tries = 0; tries < kTries && outcome == Outcome::kTorn; ++tries)
    outcome = read_once(address, buffer, length);
  return outcome == Outcome::kRead;
}

}  // namespace openlapi::direct
