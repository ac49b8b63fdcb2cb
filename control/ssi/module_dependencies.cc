#include "control/ssi/module_dependencies.h"

#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "control/ssi/ssi_error.h"

namespace openlapi::ssi {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKey = "dependency=";
constexpr std::string_view kBlanks = " \t\r";

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(kBlanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

std::string shown_name(const ModuleName& module) { return module.kind + ":" + module.name; }

}  // namespace

std::vector<ModuleName> read_dependencies(const fs::path& laminfo) {
  std::vector<ModuleName> found;
  std::ifstream file(laminfo);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::string text = trimmed(line);
    if (text.empty() || text.starts_with("#") || text.starts_with("//")) continue;
    const auto colon = text.find(':');
    if (!text.starts_with(kKey) || colon == std::string::npos || colon == kKey.size() || colon + 1 == text.size() ||
        text.find('/') != std::string::npos) {
      throw SsiError("line " + std::to_string(number) + " of " + laminfo.string() + " is " + shown(text) +
                     "; allowed: dependency=KIND:NAME");
    }
    found.push_back({text.substr(kKey.size(), colon - kKey.size()), text.substr(colon + 1)});
  }
  return found;
}

std::vector<std::shared_ptr<void>> DependencyLoader::load(const ModuleName& module, const fs::path& file) {
  std::vector<std::shared_ptr<void>> loaded;
  chain_.push_back(module);
  try {
    for (const ModuleName& each : read_dependencies(fs::path(file).replace_extension(".laminfo"))) {
      load_dependency(each, loaded);
    }
  } catch (...) {
    chain_.pop_back();
    throw;
  }
  chain_.pop_back();
  return loaded;
}

void DependencyLoader::load_dependency(const ModuleName& module, std::vector<std::shared_ptr<void>>& loaded) {
  if (std::ranges::find(chain_, module) != chain_.end()) {
    std::string way;
    for (const ModuleName& each : chain_) way += shown_name(each) + " needs ";
    throw SsiError("it needs itself: " + way + shown_name(module));
  }
  if (is_built_in_(module)) return;
  const fs::path file = find(module);
  if (file.empty()) {
    throw SsiError("it needs " + shown_name(module) + ", and there is no such module in " + shown(search_path_));
  }
  for (auto& each : load(module, file)) loaded.push_back(std::move(each));
  void* object = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (object == nullptr) throw SsiError("it needs " + shown_name(module) + ": " + dlerror());
  loaded.emplace_back(object, dlclose);
}

fs::path DependencyLoader::find(const ModuleName& module) const {
  std::istringstream folders(search_path_);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    const std::string stem = "ssi_" + module.kind + "_" + module.name;
    for (const std::string& file : {"lam_" + stem + "_module.so", stem + ".so"}) {
      std::error_code error;
      if (fs::exists(fs::path(folder) / file, error)) return fs::path(folder) / file;
    }
  }
  return {};
}

}  // namespace openlapi::ssi
