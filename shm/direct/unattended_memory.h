// The memory of a neighbour that computes or sleeps, read by process_vm_readv(2): that takes a few microseconds, and to
// wake the neighbour for an answer takes ten times as long, or until it calls the library again.
//
// A process is known to the kernel by a number, which outlives the program in it (exec) and is given out again. So each
// call reads a proof as well, from the same memory as the data: a random number that no other program, and no child of
// a fork, has at that address. What comes without it is not used, and nothing is read from that process any more.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "shm/direct/demand.h"

namespace openlapi::direct {

// What proves that memory is this process's. Children of a fork do not have it.
class OwnProof {
 public:
  OwnProof();
  ~OwnProof();
  OwnProof(const OwnProof&) = delete;
  OwnProof& operator=(const OwnProof&) = delete;

  std::uint64_t address() const;  // 0: there was no memory for it
  std::uint64_t value() const { return value_; }

 private:
  const pid_t process_;
  const std::uint64_t value_;
  void* page_;
};

// One neighbour's.
class UnattendedMemory {
 public:
  // `process`: its number here. The proof: what its OwnProof says.
  UnattendedMemory(pid_t process, std::uint64_t proof_address, std::uint64_t proof)
      : process_(process), proof_address_(proof_address), proof_(proof) {}

  // False: the memory, or all memory of the process, cannot be read; `buffer` has nothing that may be used. Up to eight
  // bytes are what was there at one moment, as far as each byte was written only once meanwhile.
  bool read(std::uint64_t address, void* buffer, std::size_t length);

  // Whether the kernel, or the process that has the number now, has put an end to it.
  bool has_ended() const { return process_ == kNoProcess; }

  // One more read of this address. True: it should be opened, so that loads reach it.
  bool is_hot(std::uint64_t address) { return demand_.grows(address); }

 private:
  static constexpr pid_t kNoProcess = 0;
  enum class Outcome : std::uint8_t { kRead, kTorn, kFailed };
  Outcome read_once(std::uint64_t address, void* buffer, std::size_t length);
  bool is_proved(ssize_t moved, ssize_t wanted, std::uint64_t found);

  pid_t process_;
  const std::uint64_t proof_address_, proof_;
  Demand demand_;
};

}  // namespace openlapi::direct
