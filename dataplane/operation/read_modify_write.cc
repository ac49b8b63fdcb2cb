#include "dataplane/operation/read_modify_write.h"

#include <atomic>
#include <cstring>

namespace openlapi {

namespace {

using wire::RmwOperation;

template <typename Word>
std::uint64_t apply_atomically(RmwOperation operation, Word& word, Word input, Word swap_value) {
  std::atomic_ref<Word> target(word);
  switch (operation) {
    case RmwOperation::fetch_and_add:
      return target.fetch_add(input);
    case RmwOperation::fetch_and_or:
      return target.fetch_or(input);
    case RmwOperation::swap:
      return target.exchange(input);
    case RmwOperation::compare_and_swap:
      return target.compare_exchange_strong(input, swap_value) ? 1 : 0;
  }
  return 0;
}

template <typename Word>
std::uint64_t apply(RmwOperation operation, std::uint64_t address, std::uint64_t input, std::uint64_t swap_value) {
  void* place = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  if (address % sizeof(Word) == 0) {
    return apply_atomically(operation, *static_cast<Word*>(place), static_cast<Word>(input),
                            static_cast<Word>(swap_value));
  }
  Word copy;
  std::memcpy(&copy, place, sizeof(Word));
  const std::uint64_t previous =
      apply_atomically(operation, copy, static_cast<Word>(input), static_cast<Word>(swap_value));
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
