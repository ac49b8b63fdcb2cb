// What must hold when nothing moves any more, and the serial order of read-modify-writes.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <set>

#include "dataplane/counter/counters.h"
#include "tests/simulation/byte_pattern.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/transfer_data.h"

namespace openlapi::simulation {

namespace {

using wire::RmwOperation;

constexpr std::uint32_t kMostBits = 30;  // operations per word: fetch-and-or needs a bit for each

std::uint64_t load(const std::byte* place, std::uint8_t width) {
  std::uint64_t value = 0;
  std::memcpy(&value, place, width);
  return value;
}

std::uint64_t mask_of(std::uint8_t width) { return width == 4 ? UINT32_MAX : UINT64_MAX; }

// Of counters and handlers nothing is expected any more.
bool has_ended(const Operation& operation) {
  if (operation.origin_counter != nullptr && !operation.origin_seen) return false;
  if (operation.target_counter != nullptr && !operation.target_seen) return false;
  if (operation.completion_counter != nullptr && !operation.completion_seen) return false;
  if (operation.kind == Kind::active_message && operation.accepted == 0) return false;
  if (operation.has_completion && !operation.handler_returned) return false;
  return !operation.has_origin_handler || operation.origin_handlers_run != 0;
}

// Nothing has told that the data is there. What an adapter has read, and the first packets of those that replace
// another piece which it could not read, may complete it before the last of these packets come.
bool may_come_again(const Scenario& scenario, const Operation& operation) {
  if (!scenario.bulk_adapters || operation.in_place) return false;
  if (operation.kind == Kind::put) return !operation.target_seen && !operation.completion_seen;
  return operation.kind == Kind::get && !operation.origin_seen;
}

}  // namespace

bool Checker::is_settled(const Operation& operation) const { return has_ended(operation) && operation.in_place; }

bool Checker::all_settled() {
  return std::all_of(operations_.begin(), operations_.end(), [&](Operation& operation) {
    if (!operation.issued || operation.excused) return true;
    if (!has_ended(operation)) return false;
    if (may_come_again(scenario_, operation)) return data_is_in_place(operation, place_owner(operation));
    return is_in_place(operation);
  });
}

std::string Checker::unsettled() const {
  std::string text;
  unsigned count = 0;
  for (const Operation& operation : operations_) {
    if (!operation.issued || operation.excused || is_settled(operation)) continue;
    if (count++ < 3) text += (text.empty() ? "" : "; ") + describe(operation);
  }
  return std::to_string(count) + " operations did not end: " + text;
}

std::string Checker::unended(PeerIndex task, std::uint32_t context, const Endpoint& endpoint) const {
  std::string text;
  const auto waits = [&](const int* counter) {
    return counter != nullptr && *counter == 0 &&
           endpoint.counters().loss_of(reinterpret_cast<std::uintptr_t>(counter)) == CounterLoss::none;
  };
  for (const Operation* operation : tasks_[task].engines[context].own) {
    if (!operation->excused) continue;
    const bool untold = operation->has_origin_handler && operation->kind != Kind::get;
    if (waits(operation->origin_counter) || waits(operation->completion_counter) ||
        (untold && operation->origin_handlers_run == 0)) {
      text += " " + describe(*operation) + " was neither done nor given up;";
    }
  }
  return text;
}

void Checker::check_end() {
  for (PeerIndex task = 0; task < tasks_.size(); ++task) {
    std::string where;
    if (!memory(task).guards_hold(where))
      fail("written outside of every operation in task %u: %s", task, where.c_str());
    check_words_of(task);
  }
  for (Operation& operation : operations_) {
    if (operation.issued) check_end_of(operation);
  }
}

void Checker::check_counters_of(const Operation& operation) {
  const auto check = [&](const int* counter, bool is_here, const char* name) {
    if (counter == nullptr || !is_here) return;
    const bool good = *counter == 1 || (operation.excused && *counter == 0);
    if (!good) fail("%s counter of %s is %d at the end", name, describe(operation).c_str(), *counter);
  };
  const bool origin_is_here = operation.origin_incarnation == incarnation(operation.origin);
  check(operation.origin_counter, origin_is_here, "origin");
  check(operation.completion_counter, origin_is_here, "completion");
  check(operation.target_counter, operation.target_incarnation == incarnation(operation.target), "target");
}

void Checker::check_end_of(Operation& operation) {
  const std::string name = describe(operation);
  check_counters_of(operation);
  if (!operation.excused && !is_in_place(operation)) fail("the data of %s never came", name.c_str());
  if (operation.accepted > 1) fail("%s was delivered %u times", name.c_str(), operation.accepted);
  if (!operation.excused && operation.has_completion && operation.handlers_run != 1) {
    fail("the completion handler of %s ran %u times", name.c_str(), operation.handlers_run);
  }
  if (!operation.excused && operation.has_origin_handler && operation.origin_handlers_run != 1) {
    fail("the origin's handler of %s ran %u times", name.c_str(), operation.origin_handlers_run);
  }
  const bool answer = operation.kind == Kind::get || operation.kind == Kind::read_modify_write;
  const bool place_is_here = answer ? operation.origin_incarnation == incarnation(operation.origin)
                                    : operation.target_incarnation == incarnation(operation.target);
  if (operation.kind != Kind::read_modify_write && place_is_here) {
    if (operation.in_place) {
      if (!place_is_overwritten(operation)) fail("%s was written a second time", name.c_str());
    } else {
      check_excused_place(operation);
    }
  }
  if (operation.kind == Kind::get && operation.target_incarnation == incarnation(operation.target)) {
    const std::uint64_t key = operation.target_seen ? ~operation.key : operation.key;
    if (!has_pattern(operation.source, key)) fail("%s changed what it read", name.c_str());
  }
}

// An operation that did not end: every byte of its place is as before or as it should have become.
void Checker::check_excused_place(const Operation& operation) {
  // Of a message that was refused, and so collected elsewhere, what had not come yet is undefined.
  if (!operation.refused_once) {
    const std::uint64_t wrong = first_wrong_byte(operation, place_owner(operation));
    if (wrong != operation.length && !operation.place.empty()) {
      fail("%s wrote something else at byte %llu", describe(operation).c_str(), static_cast<unsigned long long>(wrong));
    }
  }
  if (operation.frozen != 0 && operation.frozen != digest(operation.place)) {
    fail("%s went on after its peer's new incarnation was known", describe(operation).c_str());
  }
}

SharedWord* Checker::word(PeerIndex task, RmwOperation operation, std::uint8_t width) {
  for (SharedWord* present : tasks_[task].words) {
    const bool full = present->operations >= kMostBits;
    if (present->operation == operation && present->width == width && !full) return present;
  }
  const std::span<std::byte> place = memory(task).take(width, width);
  if (place.empty()) return nullptr;
  SharedWord& word = words_.emplace_back();
  const std::uint64_t number = mix_bits(scenario_.options.seed + (words_.size() << 32));
  word = {task,        incarnation(task), operation, width, number & mask_of(width), (number >> 7 | 1) & mask_of(width),
          place.data()};
  if (operation == RmwOperation::fetch_and_or) word.initial = 0;
  std::memcpy(place.data(), &word.initial, width);
  tasks_[task].words.push_back(&word);
  return &word;
}

void Checker::check_words_of(PeerIndex task) {
  for (const SharedWord* word : tasks_[task].words) check_word(*word);
}

namespace {

// What the operations of one word returned.
struct History {
  std::vector<const Operation*> complete;
  std::size_t open = 0;  // may or may not have been done
};

std::uint64_t previous_of(const Operation& operation) { return load(operation.place.data(), operation.word->width); }

// Everybody adds the same odd number, so a value says how many came before.
bool adds_fit(const SharedWord& word, const History& history, std::uint64_t last) {
  const std::uint64_t mask = mask_of(word.width);
  const std::size_t most = history.complete.size() + history.open;
  std::map<std::uint64_t, std::size_t> rank_of;
  for (std::size_t n = 0; n <= most; ++n) rank_of[(word.initial + n * word.step) & mask] = n;
  std::set<std::uint64_t> seen;
  for (const Operation* operation : history.complete) {
    const auto rank = rank_of.find(previous_of(*operation));
    if (rank == rank_of.end() || rank->second == most || !seen.insert(rank->second).second) return false;
  }
  const auto end = rank_of.find(last);
  return end != rank_of.end() && end->second >= history.complete.size() &&
         (seen.empty() || *seen.rbegin() < end->second);
}

// Everybody sets a bit of its own: what was found grows from one to the next.
bool ors_fit(const History& history, std::uint64_t last) {
  std::vector<const Operation*> ordered = history.complete;
  std::sort(ordered.begin(), ordered.end(), [](const Operation* a, const Operation* b) {
    return std::popcount(previous_of(*a)) < std::popcount(previous_of(*b));
  });
  std::uint64_t present = 0;
  for (const Operation* operation : ordered) {
    const std::uint64_t found = previous_of(*operation);
    if ((found & present) != present || (found & operation->input) != 0) return false;
    present = found | operation->input;
  }
  const auto unexplained = static_cast<std::size_t>(std::popcount(last)) - ordered.size();
  return (last & present) == present && unexplained <= history.open;
}

// Everybody leaves a value of its own, which one other finds, or which stays.
bool swaps_fit(const SharedWord& word, const History& history, const std::set<std::uint64_t>& all_inputs,
               std::uint64_t last) {
  std::set<std::uint64_t> found{last};
  if (last != word.initial && !all_inputs.contains(last)) return false;
  for (const Operation* operation : history.complete) {
    const std::uint64_t previous = previous_of(*operation);
    if (previous != word.initial && !all_inputs.contains(previous)) return false;
    if (previous == operation->input || !found.insert(previous).second) return false;
  }
  std::size_t missing = 0;
  for (const Operation* operation : history.complete) missing += found.contains(operation->input) ? 0 : 1;
  return missing + (found.contains(word.initial) ? 0 : 1) <= history.open;
}

// Successes lead from value to value, each of which exists once.
bool compares_fit(const SharedWord& word, const History& history, std::uint64_t last) {
  std::map<std::uint64_t, std::uint64_t> next;
  for (const Operation* operation : history.complete) {
    const std::uint64_t result = previous_of(*operation);
    if (result > 1) return false;
    if (result == 1 && !next.emplace(operation->input, operation->swap_value).second) return false;
  }
  if (history.open != 0) return true;
  std::uint64_t value = word.initial;
  std::size_t steps = 0;
  for (auto step = next.find(value); step != next.end(); step = next.find(value)) {
    value = step->second;
    if (++steps > next.size()) return false;
  }
  return value == last && steps == next.size();
}

}  // namespace

void Checker::check_word(const SharedWord& word) {
  History history;
  std::set<std::uint64_t> inputs;
  for (const Operation& operation : operations_) {
    if (operation.word != &word || !operation.issued) continue;
    inputs.insert(operation.input);
    const bool answered = operation.origin_seen && operation.origin_incarnation == incarnation(operation.origin);
    if (answered) {
      history.complete.push_back(&operation);
    } else {
      ++history.open;
    }
  }
  const std::uint64_t last = load(word.place, word.width);
  bool fits = false;
  switch (word.operation) {
    case RmwOperation::fetch_and_add:
      fits = adds_fit(word, history, last);
      break;
    case RmwOperation::fetch_and_or:
      fits = ors_fit(history, last);
      break;
    case RmwOperation::swap:
      fits = swaps_fit(word, history, inputs, last);
      break;
    case RmwOperation::compare_and_swap:
      fits = compares_fit(word, history, last);
      break;
  }
  if (!fits) {
    fail(
        "no serial order of %zu answered and %zu open read-modify-writes (operation %u, %u bytes) of task %u explains "
        "their answers",
        history.complete.size(), history.open, static_cast<unsigned>(word.operation), word.width, word.task);
  }
}

}  // namespace openlapi::simulation
