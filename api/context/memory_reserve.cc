#include "api/context/memory_reserve.h"

#include <cstdint>
#include <functional>
#include <mutex>
#include <new>

namespace openlapi {

namespace {

constexpr std::size_t kGrain = 2 * alignof(std::max_align_t);
// A heap that gives this much at once is believed to give again.
constexpr std::size_t kProof = 256 * 1024;

// Every block of the arena begins with its size, and the blocks lie one behind the other.
struct alignas(kGrain) Block {
  std::size_t bytes;  // with this head; a multiple of kGrain
  bool used;
};

alignas(64) constinit std::byte arena[kReserveBytes] = {};
constinit std::mutex turn;
constinit bool prepared = false;
constinit std::size_t taken = 0;
constinit thread_local bool closed = false;

Block* first_block() { return reinterpret_cast<Block*>(arena); }
std::byte* arena_end() { return arena + kReserveBytes; }
Block* next(Block* block) { return reinterpret_cast<Block*>(reinterpret_cast<std::byte*>(block) + block->bytes); }
bool is_end(const Block* block) { return reinterpret_cast<const std::byte*>(block) == arena_end(); }

void join_free(Block* block) {
  for (Block* after = next(block); !is_end(after) && !after->used; after = next(block)) block->bytes += after->bytes;
}

Block* find_free(std::size_t bytes) {
  for (Block* block = first_block(); !is_end(block); block = next(block)) {
    if (block->used) continue;
    join_free(block);
    if (block->bytes >= bytes) return block;
  }
  return nullptr;
}

void split(Block* block, std::size_t bytes) {
  if (block->bytes - bytes < 2 * sizeof(Block)) return;
  const std::size_t rest = block->bytes - bytes;
  block->bytes = bytes;
  ::new (next(block)) Block{rest, false};
}

}  // namespace

constinit std::atomic<bool> reserve_in_use{false};

void* take_from_reserve(std::size_t bytes) noexcept {
  if (closed || bytes > kReserveBytes / 2) return nullptr;
  const std::scoped_lock mine(turn);
  if (!prepared) ::new (static_cast<void*>(arena)) Block{kReserveBytes, false};
  prepared = true;
  const std::size_t wanted = sizeof(Block) + (bytes + kGrain - 1) / kGrain * kGrain;
  Block* block = find_free(wanted);
  reserve_in_use.store(true, std::memory_order_relaxed);
  if (block == nullptr) return nullptr;
  split(block, wanted);
  block->used = true;
  taken += block->bytes;
  return block + 1;
}

bool return_to_reserve(void* place) noexcept {
  const std::less<const void*> before;
  if (before(place, arena) || !before(place, arena_end())) return false;
  const std::scoped_lock mine(turn);
  Block* block = static_cast<Block*>(place) - 1;
  block->used = false;
  taken -= block->bytes;
  return true;
}

std::size_t reserve_room() noexcept {
  const std::scoped_lock mine(turn);
  return kReserveBytes - taken;
}

bool heap_still_refuses() noexcept {
  void* const proof = ::operator new(kProof, std::nothrow);
  if (proof == nullptr) return true;
  ::operator delete(proof);
  reserve_in_use.store(false, std::memory_order_relaxed);
  return false;
}

ReserveClosed::ReserveClosed() : before_(closed) { closed = true; }
ReserveClosed::~ReserveClosed() { closed = before_; }

}  // namespace openlapi
