#include "api/wiring/modules.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace openlapi {

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), std::free);
  return real != nullptr ? std::string(real.get()) : path;
}

std::string last_error() {
  const char* error = dlerror();
  return error != nullptr ? error : "no reason given";
}

// Loaded modules are never closed: threads and callbacks of what they link may live on.
TransportModule* load_file(const std::string& path, std::string& reason) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    reason = "cannot be loaded: " + last_error();
    return nullptr;
  }
  const auto* entry = static_cast<const TransportModuleEntry*>(dlsym(library, kTransportModuleSymbol));
  if (entry == nullptr) {
    reason = path + " is no transport of openlapi: it has no " + kTransportModuleSymbol;
    return nullptr;
  }
  if (entry->version != kTransportModuleVersion) {
    reason = path + " is of another openlapi: it has interface " + std::to_string(entry->version) +
             ", this library needs " + std::to_string(kTransportModuleVersion);
    return nullptr;
  }
  return &entry->module();
}

}  // namespace

std::string own_library_path() {
  Dl_info found{};
  const auto inside = reinterpret_cast<const void*>(&own_library_path);
  if (dladdr(inside, &found) == 0 || found.dli_fname == nullptr) return {};
  return found.dli_fname;
}

std::vector<std::string> module_folders(const std::string& library_path, const std::string& named) {
  if (!named.empty() && getauxval(AT_SECURE) == 0) return {named};
  const std::string beside = folder_of(real_path(library_path));
  return {beside + "/openlapi", folder_of(beside) + "/openlapi"};
}

TransportModule* load_module(std::string_view name, const std::vector<std::string>& folders, std::string& reason) {
  const std::string file = "libopenlapi-" + std::string(name) + ".so";
  std::string places;
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + file;
    if (access(path.c_str(), F_OK) == 0) return load_file(path, reason);
    places += (places.empty() ? "" : " and ") + folder;
  }
  reason = file + " is not installed: it was looked for in " + places;
  return nullptr;
}

}  // namespace openlapi
