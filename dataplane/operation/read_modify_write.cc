#include "dataplane/operation/read_modify_write.h"

#include <cstring>

namespace openlapi {

namespace {

using wire::RmwOperation;

// What a variable of that many bytes must be aligned to, so that the instructions are atomic. 32-bit programs align
// 64-bit variables to 4 bytes; their processor's cmpxchg8b is atomic there too.
template <typename Word>
constexpr std::size_t kAlignment = sizeof(void*) < sizeof(Word) ? sizeof(void*) : sizeof(Word);

// By the compiler's functions: std::atomic_ref asks for more alignment.
template <typename Word>
std::uint64_t apply_atomically(RmwOperation operation, Word* target, Word input, Word swap_value) {
  switch (operation) {
    case RmwOperation::fetch_and_add:
      return __atomic_fetch_add(target, input, __ATOMIC_SEQ_CST);
    case RmwOperation::fetch_and_or:
      return __atomic_fetch_or(target, input, __ATOMIC_SEQ_CST);
    case RmwOperation::swap:
      return __atomic_exchange_n(target, input, __ATOMIC_SEQ_CST);
    case RmwOperation::compare_and_swap:
      return __atomic_compare_exchange_n(target, &input, swap_value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ? 1 : 0;
  }
  return 0;
}

template <typename Word>
std::uint64_t apply(RmwOperation operation, std::uint64_t address, std::uint64_t input, std::uint64_t swap_value) {
  void* place = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  if (address % kAlignment<Word> == 0) {
    return apply_atomically(operation, static_cast<Word*>(place), static_cast<Word>(input),
                            static_cast<Word>(swap_value));
  }
  Word copy;
  std::memcpy(&copy, place, sizeof(Word));
  const std::uint64_t previous =
      apply_atomically(operation, &copy, static_cast<Word>(input), static_cast<Word>(swap_value));
  std::memcpy(place, &copy, sizeof(Word));
  return previous;
}

}  // namespace

bool rmw_is_valid(std::uint8_t operation, std::uint8_t width) {
  return operation >= static_cast<std::uint8_t>(RmwOperation::fetch_and_add) &&
         operation <= static_cast<std::uint8_t>(RmwOperation::compare_and_swap) && (width == 4 || width == 8);
}

std::uint64_t apply_rmw(RmwOperation operation, std::uint8_t width, std::uint64_t address, std::uint64_t input,
                        std::uint64_t swap_value) {
  if (width == sizeof(std::uint32_t)) return apply<std::uint32_t>(operation, address, input, swap_value);
  return apply<std::uint64_t>(operation, address, input, swap_value);
}

}  // namespace openlapi
