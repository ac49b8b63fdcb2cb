#include "control/job/options/program_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "control/job/options/job_options.h"

namespace openlapi {
namespace {

// 0, or the reason why `path` cannot be executed.
int executable_error(const std::string& path, const std::string& directory) {
  const std::string place = path[0] == '/' || directory.empty() ? path : directory + "/" + path;
  struct stat info {};
  if (stat(place.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  return access(place.c_str(), X_OK) == 0 ? 0 : errno;
}

ProgramPath refused(const std::string& name, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  return {"", missing ? kExitNotFound : kExitNotExecutable, "cannot run '" + name + "': " + std::strerror(error)};
}

}  // namespace

ProgramPath find_program(const std::string& name, const std::string& search_path, const std::string& directory) {
  // With a slash a file that is no folder is called so.
  if (!directory.empty() && access((directory + "/").c_str(), X_OK) != 0)
    return {"", kExitUsage, "cannot change to '" + directory + "': " + std::strerror(errno)};
  if (name.find('/') != std::string::npos) {
    const int error = executable_error(name, directory);
    return error == 0 ? ProgramPath{name} : refused(name, error);
  }
  int reason = ENOENT;
  for (std::string_view rest = search_path; !name.empty();) {
    const std::size_t colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    const int error = executable_error(path, directory);
    if (error == 0) return {path};
    if (error != ENOENT && error != ENOTDIR && error != EISDIR) reason = error;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  ProgramPath result = refused(name, reason);
  if (reason == ENOENT) result.error = "cannot run '" + name + "': not found in PATH";
  return result;
}

}  // namespace openlapi
