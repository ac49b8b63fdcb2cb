#include "control/boot/schemas/schema_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "control/base/environment_value.h"
#include "control/base/host_address.h"
#include "control/base/installed_programs.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"

namespace openlapi::boot {
namespace {

constexpr char kDefaultBootSchema[] = "lam-bhost.def";

// Empty: it can be read; else why not.
std::string why_unreadable(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (S_ISDIR(status.st_mode)) return "it is a directory";
  return access(path.c_str(), R_OK) == 0 ? "" : std::strerror(errno);
}

std::vector<std::string> candidates(const std::string& name) {
  std::vector<std::string> paths{name};
  if (name.starts_with('/')) {
    // LAM's modules have PREFIX/etc for the folder of such files, here it is one below.
    const std::size_t slash = name.rfind('/');
    if (name.substr(0, slash).ends_with("/etc"))
      paths.push_back(name.substr(0, slash) + "/openlapi" + name.substr(slash));
    return paths;
  }
  for (const char* variable : {"TROLLIUSHOME", "LAMHOME"}) {
    const std::string home = environment_value({variable});
    if (!home.empty()) paths.insert(paths.end(), {home + "/etc/" + name, home + "/etc/openlapi/" + name});
  }
  const std::string own = own_settings();
  if (!own.empty()) paths.push_back(own + "/" + name);
  if (own != LAM_SYSCONF_FOLDER) paths.push_back(std::string(LAM_SYSCONF_FOLDER) + "/" + name);
  return paths;
}

std::string boot_schema_name(OPT* options) {
  const std::vector<std::string> words = plain_words(options);
  if (words.size() > 1) {
    throw BootError("the command line names " + std::to_string(words.size()) + " boot schemas (" + words[0] + ", " +
                    words[1] + "); allowed: one");
  }
  if (!words.empty()) return words.front();
  for (const char* variable : {"LAMBHOST", "TROLLIUSBHOST"}) {
    const std::string name = environment_value({variable});
    if (!name.empty()) return name;
  }
  return kDefaultBootSchema;
}

void check_resolves(const std::string& host) {
  std::string reason;
  if (!host_address(host, reason)) throw BootError("host " + host + ": " + reason);
}

}  // namespace

std::string find_schema_file(const std::string& name, const std::string& what) {
  if (name.empty()) throw BootError("the name of the " + what + " is empty");
  std::string tried;
  for (const std::string& path : candidates(name)) {
    const std::string why = why_unreadable(path);
    if (why.empty()) return path;
    tried += "\n  " + path + ": " + why;
  }
  throw BootError("no " + what + " " + name + "; looked for it in:" + tried);
}

std::vector<std::string> plain_words(OPT* options) {
  std::vector<std::string> words;
  int count = 0;
  char** array = nullptr;
  if (ao_unused(options, &count, &array) == 0 && count > 1) words.assign(array + 1, array + count);
  if (ao_tail(options, &count, &array) == 0) words.insert(words.end(), array, array + count);
  return words;
}

}  // namespace openlapi::boot

using namespace openlapi::boot;

char* lam_ssi_boot_base_find_boot_schema(OPT* args) {
  return catch_errors(static_cast<char*>(nullptr), [&] {
    const std::string path = find_schema_file(boot_schema_name(args), "boot schema");
    if (lam_ssi_boot_verbose >= 1) lam_debug(lam_ssi_boot_did, "boot schema: %s", path.c_str());
    return c_copy(path);
  });
}

char* lam_ssi_boot_base_find_hostname(OPT* args) {
  return catch_errors(static_cast<char*>(nullptr), [&] {
    const std::vector<std::string> words = plain_words(args);
    if (words.size() != 1) {
      throw BootError("the command line names " + std::to_string(words.size()) + " hosts; allowed: one");
    }
    check_resolves(words.front());
    if (lam_ssi_boot_verbose >= 1) lam_debug(lam_ssi_boot_did, "host: %s", words.front().c_str());
    return c_copy(words.front());
  });
}
