#include "api/wiring/task_texts.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace openlapi {
namespace {

constexpr std::string_view kKey = "openlapi.library";  // after the first of them: others may run an older build
constexpr unsigned kSecondsForTexts = 10;              // they were published before the exchange

}  // namespace

bool publish_texts(Bootstrap& bootstrap, const TaskTexts& texts, std::string& reason) {
  const std::string entry = texts.library + (texts.variables.empty() ? "" : "\n" + texts.variables);
  return bootstrap.put(kKey, std::as_bytes(std::span(entry)), reason);
}

bool published_texts(Bootstrap& bootstrap, std::uint32_t task, TaskTexts& texts, std::string& reason) {
  std::vector<std::byte> value;
  if (!bootstrap.get(task, kKey, kSecondsForTexts, value, reason)) return false;
  const std::string_view entry(reinterpret_cast<const char*>(value.data()), value.size());
  texts.library = entry.substr(0, entry.find('\n'));
  texts.variables = entry.substr(std::min(entry.size(), texts.library.size() + 1));
  return true;
}

std::uint32_t task_to_compare_with(const Bootstrap& bootstrap) {
  const std::uint32_t first_of_node = bootstrap.local_tasks().front();
  return bootstrap.task() == first_of_node ? 0 : first_of_node;
}

bool is_said_by_another(Bootstrap& bootstrap, std::string TaskTexts::*text, std::string_view own) {
  TaskTexts before;
  std::string reason;
  return published_texts(bootstrap, bootstrap.task() - 1, before, reason) && before.*text == own;
}

}  // namespace openlapi
