#include "control/ssi/module_finder.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "control/ssi/module_dependencies.h"
#include "control/ssi/ssi_error.h"

namespace openlapi::ssi {
namespace {

namespace fs = std::filesystem;

// NAME of a file that holds module NAME of this kind; empty: it holds none.
std::string module_name_of(const std::string& kind, const std::string& file) {
  for (const auto& [prefix, suffix] : {std::pair<std::string, std::string>{"lam_ssi_" + kind + "_", "_module.so"},
                                       std::pair<std::string, std::string>{"ssi_" + kind + "_", ".so"}}) {
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

void check_meta(const std::string& kind, const lam_ssi_1_0_0_t& meta, const std::string& name) {
  const std::string ssi = version_text(meta.ssi_major_version, meta.ssi_minor_version, meta.ssi_release_version);
  if (ssi != "1.0.0") throw SsiError("it is written for SSI " + ssi + "; allowed: 1.0.0");
  const std::string own_kind = text_of(meta.ssi_kind_name);
  if (own_kind != kind) throw SsiError("its kind is \"" + own_kind + "\"; allowed: " + kind);
  const std::string version =
      version_text(meta.ssi_kind_major_version, meta.ssi_kind_minor_version, meta.ssi_kind_release_version);
  if (version != "1.0.0" && version != "1.1.0") {
    throw SsiError("it has version " + version + " of the " + kind + " interface; allowed: 1.0.0, 1.1.0");
  }
  const std::string own_name = text_of(meta.ssi_module_name);
  if (own_name != name) throw SsiError("it calls itself \"" + own_name + "\"; allowed: " + name);
}

FoundModule load(const std::string& kind, const fs::path& path, const std::string& name,
                 DependencyLoader& dependencies) {
  auto needed = dependencies.load({kind, name}, path);
  // RTLD_LOCAL: two modules may use one name for different things.
  void* object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) throw SsiError(dlerror());
  FoundModule module{name, path, nullptr, {}};
  // It goes before what it needs.
  module.object = {object, [needed = std::move(needed)](void* loaded) { dlclose(loaded); }};
  const std::string symbol = "lam_ssi_" + kind + "_" + name + "_module";
  module.meta = static_cast<const lam_ssi_1_0_0_t*>(dlsym(object, symbol.c_str()));
  if (module.meta == nullptr) throw SsiError("it does not export " + symbol);
  check_meta(kind, *module.meta, name);
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

// What has been found, each name once.
class FoundModules {
 public:
  explicit FoundModules(const std::string& kind) : kind_(kind) {}

  // A shared object of this name was found.
  bool has_object(const std::string& name) {
    const auto known = find(name);
    return known != modules_.end() && !known->is_built_in();
  }
  // It takes the place of the one that has its name.
  template <typename Load>
  void try_module(const std::string& name, const std::string& place, Load&& load_module) {
    try {
      FoundModule module = load_module();
      const auto known = find(name);
      if (known == modules_.end()) {
        modules_.push_back(std::move(module));
      } else {
        *known = std::move(module);
      }
    } catch (const SsiError& error) {
      print_error(kind_ + " module " + name + " (" + place + ") is left out: " + error.what());
    }
  }
  std::vector<FoundModule> take() { return std::move(modules_); }

 private:
  std::vector<FoundModule>::iterator find(const std::string& name) {
    return std::ranges::find(modules_, name, &FoundModule::name);
  }

  const std::string& kind_;
  std::vector<FoundModule> modules_{};
};

}  // namespace

std::string module_search_path() {
  const char* path = std::getenv("LAM_MPI_SSI_base_module_path");
  return path == nullptr ? LAM_SSI_MODULE_FOLDER : path;
}

std::vector<FoundModule> find_modules(const ModuleKind& kind, std::span<const lam_ssi_1_0_0_t* const> built_in,
                                      const std::string& search_path, const std::string& only) {
  FoundModules modules(kind.name());
  DependencyLoader dependencies(search_path, [&](const ModuleName& needed) {
    return needed.kind == kind.name() && std::ranges::any_of(built_in, [&](const auto* meta) {
             return text_of(meta->ssi_module_name) == needed.name;
           });
  });
  const auto wanted = [&](const std::string& name) { return !name.empty() && (only.empty() || name == only); };
  for (const lam_ssi_1_0_0_t* meta : built_in) {
    const std::string name = text_of(meta->ssi_module_name);
    if (!wanted(name)) continue;
    modules.try_module(name, "built in", [&] {
      check_meta(kind.name(), *meta, name);
      return FoundModule{name, "built in", meta, {}};
    });
  }
  std::istringstream folders(search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    for (const fs::path& file : files_of(folder)) {
      const std::string name = module_name_of(kind.name(), file.filename());
      if (!wanted(name) || modules.has_object(name)) continue;
      modules.try_module(name, file, [&] { return load(kind.name(), file, name, dependencies); });
    }
  }
  return modules.take();
}

std::vector<FoundModule> open_modules(const ModuleKind& kind, const std::string& named, std::vector<FoundModule> found,
                                      OPT* options) {
  bool is_there = false;
  std::vector<FoundModule> opened;
  for (FoundModule& module : found) {
    if (!named.empty() && module.name != named) continue;
    is_there = true;
    const bool usable = module.meta->ssi_open_module == nullptr || module.meta->ssi_open_module(options) == 1;
    kind.trace(module, usable ? "open" : "does not want to be opened");
    if (usable) opened.push_back(std::move(module));
  }
  if (opened.empty()) {
    kind.refuse(named, is_there ? "this module does not want to be opened" : "there is no such module");
  }
  return opened;
}

void close_module(const ModuleKind& kind, const FoundModule& module) {
  if (module.meta->ssi_close_module != nullptr) module.meta->ssi_close_module();
  kind.trace(module, "closed");
}

}  // namespace openlapi::ssi
