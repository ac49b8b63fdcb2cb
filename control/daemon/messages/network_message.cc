#include "control/daemon/messages/network_message.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "control/daemon/messages/message_codec.h"

namespace openlapi::daemon {
namespace {

bool is_printable(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char letter) { return letter >= 0x20 && letter != 0x7f; });
}

bool is_name(const std::string& text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && is_printable(text);
}

std::string text_of(const TableWindow& window) {
  return "task " + std::to_string(window.task) + ", n" + std::to_string(window.node) + ": '" +
         std::to_string(window.window) + "," + window.adapter + "'";
}

// As MP_LAPI_NETWORK can name it.
bool is_adapter(const std::string& name) {
  return is_name(name, kLongestAdapter) && name.find_first_of(",: ") == std::string::npos;
}

std::string mistake_in(const TableWindow& window, std::uint32_t tasks) {
  if (window.task >= tasks) {
    return text_of(window) + ": the task's number is not below that of the tasks, " + std::to_string(tasks);
  }
  if (window.window > kLastWindow && window.window != kAnyWindow) {
    return text_of(window) + ": allowed is a window from 0 to " + std::to_string(kLastWindow) + ", or any";
  }
  if (!is_adapter(window.adapter)) {
    return text_of(window) + ": allowed is an adapter's name of 1 to " + std::to_string(kLongestAdapter) +
           " characters without comma, colon and space; a device follows it by itself";
  }
  if (window.device.size() <= kLongestDevice && is_printable(window.device)) return "";
  return text_of(window) + ": allowed is a device of at most " + std::to_string(kLongestDevice) + " characters";
}

// Every task has windows, all on one node; no window is named twice.
std::string mistake_between(const NetworkTable& table) {
  std::vector<std::int64_t> node_of(table.tasks, -1);
  std::set<std::tuple<std::uint32_t, std::string, std::uint32_t>> taken;
  for (const TableWindow& window : table.windows) {
    std::int64_t& node = node_of[window.task];
    if (node != -1 && node != window.node) return text_of(window) + ": the task is on another node, too";
    node = window.node;
    if (window.window != kAnyWindow && !taken.emplace(window.node, window.adapter, window.window).second) {
      return text_of(window) + ": the window is there twice";
    }
  }
  const auto missing = std::ranges::find(node_of, -1);
  if (missing == node_of.end()) return "";
  return "task " + std::to_string(missing - node_of.begin()) + " has no window";
}

}  // namespace

std::size_t size_of(const TaskAddresses& addresses) {
  std::size_t size = 0;
  for (const TaskAddress& address : addresses) size += 12 + address.key.size() + address.value.size();
  return size;
}

MessageBytes encode_action(const NetworkAction& action) {
  MessageBytes bytes;
  append_kind(action, bytes);
  return bytes;
}

std::optional<NetworkAction> decode_action(std::span<const std::uint8_t> bytes) {
  auto action = decode_kind<NetworkAction>(bytes);
  const auto* load = action ? std::get_if<LoadTable>(&*action) : nullptr;
  if (load != nullptr && !mistake_in(load->table).empty()) return std::nullopt;
  return action;
}

std::string mistake_in(const NetworkTable& table) {
  if (!is_name(table.key, kLongestJobKey)) {
    return "the job key '" + table.key + "' is not allowed: 1 to " + std::to_string(kLongestJobKey) +
           " printable characters";
  }
  if (table.windows.empty() || table.windows.size() > kMostTableWindows) {
    return "the table has " + std::to_string(table.windows.size()) + " windows; allowed are 1 to " +
           std::to_string(kMostTableWindows);
  }
  if (table.tasks == 0 || table.tasks > kMostTableWindows) {
    return "the table has " + std::to_string(table.tasks) + " tasks; allowed are 1 to " +
           std::to_string(kMostTableWindows);
  }
  for (const TableWindow& window : table.windows) {
    const std::string mistake = mistake_in(window, table.tasks);
    if (!mistake.empty()) return mistake;
  }
  return mistake_between(table);
}

}  // namespace openlapi::daemon
