#include "control/job/node/task_standing.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <set>

#include "control/base/file_text.h"
#include "dataplane/base/task_page.h"

namespace openlapi {
namespace {

constexpr std::size_t kMostLines = 10;
constexpr std::size_t kMostRanges = 8;     // of tasks' numbers in a line
constexpr std::uint32_t kPollsLately = 2;  // seconds

const char* name_of(std::uint32_t call) {
  switch (static_cast<WaitedCall>(call)) {
    case WaitedCall::init:
      return "LAPI_Init";
    case WaitedCall::exchange:
      return "the exchange of LAPI_Init";
    case WaitedCall::term:
      return "LAPI_Term";
    case WaitedCall::wait_for_counter:
      return "LAPI_Waitcntr";
    case WaitedCall::nopoll_wait:
      return "LAPI_Nopoll_wait";
    case WaitedCall::fence:
      return "LAPI_Fence";
    case WaitedCall::global_fence:
      return "LAPI_Gfence";
    case WaitedCall::address_init:
      return "LAPI_Address_init";
    case WaitedCall::condition:
      return "cond_wait of LAPI's shared lock";
    case WaitedCall::put:
      return "LAPI_Put";
    case WaitedCall::get:
      return "LAPI_Get";
    case WaitedCall::read_modify_write:
      return "LAPI_Rmw";
    case WaitedCall::message:
      return "LAPI_Amsend";
    case WaitedCall::put_of_pieces:
      return "LAPI_Putv";
    case WaitedCall::get_of_pieces:
      return "LAPI_Getv";
    case WaitedCall::message_of_pieces:
      return "LAPI_Amsendv";
    case WaitedCall::none:
      break;
  }
  return nullptr;
}

std::string reason_of(const TaskPages::Wait& wait) {
  const std::string first = std::to_string(wait.first);
  switch (static_cast<WaitedCall>(wait.call)) {
    case WaitedCall::wait_for_counter:
    case WaitedCall::nopoll_wait:
      return "the counter is " + first + ", waited for is " + std::to_string(wait.second);
    case WaitedCall::exchange:
      return "all tasks meet there";
    case WaitedCall::fence:
    case WaitedCall::global_fence:
      return wait.first < 0 ? "" : "task " + first + " has not answered";
    case WaitedCall::put:
    case WaitedCall::get:
    case WaitedCall::read_modify_write:
    case WaitedCall::message:
    case WaitedCall::put_of_pieces:
    case WaitedCall::get_of_pieces:
    case WaitedCall::message_of_pieces:
      return "task " + first + " takes no more";
    default:
      return {};
  }
}

// LAPI_Init shows twice while its tasks meet.
std::vector<TaskPages::Wait> known_waits(const TaskPages::Words& words) {
  std::vector<TaskPages::Wait> waits;
  const auto is = [](WaitedCall call) {
    return [call](const TaskPages::Wait& wait) { return wait.call == static_cast<std::uint32_t>(call); };
  };
  const bool meets = std::ranges::any_of(words.waits, is(WaitedCall::exchange));
  for (const TaskPages::Wait& wait : words.waits) {
    if (name_of(wait.call) != nullptr && !(meets && is(WaitedCall::init)(wait))) waits.push_back(wait);
  }
  std::ranges::sort(waits, {}, &TaskPages::Wait::since);
  return waits;
}

// 'R', 'S', 'T' and the like; 0: no such thread or process. `name`: of the thread.
char state_in(const std::filesystem::path& folder, std::string* name = nullptr) {
  const std::string text = file_text(folder / "stat");
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (close == std::string::npos || close + 2 >= text.size()) return 0;
  if (name != nullptr) *name = text.substr(open + 1, close - open - 1);
  return text[close + 2];
}

bool is_stopped(std::uint32_t process) {
  const char state = state_in("/proc/" + std::to_string(process));
  return state == 'T' || state == 't';
}

// A main thread may have ended before others.
bool is_ended(std::uint32_t process) {
  if (kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) return true;
  const std::filesystem::path folder = "/proc/" + std::to_string(process);
  const char state = state_in(folder);
  std::error_code error;
  std::size_t threads = 0;
  for (std::filesystem::directory_iterator thread(folder / "task", error), end; !error && thread != end;
       thread.increment(error))
    ++threads;
  return (state == 'Z' || state == 'X') && !error && threads == 1;
}

// A shell goes on behind the program that it has run.
bool has_died(std::uint32_t process, const TaskProcess& task, ContainerNumbers& elsewhere) {
  const bool is_below = process != 0 && process != static_cast<std::uint32_t>(task.pid());
  return is_below && is_ended(process) && !elsewhere.contains(process);
}

// Whether a thread wants to run that is not there to poll.
bool computes(std::uint32_t process) {
  std::error_code error;
  for (std::filesystem::directory_iterator thread("/proc/" + std::to_string(process) + "/task", error), end;
       !error && thread != end; thread.increment(error)) {
    std::string name;
    if (state_in(thread->path(), &name) == 'R' && name != "lapi-dataplane") return true;
  }
  return false;
}

std::string place_outside(const TaskPages::Words& words, bool in_pmix, bool stopped) {
  if (words.opened == 0) return in_pmix ? "connected to PMIx, not in LAPI_Init" : "not in LAPI_Init yet";
  if (words.open == 0) return "after LAPI_Term";
  if (stopped) return "outside of LAPI";
  if (words.polled != 0 && monotonic_seconds() - words.polled <= kPollsLately)
    return "calling LAPI_Probe or LAPI_Msgpoll, which find nothing";
  return computes(words.process) ? "outside of LAPI, computing" : "outside of LAPI, asleep";
}

std::string numbers_of(const std::vector<TaskStanding>& group) {
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t first = 0; first < group.size();) {
    std::size_t last = first;
    while (last + 1 < group.size() && group[last + 1].task == group[last].task + 1) ++last;
    if (++ranges > kMostRanges) return text + ",... (" + std::to_string(group.size()) + ")";
    text += (first == 0 ? "" : ",") + std::to_string(group[first].task);
    if (last > first) text += "-" + std::to_string(group[last].task);
    first = last + 1;
  }
  return text;
}

std::string hosts_of(const std::vector<TaskStanding>& group) {
  std::set<std::string> hosts;
  for (const TaskStanding& standing : group) hosts.insert(standing.host);
  if (hosts.size() > 1) return " on " + std::to_string(hosts.size()) + " nodes";
  return hosts.begin()->empty() ? "" : " on " + *hosts.begin();
}

std::string time_of(const std::vector<TaskStanding>& group) {
  const auto [least, most] = std::ranges::minmax_element(group, {}, &TaskStanding::seconds);
  if (!least->seconds) return {};
  const std::string longest = std::to_string(*most->seconds) + " s";
  return " for " + (*least->seconds == *most->seconds ? longest : std::to_string(*least->seconds) + " to " + longest);
}

std::string line_of(const std::vector<TaskStanding>& group) {
  const TaskStanding& first = group.front();
  std::string line = (group.size() == 1 ? "task " : "tasks ") + numbers_of(group);
  if (group.size() == 1 && first.process != 0) line += " (process " + std::to_string(first.process) + ")";
  return line + hosts_of(group) + ": " + first.where + time_of(group) + (first.why.empty() ? "" : ": " + first.why);
}

}  // namespace

