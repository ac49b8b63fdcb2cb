#include "control/boot/modules/module_finder.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "control/boot/errors/boot_error.h"

namespace openlapi::boot {
namespace {

namespace fs = std::filesystem;

// NAME of a file that holds module NAME; empty: it holds none.
std::string module_name_of(const std::string& file) {
  for (const auto& [prefix, suffix] : {std::pair<std::string, std::string>{"lam_ssi_boot_", "_module.so"},
                                       std::pair<std::string, std::string>{"ssi_boot_", ".so"}}) {
    if (file.size() > prefix.size() + suffix.size() && file.starts_with(prefix) && file.ends_with(suffix)) {
      return file.substr(prefix.size(), file.size() - prefix.size() - suffix.size());
    }
  }
  return "";
}

std::string version_text(int major, int minor, int release) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

template <std::size_t kSize>
std::string text_of(const char (&text)[kSize]) {
  return {text, strnlen(text, kSize)};
}

void check_meta(const lam_ssi_1_0_0_t& meta, const std::string& name) {
  const std::string ssi = version_text(meta.ssi_major_version, meta.ssi_minor_version, meta.ssi_release_version);
  if (ssi != "1.0.0") throw BootError("it is written for SSI " + ssi + "; allowed: 1.0.0");
  const std::string kind = text_of(meta.ssi_kind_name);
  if (kind != "boot") throw BootError("its kind is \"" + kind + "\"; allowed: boot");
  const std::string version =
      version_text(meta.ssi_kind_major_version, meta.ssi_kind_minor_version, meta.ssi_kind_release_version);
  if (version != "1.0.0" && version != "1.1.0") {
    throw BootError("it has version " + version + " of the boot interface; allowed: 1.0.0, 1.1.0");
  }
  const std::string own_name = text_of(meta.ssi_module_name);
  if (own_name != name) throw BootError("it calls itself \"" + own_name + "\"; allowed: " + name);
}

FoundModule load(const fs::path& path, const std::string& name) {
  // RTLD_LOCAL: two modules may use one name for different things.
  void* object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) throw BootError(dlerror());
  FoundModule module{name, path, nullptr, std::shared_ptr<void>(object, dlclose)};
  const std::string symbol = "lam_ssi_boot_" + name + "_module";
  module.meta = static_cast<const lam_ssi_1_0_0_t*>(dlsym(object, symbol.c_str()));
  if (module.meta == nullptr) throw BootError("it does not export " + symbol);
  check_meta(*module.meta, name);
  return module;
}

std::vector<fs::path> files_of(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    files.push_back(at->path());
  }
  std::ranges::sort(files);
  return files;
}

auto find_name(std::vector<FoundModule>& modules, const std::string& name) {
  return std::ranges::find(modules, name, &FoundModule::name);
}

bool is_known(std::vector<FoundModule>& modules, const std::string& name) {
  return find_name(modules, name) != modules.end();
}

// It takes the place of the one that has its name.
template <typename Find>
void try_module(std::vector<FoundModule>& modules, const std::string& name, const std::string& place, Find&& find) {
  try {
    FoundModule module = find();
    const auto known = find_name(modules, name);
    if (known == modules.end()) {
      modules.push_back(std::move(module));
    } else {
      *known = std::move(module);
    }
  } catch (const BootError& error) {
    print_error("boot module " + name + " (" + place + ") is left out: " + error.what());
  }
}

}  // namespace

std::vector<FoundModule> find_modules(std::span<const lam_ssi_1_0_0_t* const> built_in, const std::string& search_path,
                                      const std::string& only) {
  std::vector<FoundModule> modules;
  const auto wanted = [&](const std::string& name) { return !name.empty() && (only.empty() || name == only); };
  for (const lam_ssi_1_0_0_t* meta : built_in) {
    const std::string name = text_of(meta->ssi_module_name);
    if (!wanted(name)) continue;
    try_module(modules, name, "built in", [&] {
      check_meta(*meta, name);
      return FoundModule{name, "built in", meta, {}};
    });
  }
  std::istringstream folders(search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    for (const fs::path& file : files_of(folder)) {
      const std::string name = module_name_of(file.filename());
      if (!wanted(name) || (is_known(modules, name) && !find_name(modules, name)->is_built_in())) continue;
      try_module(modules, name, file, [&] { return load(file, name); });
    }
  }
  return modules;
}

}  // namespace openlapi::boot
