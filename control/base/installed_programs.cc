#include "control/base/installed_programs.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace openlapi {

const char kBinToHelpers[] = OPENLAPI_BIN_TO_HELPERS;
const char kBinToSettings[] = OPENLAPI_BIN_TO_SETTINGS;

namespace {

constexpr char kHelpersToBin[] = OPENLAPI_HELPERS_TO_BIN;
constexpr char kBinToModules[] = OPENLAPI_BIN_TO_MODULES;

// Empty: there is none.
std::string real_folder(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), std::free);
  return real == nullptr ? "" : real.get();
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Empty: the kernel does not say it.
std::string own_folder() {
  char file[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", file, sizeof file);
  return length > 0 ? folder_of(std::string(file, static_cast<std::size_t>(length))) : "";
}

}  // namespace

std::vector<std::string> folders_of_installation(const std::string& folder) {
  const std::string helpers = real_folder(folder + "/" + kBinToHelpers);
  if (!helpers.empty()) return {helpers, folder};
  const std::string bin = real_folder(folder + "/" + kHelpersToBin);
  const bool is_helpers = !bin.empty() && real_folder(bin + "/" + kBinToHelpers) == real_folder(folder);
  return is_helpers ? std::vector{folder, bin} : std::vector{folder};
}

void prefer_programs_of(const std::string& folder) {
  std::string search_path;
  for (const std::string& each : folders_of_installation(folder)) search_path += each + ":";
  const char* path = std::getenv("PATH");
  setenv("PATH", (search_path + (path == nullptr ? "/usr/bin:/bin" : path)).c_str(), 1);
}

void prefer_own_programs() {
  const std::string own = own_folder();
  if (!own.empty()) prefer_programs_of(own);
  const std::string name = program_invocation_name;
  if (name.find('/') == std::string::npos) return;
  // Whole: daemons and tasks have other working directories.
  const std::string folder = real_folder(folder_of(name));
  if (!folder.empty()) prefer_programs_of(folder);
}

std::string settings_of_installation(const std::string& folder) {
  return real_folder(folders_of_installation(folder).back() + "/" + kBinToSettings);
}

std::string own_settings() {
  const std::string own = own_folder();
  return own.empty() ? "" : settings_of_installation(own);
}

std::string program_below(const std::string& prefix, const std::string& name) {
  const std::string bin = prefix + "/bin";
  for (const std::string& folder : folders_of_installation(bin)) {
    const std::string path = folder + "/" + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return bin + "/" + name;
}

// In a build folder, too.
std::string own_module(const std::string& name) {
  const std::string own = own_folder();
  if (own.empty()) return "";
  for (const char* const way : {kBinToModules, "../openlapi"}) {
    std::string path = real_folder(own + "/" + way) + "/" + name;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

bool is_in_search_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "/usr/bin:/bin" : path;
  while (true) {
    const std::size_t colon = folders.find(':');
    const std::string folder(folders.substr(0, colon));
    if (access(((folder.empty() ? "." : folder) + "/" + name).c_str(), X_OK) == 0) return true;
    if (colon == std::string_view::npos) return false;
    folders.remove_prefix(colon + 1);
  }
}

char** without_hboot(char** words) {
  const bool runs_a_program = std::strcmp(words[0], "hboot") == 0 && words[1] != nullptr && words[1][0] != '-';
  return runs_a_program ? words + 1 : words;
}

}  // namespace openlapi
