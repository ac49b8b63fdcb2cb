#include "api/wiring/module_settings.h"

#include <algorithm>
#include <cctype>

#include "nic/modules/announced_modules.h"

namespace openlapi {
namespace {

bool store_for_module(const ModuleVariable& variable, std::string_view text, Settings& settings) {
  std::string value(text);
  const auto words = variable.words;
  if (!words.empty()) {
    std::ranges::transform(value, value.begin(), [](unsigned char letter) { return std::tolower(letter); });
    if (std::ranges::find(words, value) == words.end()) return false;
  }
  if (variable.accepts != nullptr && !variable.accepts(text)) return false;
  settings.module_variables[std::string(variable.name)] = value;
  return true;
}

SettingRow module_row(const ModuleVariable& variable) {
  const bool any_text = variable.words.empty();
  std::string words = "one of";
  for (const std::string_view word : variable.words) words.append(" ").append(word);
  return {
      variable.name.data(),
      any_text ? "text" : "word",
      any_text ? std::string(variable.text) : words + " (in either case)",
      std::string(any_text ? variable.without : variable.words[0]),
      std::string(variable.meaning),
      FailureKind::setting,
      [&variable](std::string_view text, Settings& settings) { return store_for_module(variable, text, settings); }};
}

// "a, b or c": `last` is " or ".
std::string enumerated(const std::vector<std::string>& words, const char* between, const char* last) {
  std::string text;
  for (std::size_t n = 0; n < words.size(); ++n) {
    if (n > 0) text += n + 1 < words.size() ? between : last;
    text += words[n];
  }
  return text;
}

}  // namespace

std::vector<SettingRow> module_rows() {
  std::vector<SettingRow> rows;
  for (const ModuleAnnouncement& module : announced_modules()) {
    for (const ModuleVariable& variable : module.variables) rows.push_back(module_row(variable));
  }
  return rows;
}

std::string adapter_names() {
  std::vector<std::string> names{"of a network interface"};
  for (const ModuleAnnouncement& module : announced_modules()) names.emplace_back(module.device_names);
  return "the name " + enumerated(names, ", ", " or ");
}

std::string networks_with_tags() {
  std::vector<std::string> titles{"UDP"};
  for (const ModuleAnnouncement& module : announced_modules()) {
    if (module.tags_count) titles.emplace_back(module.title);
  }
  return enumerated(titles, ", ", " and ");
}

std::vector<std::string> usual_modules() {
  std::vector<std::string> names;
  for (const ModuleAnnouncement& module : announced_modules()) names.emplace_back(module.name);
  return names;
}

std::string usual_modules_text() { return enumerated(usual_modules(), ",", ","); }

}  // namespace openlapi
