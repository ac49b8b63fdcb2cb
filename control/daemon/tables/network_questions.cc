#include "control/daemon/tables/network_questions.h"

#include <algorithm>
#include <tuple>
#include <variant>

#include "control/daemon/tables/network_tables.h"

namespace openlapi::daemon {
namespace {

constexpr std::size_t kMostAnswered = 3 << 20;  // bytes of windows: less than a message may have

std::size_t size_of(const WindowState& state) {
  return kLeastStateBytes + state.key.size() + state.window.adapter.size() + state.window.device.size();
}

auto order_of(const WindowState& state) { return std::tie(state.key, state.window.task, state.window.node); }

}  // namespace

bool NetworkQuestions::take(std::uint64_t tool, const DaemonMessage& message) {
  if (const auto* request = std::get_if<LoadRequest>(&message)) {
    load(tool, *request);
  } else if (const auto* unload = std::get_if<UnloadRequest>(&message)) {
    ask_all(tool, UnloadTable{unload->key, 0});
  } else if (const auto* read = std::get_if<TablesRequest>(&message)) {
    ask_all(tool, ReadTables{read->key});
  } else if (std::holds_alternative<CleanRequest>(message)) {
    ask_all(tool, CleanNode{});
  } else {
    return false;
  }
  return true;
}

void NetworkQuestions::load(std::uint64_t tool, const LoadRequest& request) {
  const std::string mistake = mistake_in(request.table);
  if (!mistake.empty()) return places_.answer(tool, {mistake, {}});
  const std::vector<std::uint32_t> nodes = nodes_of(request.table);
  for (const std::uint32_t node : nodes) {
    if (universe_.is_member(node)) continue;
    return places_.answer(tool, {"n" + std::to_string(node) + " is not in the universe", {}});
  }
  Question question{tool, {nodes.begin(), nodes.end()}, request.table};
  question.loading.identity = places_.random();
  const LoadTable action{question.loading};
  ask(std::move(question), action);
}

void NetworkQuestions::ask_all(std::uint64_t tool, const NetworkAction& action) {
  Question question{tool};
  for (std::uint32_t node = 0; node < universe_.nodes().size(); ++node) {
    if (universe_.is_member(node)) question.awaited.insert(node);
  }
  ask(std::move(question), action);
}

// The node here may answer at once, and be the last.
void NetworkQuestions::ask(Question question, const NetworkAction& action) {
  const std::vector<std::uint32_t> nodes(question.awaited.begin(), question.awaited.end());
  const std::uint32_t number = ++last_number_;
  questions_.emplace(number, std::move(question));
  places_.ask(nodes, number, action);
}

void NetworkQuestions::add_failure(Question& question, std::uint32_t node, const std::string& failure) const {
  question.answer.failure +=
      (question.answer.failure.empty() ? "" : "; ") + name_of(node, universe_.nodes()) + ": " + failure;
}

void NetworkQuestions::add_silent(Question& question) const {
  const std::vector<std::uint32_t> silent(question.awaited.begin(), question.awaited.end());
  question.answer.failure += (question.answer.failure.empty() ? "" : "; ") + std::string("no answer after ") +
                             std::to_string(kNodeAnswerTime.count()) + " s from " +
                             names_of(silent, universe_.nodes()) +
                             ": the daemon there (lamd), or one on the way, hangs or is stopped; tkill there ends it";
}

void NetworkQuestions::answered(std::uint32_t node, std::uint32_t number, const NodeAnswer& answer) {
  const auto found = questions_.find(number);
  if (found == questions_.end() || found->second.awaited.erase(node) == 0) return;
  Question& question = found->second;
  if (!answer.failure.empty()) add_failure(question, node, answer.failure);
  std::vector<WindowState>& windows = question.answer.windows;
  windows.insert(windows.end(), answer.windows.begin(), answer.windows.end());
  for (const WindowState& window : answer.windows) question.size += size_of(window);
  if (question.size > kMostAnswered) {
    windows.clear();
    question.awaited.clear();
    question.answer.failure = "there are more windows than one answer holds; name a job key";
  }
  if (question.awaited.empty()) finish(number);
}

// A table is loaded on all its nodes or on none.
void NetworkQuestions::finish(std::uint32_t number) {
  Question question = std::move(questions_.extract(number).mapped());
  if (!question.answer.failure.empty() && !question.loading.windows.empty()) {
    take_back(question);
    question.answer.windows.clear();
  }
  std::ranges::stable_sort(question.answer.windows, [](const WindowState& left, const WindowState& right) {
    return order_of(left) < order_of(right);
  });
  places_.answer(question.tool, question.answer);
}

void NetworkQuestions::take_back(const Question& question) {
  if (question.loading.windows.empty()) return;
  places_.ask(nodes_of(question.loading), 0, UnloadTable{question.loading.key, question.loading.identity});
}

void NetworkQuestions::node_lost(std::uint32_t node) {
  std::vector<std::uint32_t> concerned;
  for (const auto& [number, question] : questions_) {
    if (question.awaited.contains(node)) concerned.push_back(number);
  }
  for (const std::uint32_t number : concerned) answered(node, number, {"its daemon is lost", {}});
}

void NetworkQuestions::tick(Time now) {
  std::vector<std::uint32_t> over;
  for (auto& [number, question] : questions_) {
    if (!question.until) question.until = now + kNodeAnswerTime;
    if (*question.until <= now) over.push_back(number);
  }
  for (const std::uint32_t number : over) {
    add_silent(questions_.at(number));
    finish(number);
  }
}

std::optional<NetworkQuestions::Time> NetworkQuestions::deadline() const {
  std::optional<Time> first;
  for (const auto& [number, question] : questions_) {
    if (question.until && (!first || *question.until < *first)) first = question.until;
  }
  return first;
}

void NetworkQuestions::tool_gone(std::uint64_t tool) {
  for (auto question = questions_.begin(); question != questions_.end();) {
    if (question->second.tool != tool) {
      ++question;
      continue;
    }
    take_back(question->second);
    question = questions_.erase(question);
  }
}

}  // namespace openlapi::daemon
