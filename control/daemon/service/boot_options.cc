#include "control/daemon/service/boot_options.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <stdexcept>

#include "control/base/session_suffix.h"

namespace openlapi::daemon {

void BootOptions::add_words(std::initializer_list<const char*> names) {
  for (const char* name : names) ao_setopt(options_, name, nullptr, 0, 0);
}

void BootOptions::add_numbers(std::initializer_list<const char*> names) {
  for (const char* name : names) ao_setopt(options_, name, nullptr, 1, AOINT);
}

void BootOptions::add_values(std::initializer_list<const char*> names) {
  for (const char* name : names) ao_setopt(options_, name, nullptr, 1, 0);
}

void BootOptions::add_common() {
  add_values({"sessionprefix", "sessionsuffix"});
  ao_setopt(options_, "ssi", nullptr, 2, 0);
}

bool BootOptions::parse(int count, char** words) {
  ao_setflags(options_, AOPRESERVE_ARGV);
  if (ao_parse(options_, &count, words) != 0 || !set_parameters()) return false;
  const std::string mistake = suffix_mistake(value("sessionsuffix"));
  if (!mistake.empty()) throw std::invalid_argument(mistake);
  if (has("prefix") && !value("prefix").starts_with('/')) {
    throw std::invalid_argument("option -prefix is " + value("prefix") + "; allowed: an absolute path");
  }
  return true;
}

std::string BootOptions::value(const char* name) const {
  const char* value = ao_param(options_, name, 0, 0);
  return value == nullptr ? "" : value;
}

std::vector<std::string> BootOptions::plain_words() const {
  int count = 0;
  char** array = nullptr;
  if (ao_unused(options_, &count, &array) != 0 || count < 2) return {};
  return {array + 1, array + count};
}

void BootOptions::check_words(std::size_t least, std::size_t most, const std::string& what) const {
  const std::vector<std::string> words = plain_words();
  if (words.size() >= least && words.size() <= most) {
    if (std::ranges::find(words, "") != words.end())
      throw std::invalid_argument("the name of the " + what + " is empty");
    return;
  }
  throw std::invalid_argument("the command line names " + std::to_string(words.size()) + " " + what +
                              (words.size() == 1 ? "" : "s") +
                              (words.empty() ? "" : " (" + words.front() + (words.size() == 1 ? ")" : ", ...)")) +
                              "; allowed: " + (most == 0 ? "options only" : "one"));
}

void BootOptions::check_number(const char* name, int least, int most) const {
  int number = 0;
  if (!has(name) || (ao_intparam(options_, name, 0, 0, &number) == 0 && number >= least && number <= most)) return;
  throw std::invalid_argument(std::string("option -") + name + " is " + value(name) +
                              "; allowed: " + std::to_string(least) + " to " + std::to_string(most));
}

// As in LAM: a parameter that is named twice is warned about, and the first counts.
bool BootOptions::set_parameters() {
  std::set<std::string> seen;
  for (int n = 0; n < ao_ninsts(options_, "ssi"); ++n) {
    const std::string key = ao_param(options_, "ssi", n, 0);
    if (key.empty() || key.find('=') != std::string::npos) {
      std::fprintf(stderr, "%s: -ssi: the key is \"%s\"; allowed: a parameter's name, such as boot\n",
                   program_invocation_short_name, key.c_str());
      return false;
    }
    if (!seen.insert(key).second) {
      std::fprintf(stderr, "%s: -ssi %s is there twice: the first counts\n", program_invocation_short_name,
                   key.c_str());
      continue;
    }
    setenv(("LAM_MPI_SSI_" + key).c_str(), ao_param(options_, "ssi", n, 1), 1);
  }
  return true;
}

}  // namespace openlapi::daemon
