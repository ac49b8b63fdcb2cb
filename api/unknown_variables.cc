#include "api/unknown_variables.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "api/environment.h"
#include "dataplane/base/nearest_word.h"

namespace openlapi {
namespace {

constexpr std::size_t kMostChanges = 4;
constexpr unsigned kMostChangesOfPoe = 2;  // MP_EUIDEVELOP and the like are names of POE's own

// What begins so is read by nobody else.
constexpr std::string_view kOwnPrefixes[] = {"LAPI_", "OPENLAPI_", "MP_LAPI_"};

// What lapicc and its like read: a user may have them set for good.
constexpr std::string_view kOfTheWrappers[] = {"LAPI_CC", "LAPI_CXX", "LAPI_FC", "LAPI_TRACE_LIBRARY"};

std::optional<std::string> complaint(std::string_view name, const std::vector<std::string_view>& known) {
  const auto* const prefix =
      std::ranges::find_if(kOwnPrefixes, [name](std::string_view begin) { return name.starts_with(begin); });
  const bool ours = prefix != std::end(kOwnPrefixes);
  if ((!ours && !name.starts_with("MP_")) || std::ranges::find(known, name) != known.end()) return std::nullopt;
  // Of a short name half the letters may be wrong: LAPI_HOME is not near to LAPI_CC.
  const auto changes = ours ? std::min(kMostChanges, (name.size() - prefix->size()) / 2) : kMostChangesOfPoe;
  const std::string_view nearest = nearest_word(name, known, static_cast<unsigned>(changes));
  if (!ours && nearest.empty()) return std::nullopt;
  const std::string advice =
      nearest.empty() ? "`lapi_info --env` lists those that are" : "did you mean " + std::string(nearest) + "?";
  return std::string(name) + " is set, and is no variable of openlapi's: " + advice;
}

}  // namespace

std::vector<std::string> unknown_variables(const char* const* environment) {
  const std::vector<SettingReport> report = report_settings([](const char*) { return nullptr; });
  const std::vector<std::string_view> known = [&report] {
    std::vector<std::string_view> names;
    for (const SettingReport& row : report) names.push_back(row.name);
    names.insert(names.end(), std::begin(kOfTheWrappers), std::end(kOfTheWrappers));
    return names;
  }();
  std::vector<std::string> lines;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (auto line = complaint(entry.substr(0, entry.find('=')), known)) lines.push_back(std::move(*line));
  }
  return lines;
}

}  // namespace openlapi
