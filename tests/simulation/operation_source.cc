#include "tests/simulation/operation_source.h"

#include <algorithm>
#include <cstring>

#include "tests/simulation/byte_pattern.h"
#include "tests/simulation/transfer_data.h"

namespace openlapi::simulation {

namespace {

constexpr std::uint64_t kSpareMemory = 64 * 1024;  // of a task, for counters and words when long data no longer fits
constexpr std::uint64_t kLayoutStream = 0x5a9e5;
constexpr double kLayoutShare = 0.4;

bool take(TaskMemory& memory, std::uint64_t bytes, std::span<std::byte>& place) {
  if (bytes == 0) return true;
  place = memory.take(bytes);
  return !place.empty();
}

}  // namespace

PeerIndex OperationSource::choose_target() {
  if (random_.chance(0.04)) return task_;
  PeerIndex target = static_cast<PeerIndex>(random_.below(scenario_.options.tasks));
  // The dead are not forgotten, but mostly left alone.
  for (int tries = 0; tries < 6 && !checker_.alive(target); ++tries) {
    target = static_cast<PeerIndex>(random_.below(scenario_.options.tasks));
  }
  return target;
}

std::uint64_t OperationSource::choose_length(std::uint32_t header_length) {
  const std::uint64_t draw = random_.below(100);
  if (draw < 15) return random_.below(17);
  if (draw < 40) {
    const std::uint64_t edges[] = {max_payload_,         max_payload_,         2 * std::uint64_t{max_payload_},
                                   scenario_.copy_limit, max_payload_ - 24ull, 3 * std::uint64_t{max_payload_}};
    const std::uint64_t edge = random_.pick(edges);
    const std::uint64_t least = edge > header_length + 9ull ? edge - header_length - 9 : 0;
    return std::min<std::uint64_t>(least + random_.below(19), 200'000);
  }
  if (random_.chance(scenario_.long_share)) return random_.between(8 * 1024, scenario_.long_message);
  return random_.below(std::uint64_t{1} << random_.between(3, 13));
}

Operation& OperationSource::begin(Kind kind, PeerIndex target) {
  Operation& operation = checker_.add();
  operation.kind = kind;
  operation.context = context_;
  operation.origin = task_;
  operation.target = target;
  operation.origin_incarnation = checker_.incarnation(task_);
  operation.target_incarnation = checker_.incarnation(target);
  operation.has_origin_handler = mix_bits(operation.key + 2) % 3 == 0;
  return operation;
}

int* OperationSource::take_counter(PeerIndex task, double share) {
  if (!random_.chance(share)) return nullptr;
  const std::span<std::byte> place = checker_.memory(task).take(sizeof(int), sizeof(int));
  if (place.empty()) return nullptr;
  std::memset(place.data(), 0, sizeof(int));
  return reinterpret_cast<int*>(place.data());
}

void OperationSource::take_counters(Operation& operation, bool completion) {
  operation.origin_counter = take_counter(operation.origin, 0.7);
  operation.target_counter = take_counter(operation.target, 0.5);
  if (completion) operation.completion_counter = take_counter(operation.origin, 0.5);
}

void OperationSource::prepare_data(Operation& operation) {
  const std::uint64_t bytes = operation.from.extent;
  operation.data = std::make_unique_for_overwrite<std::byte[]>(bytes + 1);
  fill_pattern({operation.data.get(), bytes}, operation.key);
  operation.from.place_at(operation.data.get());
  operation.header = std::make_unique_for_overwrite<std::byte[]>(operation.header_length + 4);
  fill_pattern({operation.header.get(), operation.header_length}, operation.key + 1);
  operation.copied = operation.length + operation.header_length <= scenario_.copy_limit;
}

// Draws from numbers of its own.
void OperationSource::choose_layouts(Operation& operation, std::uint64_t room) {
  operation.from = operation.to = DataLayout::in_one_piece(operation.length);
  SeededRandom random(operation.key ^ kLayoutStream);
  if (operation.length == 0 || !random.chance(kLayoutShare)) return;
  std::uint64_t length = operation.length;
  TransferLayout chosen = simulation::choose_layouts(random, operation.kind == Kind::active_message, length);
  if (std::max(chosen.from.extent, chosen.to.extent) > room) return;
  operation.length = length;
  operation.from = std::move(chosen.from);
  operation.to = std::move(chosen.to);
}

// False: there is no room.
bool OperationSource::take_place(Operation& operation, PeerIndex task) {
  TaskMemory& memory = checker_.memory(task);
  const bool plain = operation.to.contiguous() && operation.length != 0;
  do {
    if (!take(memory, operation.to.extent, operation.place)) return false;
    operation.to.place_at(operation.place.data());
  } while (plain && data_is_in_place(operation, memory));  // a byte that is as if it had arrived would tell nothing
  if (!operation.to.contiguous()) memory.open_only(operation.to.runs);
  return true;
}

bool OperationSource::prepare_put(Operation& operation) {
  const std::size_t left = checker_.memory(operation.target).left();
  operation.length = std::min(choose_length(0), left / 8);
  choose_layouts(operation, left / 4);
  prepare_data(operation);
  take_counters(operation, true);
  return take_place(operation, operation.target);
}

bool OperationSource::prepare_get(Operation& operation) {
  const std::size_t left = std::min(checker_.memory(operation.target).left(), checker_.memory(task_).left());
  operation.length = std::min(choose_length(0), left / 8);
  choose_layouts(operation, left / 4);
  if (!take(checker_.memory(operation.target), operation.from.extent, operation.source)) return false;
  fill_pattern(operation.source, operation.key);
  operation.from.place_at(operation.source.data());
  take_counters(operation, false);
  return take_place(operation, task_);
}

bool OperationSource::prepare_message(Operation& operation, bool is_reply) {
  const std::uint32_t most_words = max_header_ / 4;
  const std::uint32_t words = random_.chance(0.1) ? most_words : static_cast<std::uint32_t>(random_.below(24));
  operation.header_length = 4 * std::min(random_.chance(0.2) ? 0 : words, most_words);
  const bool header_only = random_.chance(0.15);
  operation.length = header_only ? 0 : choose_length(operation.header_length);
  if (is_reply) operation.length = std::min<std::uint64_t>(operation.length, 2 * max_payload_);
  const std::size_t left = checker_.memory(operation.target).left();
  operation.length = std::min(operation.length, left / 8);
  choose_layouts(operation, left / 4);

  operation.delivery = random_.chance(0.1) ? Delivery::bury : Delivery::deliver;
  const CompletionStyle styles[] = {CompletionStyle::thread, CompletionStyle::inline_local,
                                    CompletionStyle::inline_reply};
  operation.style = random_.pick(styles);
  operation.has_completion = random_.chance(0.7);
  operation.takes_one_packet = random_.chance(0.3);
  operation.replies =
      !is_reply && operation.has_completion && operation.style != CompletionStyle::inline_local && random_.chance(0.4);
  if (random_.chance(0.12)) operation.drops_left = static_cast<std::uint32_t>(random_.between(1, 4));
  prepare_data(operation);
  take_counters(operation, true);
  if (operation.delivery == Delivery::bury) {
    operation.to = DataLayout::in_one_piece(0);
    return true;
  }
  return take_place(operation, operation.target);
}

bool OperationSource::prepare_read_modify_write(Operation& operation) {
  const wire::RmwOperation kinds[] = {wire::RmwOperation::fetch_and_add, wire::RmwOperation::fetch_and_or,
                                      wire::RmwOperation::swap, wire::RmwOperation::compare_and_swap};
  const std::uint8_t width = random_.chance(0.5) ? 4 : 8;
  SharedWord* word = checker_.word(operation.target, random_.pick(kinds), width);
  if (word == nullptr || !take(checker_.memory(task_), width, operation.place)) return false;
  operation.origin_counter = take_counter(task_, 1);
  operation.word = word;
  operation.length = width;
  // A value of its own, also in 4 bytes.
  const std::uint64_t own = (operation.id * 0x9e3779b97f4a7c15 | 1) & (width == 4 ? UINT32_MAX : UINT64_MAX);
  switch (word->operation) {
    case wire::RmwOperation::fetch_and_add:
      operation.input = word->step;
      break;
    case wire::RmwOperation::fetch_and_or:
      operation.input = std::uint64_t{1} << word->operations;
      break;
    case wire::RmwOperation::swap:
      operation.input = own;
      break;
    case wire::RmwOperation::compare_and_swap:
      std::memcpy(&operation.input, word->place, width);
      operation.swap_value = own;
      break;
  }
  ++word->operations;
  return operation.origin_counter != nullptr;
}

Operation* OperationSource::next(PeerIndex target) {
  const bool scarce = std::min(checker_.memory(target).left(), checker_.memory(task_).left()) < kSpareMemory;
  const std::uint64_t draw = scarce ? 99 : random_.below(100);
  const Kind kind = draw < 34   ? Kind::put
                    : draw < 54 ? Kind::get
                    : draw < 85 ? Kind::active_message
                                : Kind::read_modify_write;
  Operation& operation = begin(kind, target);
  bool ready = false;
  switch (kind) {
    case Kind::put:
      ready = prepare_put(operation);
      break;
    case Kind::get:
      ready = prepare_get(operation);
      break;
    case Kind::active_message:
      ready = prepare_message(operation, false);
      break;
    case Kind::read_modify_write:
      ready = prepare_read_modify_write(operation);
      break;
  }
  return ready ? &operation : nullptr;
}

Operation* OperationSource::reply(PeerIndex target) {
  Operation& operation = begin(Kind::active_message, target);
  return prepare_message(operation, true) ? &operation : nullptr;
}

}  // namespace openlapi::simulation
