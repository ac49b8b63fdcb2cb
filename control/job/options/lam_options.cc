#include "control/job/options/lam_options.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "control/job/options/program_path.h"

namespace openlapi {
namespace {

constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"-np", "--np"},
                                                                    {"-c", "--np"},
                                                                    {"-wd", "--wd"},
                                                                    {"-host", "--host"},
                                                                    {"-nw", "--no-wait"},
                                                                    {"-sessionprefix", "--sessionprefix"},
                                                                    {"-sessionsuffix", "--sessionsuffix"},
                                                                    // Of other implementations' mpirun.
                                                                    {"-H", "--host"},
                                                                    {"-hosts", "--host"},
                                                                    {"-help", "--help"},
                                                                    {"-wdir", "--wd"},
                                                                    {"--wdir", "--wd"},
                                                                    {"-npernode", "-N"},
                                                                    {"--npernode", "-N"},
                                                                    {"-ppn", "-N"},
                                                                    {"-perhost", "-N"},
                                                                    {"--bind-to", "--bind"},
                                                                    {"-bind-to", "--bind"},
                                                                    {"-report-bindings", "--report-bindings"},
                                                                    {"-tag-output", "--tag-output"},
                                                                    {"-prepend-rank", "--tag-output"},
                                                                    {"-l", "--tag-output"},
                                                                    {"-timeout", "--timeout"},
                                                                    {"-V", "--version"},
                                                                    // Of poe.
                                                                    {"-procs", "--np"}};

constexpr std::string_view kNoTraces =
    "LAM's execution traces are not made; MP_LAPI_TRACE_LEVEL (lapi(7)) is for openlapi's";
constexpr std::string_view kEnds = "how tasks end is said of those that fail";
constexpr std::string_view kOfBooting = "of lamboot, recon and lamwipe, which start remote shells; lapirun starts none";

constexpr std::string_view kHostFile = "lamboot takes the file of hosts: lamboot FILE, then lapirun";
constexpr std::string_view kPlaces = "name places instead: C goes round processors, N round nodes, -N 2 puts 2 on each";
constexpr std::string_view kVariable = "-x NAME=VALUE sets a variable; all that are set here go along anyway";
constexpr std::string_view kTags = "--tag-output puts [task] in front of each line of output";
constexpr std::string_view kNoLimit = "a node may have more tasks than processors; -N says how many it has";
constexpr std::string_view kOpenMpi = "parameters of Open MPI have no effect here";

constexpr LamOption kLamOptions[] = {
    // Waiting, output and terminals are as they are; data is never converted; the environment always goes along.
    {"-w", 0, false, ""},
    {"-O", 0, false, ""},
    {"-f", 0, false, ""},
    {"-ger", 0, false, ""},
    {"-nger", 0, false, ""},
    {"-sigs", 0, false, ""},
    {"-nsigs", 0, false, ""},
    {"-pty", 0, false, ""},
    {"-npty", 0, false, ""},
    {"-nx", 0, false, ""},
    {"-sf", 0, false, ""},
    // Of LAM before it had -ssi rpi.
    {"-c2c", 0, false, ""},
    {"-lamd", 0, false, ""},
    {"-s", 1, false, "programs are not copied; each node runs its own file of this name"},
    {"-t", 0, false, kNoTraces},
    {"-ton", 0, false, kNoTraces},
    {"-toff", 0, false, kNoTraces},
    {"-sa", 0, false, kEnds},
    {"-p", 1, false, kEnds},
    {"-tv", 0, true, "no debugger is started; let tasks start theirs: lapirun -n 2 xterm -e gdb PROGRAM"},
    {"-b", 0, true, kOfBooting},
    {"-nn", 0, true, kOfBooting},
    // Of other implementations' mpirun.
    {"-q", 0, false, ""},
    {"--quiet", 0, false, ""},
    {"-quiet", 0, false, ""},
    {"--oversubscribe", 0, false, ""},
    {"-oversubscribe", 0, false, ""},
    {"--nooversubscribe", 0, true, kNoLimit},
    {"-nooversubscribe", 0, true, kNoLimit},
    {"--allow-run-as-root", 0, false, ""},
    {"--mca", 2, false, kOpenMpi},
    {"-mca", 2, false, kOpenMpi},
    {"--hostfile", 0, true, kHostFile},
    {"-hostfile", 0, true, kHostFile},
    {"--machinefile", 0, true, kHostFile},
    {"-machinefile", 0, true, kHostFile},
    {"--map-by", 0, true, kPlaces},
    {"-map-by", 0, true, kPlaces},
    {"--rank-by", 0, true, kPlaces},
    {"-rank-by", 0, true, kPlaces},
    {"--rankfile", 0, true, kPlaces},
    {"-rankfile", 0, true, kPlaces},
    {"-rf", 0, true, kPlaces},
    {"--display-map", 0, true, "--report-bindings says where each task is bound"},
    {"--output", 0, true, kTags},
    {"-env", 0, true, kVariable},
    {"-genv", 0, true, kVariable},
    // Of poe, whose options and variables are two names of one thing.
    {"-labelio", 0, true, kTags},
    {"-infolevel", 0, true, "set the variable MP_INFOLEVEL"},
    {"-euilib", 0, true, "set the variable MP_EUILIB"},
    {"-euidevice", 0, true, "set the variable MP_EUIDEVICE"},
};

