#include "control/job/messages/job_message.h"

#include <algorithm>

#include "control/base/adapter_event.h"
#include "control/daemon/messages/message_codec.h"
#include "control/job/messages/fence_tree.h"

namespace openlapi::jobs {
namespace {

// Each number below the count once.
bool has_each_task_once(const std::vector<JobNode>& nodes) {
  std::vector<bool> seen(task_count(nodes));
  for (const JobNode& node : nodes) {
    if (!std::ranges::is_sorted(node.tasks)) return false;
    for (const std::uint32_t task : node.tasks) {
      if (task >= seen.size() || seen[task]) return false;
      seen[task] = true;
    }
  }
  return !seen.empty();
}

bool is_possible(const JobBody& body) {
  if (const auto* start = std::get_if<StartTasks>(&body)) {
    return has_each_task_once(start->nodes) && is_fence_tree(start->nodes) && !start->arguments.empty() &&
           start->arguments.back() == 0;
  }
  if (const auto* output = std::get_if<TaskOutput>(&body)) return !output->bytes.empty();
  if (const auto* told = std::get_if<TaskEvent>(&body)) return decode_adapter_event(told->event).has_value();
  if (const auto* signal = std::get_if<TaskSignal>(&body)) return signal->signal > 0 && signal->signal <= 64;
  return true;
}

}  // namespace

std::uint32_t task_count(const std::vector<JobNode>& nodes) {
  std::size_t count = 0;
  for (const JobNode& node : nodes) count += node.tasks.size();
  return static_cast<std::uint32_t>(count);
}

bool is_among_helpers(const JobBody& body) {
  return std::holds_alternative<FenceData>(body) || std::holds_alternative<FenceDone>(body) ||
         std::holds_alternative<ModexRequest>(body) || std::holds_alternative<ModexAnswer>(body) ||
         std::holds_alternative<TaskEvent>(body);
}

MessageBytes encode(const JobBody& body) {
  MessageBytes bytes;
  daemon::append_kind(body, bytes);
  return bytes;
}

std::optional<JobBody> decode_body(std::span<const std::uint8_t> bytes) {
  auto body = daemon::decode_kind<JobBody>(bytes);
  return body && is_possible(*body) ? body : std::nullopt;
}

MessageBytes pack_words(const std::vector<std::string>& words) {
  MessageBytes bytes;
  for (const std::string& word : words) {
    bytes.insert(bytes.end(), word.begin(), word.end());
    bytes.push_back(0);
  }
  return bytes;
}

std::vector<std::string> unpack_words(const MessageBytes& bytes) {
  std::vector<std::string> words;
  for (auto begin = bytes.begin();;) {
    const auto end = std::find(begin, bytes.end(), std::uint8_t{0});
    if (end == bytes.end()) return words;
    words.emplace_back(begin, end);
    begin = end + 1;
  }
}

}  // namespace openlapi::jobs
