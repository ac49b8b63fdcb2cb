#include "control/ssi/module_kind.h"

#include <cstdlib>
#include <sstream>

#include "control/ssi/ssi_error.h"
#include "dataplane/base/whole_number.h"

namespace openlapi::ssi {
namespace {

constexpr int kVerboseOfV = 0;

std::string environment_value(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

}  // namespace

std::string ModuleKind::named_module() const { return environment_value("LAM_MPI_SSI_" + name_); }

int ModuleKind::verbose_parameter(int otherwise) const {
  const std::string variable = "LAM_MPI_SSI_" + name_ + "_verbose", text = environment_value(variable);
  int level = text.empty() ? otherwise : kVerboseOfV;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "stderr") continue;
    const auto number = whole_number<int>(word.starts_with("level:") ? word.substr(6) : word);
    if (!number) throw SsiError(variable + " is " + shown(text) + "; allowed: stderr, level:N, or N");
    level = *number;
  }
  return level;
}

void ModuleKind::trace(const FoundModule& module, const std::string& what) const {
  if (level_ < 1) return;
  lam_debug(stream_, "%s module %s (%s): %s", name_.c_str(), module.name.c_str(), module.place.c_str(), what.c_str());
}

void ModuleKind::print_error(const FoundModule& module, const std::string& what) const {
  ssi::print_error(name_ + " module " + module.name + what);
}

void ModuleKind::refuse(const std::string& named, const std::string& what) const {
  throw SsiError(named.empty() ? "no " + name_ + " module can be used"
                               : "LAM_MPI_SSI_" + name_ + " is " + named + ", and " + what);
}

}  // namespace openlapi::ssi