// "NAME=...", as shells have names.
bool begins_with_assignment(std::string_view text) {
  const auto end = text.find('=');
  return end != std::string_view::npos && end > 0 && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text.substr(0, end), [](char letter) {
           return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
         });
}

}  // namespace

std::string own_name_of(const std::string& word) {
  const auto* found = std::ranges::find(kNames, word, [](const auto& name) { return name.first; });
  return found == std::end(kNames) ? word : std::string(found->second);
}

std::vector<std::string_view> foreign_options() {
  std::vector<std::string_view> all{"-ssi"};
  for (const auto& [word, own] : kNames) all.push_back(word);
  for (const LamOption& option : kLamOptions) {
    if (!option.refused) all.push_back(option.word);
  }
  return all;
}

const LamOption* find_lam_option(std::string_view word) {
  const auto* found = std::ranges::find(kLamOptions, word, &LamOption::word);
  return found == std::end(kLamOptions) ? nullptr : found;
}

std::vector<std::string> split_hosts(const std::string& list) {
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    hosts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return hosts;
}

std::string host_mistake(const std::string& host, const std::string& list) {
  if (host.empty()) return "--host '" + list + "': a name in it is empty; allowed: NAME[,NAME...]";
  // An address of IPv6 has more colons than one.
  const std::size_t colon = host.find(':');
  const bool has_slots = colon != std::string::npos && colon + 1 < host.size() &&
                         host.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  if (!has_slots) return {};
  return "the host is '" + host +
         "'; allowed: its name alone; -n says how many tasks there are, -N how many on each host, and cpu=N in "
         "the file of lamboot how many a host takes in a round";
}

bool is_file_of_hosts(const std::vector<std::string>& arguments, std::size_t program) {
  if (program == 0 || program >= arguments.size() || arguments[program - 1] != "-f") return false;
  std::error_code error;
  return std::filesystem::is_regular_file(arguments[program], error) && access(arguments[program].c_str(), X_OK) != 0;
}

std::string answer_to_file_of_hosts(const std::string& file, const std::string& launcher) {
  std::string text = "-f " + file + ": lamboot takes the file of hosts: lamboot " + file + ", then " + launcher;
  const char* path = std::getenv("PATH");
  if (file.find('/') == std::string::npos && find_program(file, path != nullptr ? path : "", "").status == 0) {
    text += ". Such a file was understood as there is one here; the program of that name in PATH is run by " +
            launcher + " -f -- " + file;
  }
  return text;
}

Variables split_variables(const std::string& text, const std::function<bool(const std::string&)>& is_set) {
  Variables variables;
  for (std::string_view left = text;;) {
    const std::size_t comma = left.find(',');
    const std::string piece(left.substr(0, comma));
    const bool in_value = !variables.all.empty() && begins_with_assignment(variables.all.back());
    if (!in_value || begins_with_assignment(piece)) {
      variables.all.push_back(piece);
    } else if (is_set(piece)) {
      variables.all.push_back(piece);
      variables.exported.push_back(piece);
    } else {
      variables.all.back() += "," + piece;
    }
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  return variables;
}

}  // namespace openlapi