TaskStanding standing_of(const TaskProcess& task, const TaskPages::Words& words, bool in_pmix,
                         ContainerNumbers& elsewhere) {
  TaskStanding standing{task.number(), static_cast<std::uint32_t>(task.pid())};
  if (task.has_ended()) {
    standing.where = "has ended";
    return standing;
  }
  if (has_died(words.process, task, elsewhere)) {
    standing.where = "its program has ended, what has started it goes on";
    return standing;
  }
  if (words.process != 0) standing.process = words.process;
  const bool stopped = task.is_stopped() || is_stopped(standing.process);
  const std::vector<TaskPages::Wait> waits = known_waits(words);
  std::string where = waits.empty() ? place_outside(words, in_pmix, stopped) : "";
  for (const TaskPages::Wait& wait : waits)
    where += std::string(where.empty() ? "in " : " and in ") + name_of(wait.call);
  if (!waits.empty()) standing.seconds = monotonic_seconds() - waits.front().since;
  if (waits.size() == 1) standing.why = reason_of(waits.front());
  standing.where = (stopped ? "stopped by a signal, " : "") + where;
  return standing;
}

std::vector<std::string> standing_lines(const std::vector<TaskStanding>& standings) {
  std::vector<std::vector<TaskStanding>> groups;
  for (const TaskStanding& standing : standings) {
    const auto same = std::ranges::find_if(groups, [&standing](const auto& group) {
      const TaskStanding& first = group.front();
      return first.where == standing.where && first.why == standing.why &&
             first.seconds.has_value() == standing.seconds.has_value();
    });
    (same != groups.end() ? *same : groups.emplace_back()).push_back(standing);
  }
  std::vector<std::string> lines;
  std::size_t untold = 0;
  for (const std::vector<TaskStanding>& group : groups)
    lines.size() < kMostLines ? lines.push_back(line_of(group)) : static_cast<void>(untold += group.size());
  if (untold != 0) lines.push_back(std::to_string(untold) + " more tasks stand elsewhere");
  return lines;
}

}  // namespace openlapi
