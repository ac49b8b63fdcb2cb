#include "control/job/options/own_arguments.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "control/job/options/lam_options.h"
#include "dataplane/base/nearest_word.h"

namespace openlapi {
namespace {

// LAM's words for nodes: N, C, h, o, n0-3,7 and c0-7.
bool is_node_word(const std::string& word) {
  if (word == "N" || word == "C" || word == "h" || word == "o") return true;
  return word.size() > 1 && (word[0] == 'n' || word[0] == 'c') && std::isdigit(static_cast<unsigned char>(word[1])) &&
         word.find_first_not_of("0123456789,-", 1) == std::string::npos;
}

// LAM's options that are none of lapirun's: false, this is none. Moves on behind it and its values.
bool take_lam_option(const std::vector<std::string>& arguments, OwnArguments& own) {
  std::string word = arguments[own.count];
  const LamOption* option = find_lam_option(word.substr(0, word.find('=')));
  if (option == nullptr && word != "-ssi") return false;
  const std::size_t values = option == nullptr ? 2 : option->values;
  if (option != nullptr && !option->refused && word != option->word) {
    own.refusal = word + (values == 0 ? ": this option takes no value" : ": values of it are words of their own");
    return ++own.count, true;
  }
  if (own.count + values >= arguments.size()) {
    own.missing = word + (values == 2 ? " needs KEY and VALUE" : " needs a value");
  } else if (option == nullptr) {
    own.parameters.insert(own.parameters.end(), {arguments[own.count + 1], arguments[own.count + 2]});
  } else if (!option->text.empty()) {
    for (std::size_t value = 1; value <= values; ++value) word += " " + arguments[own.count + value];
    word += ": " + std::string(option->text);
    if (option->refused) {
      own.refusal = word;
    } else {
      own.notices.push_back(word);
    }
  }
  own.count += values + 1;
  return true;
}

// "-v -n" for -vn: options are words of their own here. Empty: not all letters are options.
std::string as_single_letters(const CLI::App& app, const std::string& word) {
  std::string letters;
  for (const char letter : word.substr(std::min(word.size(), word.find_first_not_of('-')))) {
    const std::string option{'-', letter};
    if (app.get_option_no_throw(option) == nullptr) return {};
    letters += (letters.empty() ? "" : " ") + option;
  }
  return letters;
}

// One that does not exist, with the nearest that does: a letter alone is near to every other.
std::string no_such_option(const CLI::App& app, const std::string& word) {
  constexpr std::size_t kShortest = 3;
  std::string text = "there is no option " + word;
  if (word.size() < kShortest) return text;
  if (const std::string several = as_single_letters(app, word); !several.empty() && !word.starts_with("--"))
    return text + "; did you mean " + several + "?";
  std::vector<std::string> own;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) own.push_back("--" + name);
    for (const std::string& name : option->get_snames()) own.push_back("-" + name);
  }
  std::vector<std::string_view> known(own.begin(), own.end());
  for (const std::string_view foreign : foreign_options()) known.push_back(foreign);
  const std::size_t letters = word.size() - std::min(word.size(), word.find_first_not_of('-'));
  const std::string_view nearest = nearest_word(word, known, static_cast<unsigned>(letters / 2));
  return nearest.empty() ? text : text + "; did you mean " + std::string(nearest) + "?";
}

// Options match whole words: CLI11 would read -hostname as -h. Left to it is "-n4". Moves on behind it and its value.
void take_own_option(const CLI::App& app, const std::vector<std::string>& arguments, OwnArguments& own) {
  const std::string& given = arguments[own.count++];
  const std::size_t equals = given.find('=');
  const std::string name = own_name_of(given.substr(0, equals));
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr) {
    const bool has_number = given.starts_with("-n") && given.find_first_not_of("0123456789", 2) == std::string::npos;
    if (has_number) return own.options.push_back(given);
    if (own.refusal.empty()) own.refusal = no_such_option(app, given.substr(0, equals));
    return;
  }
  const bool takes_value = option->get_type_size() > 0 && option->get_expected_max() > 0;
  own.given_as[option->get_name()] = given.substr(0, equals);
  own.options.push_back(name);
  if (equals != std::string::npos && !takes_value) own.refusal = given + ": this option takes no value";
  if (!takes_value) return;
  if (equals != std::string::npos) return own.options.push_back(given.substr(equals + 1));
  if (own.count == arguments.size()) {
    own.missing = given + " needs a value";
  } else {
    own.options.push_back(arguments[own.count++]);
  }
}

}  // namespace

OwnArguments split_off_own(const CLI::App& app, const std::vector<std::string>& arguments) {
  OwnArguments own;
  std::size_t& at = own.count;
  while (at < arguments.size()) {
    const std::string& word = arguments[at];
    if (is_node_word(word)) {
      own.node_words.push_back(word);
      ++at;
      continue;
    }
    if (word.size() < 2 || word[0] != '-' || word == "--") break;
    if (!take_lam_option(arguments, own)) take_own_option(app, arguments, own);
  }
  at = std::min(at, arguments.size());
  return own;
}

}  // namespace openlapi
