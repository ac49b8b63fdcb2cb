#include "api/info/job.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/context/context.h"
#include "api/context/context_resources.h"
#include "api/context/path_report.h"
#include "api/include/lapi.h"
#include "api/info/report.h"
#include "api/wiring/modules.h"

namespace openlapi::info {
namespace {

constexpr int kHandler = 1;
constexpr int kGreetingHandler = 2;
// What each task sends to every other one before their paths are shown, so that there is something to measure.
constexpr std::size_t kGreetingBytes = 16384;
constexpr const char* kNoPath = "no way";

// Task 0's: the others' rows, by task.
std::vector<std::string> rows;

void* place_of_row(lapi_handle_t*, void* header, uint*, ulong* length, compl_hndlr_t** completion, void**) {
  uint task = 0;
  std::memcpy(&task, header, sizeof task);
  *completion = nullptr;
  rows[task].resize(*length);
  return rows[task].data();
}

void* bury_greeting(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void**) {
  *completion = nullptr;
  return nullptr;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

// With the context's lock held.
void add_paths(Context& context, std::uint32_t task, nlohmann::ordered_json& paths) {
  ContextResources& resources = context.resources();
  if (resources.routes->networks() < 2) return;
  for (const PathReport& report : report_paths(*resources.endpoint, *resources.routes, task, resources.clock.now())) {
    paths.push_back({{"task", task},
                     {"path", report.path},
                     {"state", report.state},
                     {"share", report.share},
                     {"packets", report.packets},
                     {"bytes", report.bytes},
                     {"retransmissions", report.again},
                     {"lost", report.lost},
                     {"failures", report.failures},
                     {"bytes_read", report.read},
                     {"round_trip_us", report.round_trip}});
  }
}

PathReport report_of(const nlohmann::ordered_json& path) {
  return {.path = path["path"],
          .state = path["state"],
          .share = path["share"],
          .packets = path["packets"],
          .bytes = path["bytes"],
          .again = path["retransmissions"],
          .lost = path["lost"],
          .failures = path["failures"],
          .read = path["bytes_read"],
          .round_trip = path["round_trip_us"]};
}

// This task's row: what it reaches the others over, each with these tasks; and of several paths to one each.
std::string own_row(Context& context) {
  std::map<std::string, std::vector<std::uint32_t>> tasks_of;
  nlohmann::ordered_json paths = nlohmann::ordered_json::array();
  std::string reason;
  context.lock();
  for (std::uint32_t task = 0; task < context.tasks(); ++task) {
    std::string path = task == context.own_task() ? "local copy" : context.resources().routes->describe(task, reason);
    tasks_of[path.empty() ? std::string(kNoPath) + ": " + reason : path].push_back(task);
    add_paths(context, task, paths);
  }
  context.unlock();
  nlohmann::ordered_json row{{"task", context.own_task()}, {"host", host_name()}, {"process", getpid()}};
  for (const auto& [path, tasks] : tasks_of) row["ways"].push_back({{"way", path}, {"tasks", ranges(tasks)}});
  row["paths"] = std::move(paths);
  return row.dump();
}

int failed(const char* call, int code) {
  std::array<char, LAPI_MAX_ERR_STRING> text{};
  PLAPI_Msg_string(code, text.data());
  std::fprintf(stderr, "lapi_info: %s failed: %d, %s\n", call, code, text.data());
  return 1;
}

// Programs find modules beside liblapi.so; the parts of it that this program is linked with would look beside the
// program.
void look_where_programs_do() {
  for (const std::string& folder : module_folders(library_path(), "")) {
    if (access(folder.c_str(), X_OK) != 0) continue;
    setenv("OPENLAPI_LIBRARY_FOLDER", folder.c_str(), 0);
    return;
  }
}

// Where there are several paths each task talks to all others.
int greet(lapi_handle_t handle, Context& context) {
  int code = PLAPI_Addr_set(handle, reinterpret_cast<void*>(place_of_row), kHandler);
  if (code == LAPI_SUCCESS) code = PLAPI_Addr_set(handle, reinterpret_cast<void*>(bury_greeting), kGreetingHandler);
  if (code == LAPI_SUCCESS) code = PLAPI_Gfence(handle);
  std::vector<std::byte> greeting(kGreetingBytes);
  for (uint task = 0; context.resources().routes->networks() > 1 && task != context.tasks(); ++task) {
    if (task == context.own_task()) continue;
    // A task that cannot be reached is shown as such.
    static_cast<void>(PLAPI_Amsend(handle, task, reinterpret_cast<void*>(kGreetingHandler), nullptr, 0, greeting.data(),
                                   greeting.size(), nullptr, nullptr, nullptr));
  }
  return code == LAPI_SUCCESS ? PLAPI_Gfence(handle) : code;
}

// Everybody's rows to task 0.
int gather(lapi_handle_t handle, Context& context) {
  rows.resize(context.tasks());
  int code = greet(handle, context);
  std::string row = own_row(context);
  uint task = context.own_task();
  if (code == LAPI_SUCCESS && task != 0) {
    code = PLAPI_Amsend(handle, 0, reinterpret_cast<void*>(kHandler), &task, sizeof task, row.data(), row.size(),
                        nullptr, nullptr, nullptr);
  }
  if (code == LAPI_SUCCESS) code = PLAPI_Gfence(handle);
  if (task == 0) rows[0] = row;
  return code;
}

// Whether every task has a path to every other one.
bool print(bool json) {
  bool complete = true;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const std::string& text : rows) all.push_back(nlohmann::ordered_json::parse(text));
  for (const auto& row : all) {
    if (!json) std::printf("task %u on %s\n", row["task"].get<unsigned>(), row["host"].get<std::string>().c_str());
    for (const auto& entry : row["ways"]) {
      const std::string path = entry["way"];
      complete = complete && !path.starts_with(kNoPath);
      if (!json) std::printf("  %s: %s\n", path.c_str(), entry["tasks"].get<std::string>().c_str());
    }
    for (const auto& path : row["paths"]) {
      if (json) break;
      std::printf("  to task %u: %s\n", path["task"].get<unsigned>(), to_text(report_of(path)).c_str());
    }
  }
  if (json) std::printf("%s\n", nlohmann::ordered_json{{"job", all}}.dump(2).c_str());
  return complete;
}

}  // namespace

std::string ranges(std::span<const std::uint32_t> tasks) {
  std::string text;
  for (std::size_t first = 0, next; first < tasks.size(); first = next) {
    for (next = first + 1; next < tasks.size() && tasks[next] == tasks[next - 1] + 1;) ++next;
    text += (text.empty() ? "" : ",") + std::to_string(tasks[first]);
    if (next - first > 1) text += "-" + std::to_string(tasks[next - 1]);
  }
  return text;
}

int show_job(bool json) {
  look_where_programs_do();
  lapi_handle_t handle = 0;
  lapi_info_t info{};
  if (const int code = PLAPI_Init(&handle, &info); code != LAPI_SUCCESS) return failed("LAPI_Init", code);
  Context& context = *find_context(handle);
  if (const int code = gather(handle, context); code != LAPI_SUCCESS) return failed("gathering the ways", code);
  const bool complete = context.own_task() != 0 || print(json);
  if (const int code = PLAPI_Term(handle); code != LAPI_SUCCESS) return failed("LAPI_Term", code);
  return complete ? 0 : 1;
}

}  // namespace openlapi::info
