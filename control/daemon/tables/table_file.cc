#include "control/daemon/tables/table_file.h"

#include <algorithm>
#include <stdexcept>

#include "dataplane/base/whole_number.h"

namespace openlapi::daemon {
namespace {

constexpr std::string_view kKeyName = "MP_PARTITION=";
constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view take_word(std::string_view& rest) {
  rest = trimmed(rest);
  const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest = trimmed(rest.substr(word.size()));
  return word;
}

std::uint32_t number(std::string_view text, const char* what, const std::string& allowed) {
  const auto value = whole_number<std::uint32_t>(text);
  if (!value) throw std::invalid_argument("'" + std::string(text) + "' is no " + what + ": allowed is " + allowed);
  return *value;
}

TableWindow parse_window(std::string_view line) {
  TableWindow window;
  window.task = number(take_word(line), "task", "a number from 0");
  const std::string_view node = take_word(line);
  window.node = number(node.starts_with('n') ? node.substr(1) : "", "node", "n0, n1 and so on, as lamnodes has them");
  const std::string_view pair = take_word(line);
  const auto comma = pair.find(',');
  if (comma == std::string_view::npos) {
    throw std::invalid_argument("'" + std::string(pair) + "' is no window: allowed is window,adapter, such as 164,sn0");
  }
  const std::string_view which = pair.substr(0, comma);
  const std::string allowed = "0 to " + std::to_string(kLastWindow) + ", or any";
  window.window = which == "any" ? kAnyWindow : number(which, "window", allowed);
  if (which != "any" && window.window > kLastWindow) {
    throw std::invalid_argument("'" + std::string(which) + "' is no window: allowed is " + allowed);
  }
  window.adapter = pair.substr(comma + 1);
  window.device = line;
  return window;
}

void take_line(std::string_view line, NetworkTable& table) {
  line = trimmed(line);
  if (line.empty() || line.front() == '#') return;
  if (line.starts_with(kKeyName)) {
    if (!table.key.empty()) throw std::invalid_argument("MP_PARTITION is there twice");
    table.key = trimmed(line.substr(kKeyName.size()));
    return;
  }
  table.windows.push_back(parse_window(line));
  const std::uint32_t task = table.windows.back().task;
  if (task >= kMostTableWindows) {
    throw std::invalid_argument("task " + std::to_string(task) + ": allowed are 0 to " +
                                std::to_string(kMostTableWindows - 1));
  }
  table.tasks = std::max(table.tasks, task + 1);
}

}  // namespace

NetworkTable parse_table(std::string_view text) {
  NetworkTable table;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view here = text.substr(0, text.find('\n'));
    try {
      take_line(here, table);
    } catch (const std::invalid_argument& wrong) {
      throw std::invalid_argument("line " + std::to_string(line) + ": " + wrong.what());
    }
    text.remove_prefix(std::min(text.size(), here.size() + 1));
  }
  if (table.key.empty()) throw std::invalid_argument("no line says MP_PARTITION=, the job key");
  const std::string mistake = mistake_in(table);
  if (!mistake.empty()) throw std::invalid_argument(mistake);
  return table;
}

std::string network_statement(const std::vector<WindowState>& windows) {
  std::string text = "@" + std::to_string(windows.size());
  for (const WindowState& state : windows) {
    text += ":" + std::to_string(state.window.window) + "," + state.window.adapter;
  }
  return text;
}

}  // namespace openlapi::daemon
