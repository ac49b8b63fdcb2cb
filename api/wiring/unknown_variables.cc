#include "api/wiring/unknown_variables.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "api/wiring/environment.h"
#include "dataplane/base/nearest_word.h"

namespace openlapi {
namespace {

constexpr std::size_t kMostChanges = 4;
constexpr unsigned kMostChangesOfPoe = 2;

// Near ours, and POE's own. It sets the last two for every task.
constexpr std::string_view kOfPoe[] = {"MP_EUIDEVELOP", "MP_EUILIBPATH", "MP_CHILD_INET_ADDR", "MP_MPI_NETWORK"};

constexpr std::size_t kBeginningOfAWord = 3;

// What begins so is read by nobody else.
constexpr std::string_view kOwnPrefixes[] = {"LAPI_", "OPENLAPI_", "MP_LAPI_"};

// What lapicc and its like read: a user may have them set for good.
constexpr std::string_view kOfTheWrappers[] = {"LAPI_CC", "LAPI_CXX", "LAPI_FC", "LAPI_TRACE_LIBRARY"};

// What module files of sites set for every package (OPENLAPI_ROOT).
constexpr std::string_view kOfSites[] = {"ROOT", "HOME", "DIR", "PREFIX", "INC", "INCLUDE", "LIB", "BIN", "VERSION"};

template <typename Words>
bool is_among(std::string_view name, const Words& words) {
  return std::ranges::find(words, name) != std::end(words);
}

std::string_view take_word(std::string_view& name) {
  const std::string_view word = name.substr(0, name.find('_'));
  name.remove_prefix(std::min(name.size(), word.size() + 1));
  return word;
}

// MP_ACK_THRESHOLD of MP_ACK_THRESH, MP_USE_BULK of MP_USE_BULK_XFER: each word begins as the other's, or there is
// none.
bool begins_as(std::string_view name, std::string_view known) {
  if (take_word(name) != take_word(known)) return false;
  while (!name.empty() && !known.empty()) {
    const std::string_view word = take_word(name), other = take_word(known);
    const std::size_t common = std::min(word.size(), other.size());
    if (common < kBeginningOfAWord || word.substr(0, common) != other.substr(0, common)) return false;
  }
  return true;
}

std::string_view nearest_of_poe(std::string_view name, const std::vector<std::string_view>& known) {
  if (is_among(name, kOfPoe) || name.size() < sizeof "MP_" - 1 + kBeginningOfAWord) return {};
  const auto found = std::ranges::find_if(known, [name](std::string_view each) { return begins_as(name, each); });
  return found != known.end() ? *found : nearest_word(name, known, kMostChangesOfPoe);
}

std::optional<std::string> complaint(std::string_view name, const std::vector<std::string_view>& known) {
  const auto* const prefix =
      std::ranges::find_if(kOwnPrefixes, [name](std::string_view begin) { return name.starts_with(begin); });
  const bool ours = prefix != std::end(kOwnPrefixes);
  if ((!ours && !name.starts_with("MP_")) || is_among(name, known)) return std::nullopt;
  const std::string_view own = ours ? name.substr(prefix->size()) : std::string_view();
  if (is_among(own, kOfSites)) return std::nullopt;
  // Of a short name half the letters may be wrong: LAPI_LOG is not near to LAPI_CC.
  const auto changes = static_cast<unsigned>(std::min(kMostChanges, own.size() / 2));
  const std::string_view nearest = ours ? nearest_word(name, known, changes) : nearest_of_poe(name, known);
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
