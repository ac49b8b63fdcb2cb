// What a module needs to be loaded before it: the file NAME.laminfo beside it says so.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace openlapi::ssi {

// A module of any kind.
struct ModuleName {
  std::string kind{}, name{};
  bool operator==(const ModuleName&) const = default;
};

// Loads shared objects, those first that others need. Their functions are visible to those that are loaded later.
class DependencyLoader {
 public:
  // `search_path`: folders with colons between. `is_built_in`: it needs no file.
  DependencyLoader(std::string search_path, std::function<bool(const ModuleName&)> is_built_in)
      : search_path_(std::move(search_path)), is_built_in_(std::move(is_built_in)) {}

  // What the shared object `file`, which is this module, needs; it stays loaded as long as the result is kept. Throws
  // SsiError: a line that is none, a module that is not there, or one that needs itself.
  std::vector<std::shared_ptr<void>> load(const ModuleName& module, const std::filesystem::path& file);

 private:
  void load_dependency(const ModuleName& module, std::vector<std::shared_ptr<void>>& loaded);
  std::filesystem::path find(const ModuleName& module) const;

  const std::string search_path_;
  const std::function<bool(const ModuleName&)> is_built_in_;
  std::vector<ModuleName> chain_{};  // who needs whom, on the way to what is being loaded
};

// The lines "dependency=KIND:NAME" of a .laminfo file, without blank lines and those that begin with # or //. No file,
// no lines. Throws SsiError: another line.
std::vector<ModuleName> read_dependencies(const std::filesystem::path& laminfo);

}  // namespace openlapi::ssi
