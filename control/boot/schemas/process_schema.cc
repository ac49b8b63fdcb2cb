#include "control/boot/schemas/process_schema.h"

#include <sstream>

#include "control/boot/schemas/schema_words.h"
#include "dataplane/base/whole_number.h"

namespace openlapi::boot {
namespace {

constexpr int kVariableDelay = 1;    // seconds, of $delay
constexpr int kLongestDelay = 3600;  // seconds

// {delay=2}; {delay=(2)} and {delay(2)} as in LAM's manual.
int parse_delay(std::string_view option, const SchemaLine& line) {
  std::string_view value = option;
  const bool known = value.starts_with("{delay") && value.ends_with("}");
  if (known) value = value.substr(6, value.size() - 7);
  if (known && value.starts_with("=")) value.remove_prefix(1);
  if (known && value.starts_with("(") && value.ends_with(")")) value = value.substr(1, value.size() - 2);
  const auto delay = whole_number(value, 0, kLongestDelay);
  if (!known || !delay) {
    line.refuse("option " + shown(option) + "; allowed: {delay=SECONDS}, 0 to " + std::to_string(kLongestDelay));
  }
  return *delay;
}

std::string names_of(const SchemaVariables& variables) {
  std::string names;
  for (const auto& [name, value] : variables) names += "$" + name + ", ";
  return names + "$delay";
}

void substitute(std::string_view name, const SchemaVariables& variables, const SchemaLine& line,
                SchemaProcess& process) {
  const auto found = variables.find(name);
  if (found == variables.end()) {
    line.refuse("variable " + shown("$" + std::string(name)) + " is unknown; allowed: " + names_of(variables));
  }
  std::istringstream value(found->second);
  for (std::string word; value >> word;) process.words.push_back(word);
}

}  // namespace

std::vector<SchemaProcess> parse_process_schema(std::string_view text, std::string_view source,
                                                const SchemaVariables& variables) {
  std::vector<SchemaProcess> processes;
  int delay_of_all = 0;
  for_each_schema_line(text, source, [&](const std::vector<SchemaWord>& words, const SchemaLine& line) {
    SchemaProcess process{{}, delay_of_all};
    bool has_option = false;
    for (const SchemaWord& word : words) {
      if (!word.quoted && word.text == "$delay") {
        process.delay = kVariableDelay;
        has_option = true;
      } else if (!word.quoted && word.text.starts_with("{")) {
        process.delay = parse_delay(word.text, line);
        has_option = true;
      } else if (has_option) {
        line.refuse(shown(word.text) + " stands behind an option; options come last");
      } else if (!word.quoted && word.text.starts_with("$")) {
        substitute(std::string_view(word.text).substr(1), variables, line, process);
      } else {
        process.words.push_back(word.text);
      }
    }
    if (process.words.empty()) {
      if (has_option) delay_of_all = process.delay;
      return;
    }
    processes.push_back(std::move(process));
  });
  if (processes.empty()) throw BootError(std::string(source) + ": names no process");
  return processes;
}

}  // namespace openlapi::boot
