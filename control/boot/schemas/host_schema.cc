#include "control/boot/schemas/host_schema.h"

#include <strings.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <unordered_map>

#include "control/boot/schemas/schema_words.h"
#include "dataplane/base/nearest_word.h"
#include "dataplane/base/whole_number.h"

namespace openlapi::boot {
namespace {

using Pair = std::pair<std::string, std::string>;

bool same_word(std::string_view left, std::string_view right) {
  return left.size() == right.size() && strncasecmp(left.data(), right.data(), left.size()) == 0;
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

Pair* find_pair(std::vector<Pair>& pairs, std::string_view key) {
  const auto found = std::ranges::find_if(pairs, [&](const Pair& pair) { return same_word(pair.first, key); });
  return found == pairs.end() ? nullptr : &*found;
}

int parse_cpus(const std::string& key, std::string_view value, const SchemaLine& line) {
  const auto cpus = whole_number(value, 1);
  if (!cpus) {
    line.refuse(key + "=" + shown(value) + "; allowed: a number from 1 to " +
                std::to_string(std::numeric_limits<int>::max()));
  }
  return *cpus;
}

bool parse_schedule(std::string_view value, const SchemaLine& line) {
  if (same_word(value, "yes")) return true;
  if (!same_word(value, "no")) line.refuse("schedule=" + shown(value) + "; allowed: yes, no");
  return false;
}

void check_letters(std::string_view what, std::string_view word, const SchemaLine& line) {
  const bool plain = std::ranges::all_of(word, [](char letter) { return letter > ' ' && letter != '\x7f'; });
  if (!plain) line.refuse(std::string(what) + " " + shown(word) + " has blanks or unprintable letters");
}

// A name goes to remote agents as an argument: it must not look like one of their options.
void check_name(std::string_view what, std::string_view name, const SchemaLine& line) {
  if (name.empty()) line.refuse(std::string(what) + " is empty");
  if (name.front() == '-') line.refuse(std::string(what) + " " + shown(name) + " begins with -");
  check_letters(what, name, line);
}

constexpr std::string_view kKeys[] = {"cpu", "slots", "hostname", "prefix", "schedule", "user"};
constexpr std::string_view kNearWordsOfTheirOwn[] = {"gpu", "gpus"};

// Other keys are for modules; one that is nearly ours is a mistake more likely. `named`: of this file, each once.
void name_near_key(const std::string& key, const SchemaLine& line, std::set<std::string>& named) {
  const std::string word = lower_case(key);
  const auto is_among = [&word](const auto& words) { return std::ranges::find(words, word) != std::end(words); };
  if (is_among(kKeys) || is_among(kNearWordsOfTheirOwn)) return;
  const std::string_view nearest = nearest_word(word, kKeys, word.size() < 5 ? 1 : 2);
  if (nearest.empty() || !named.insert(word).second) return;
  print_error(std::string(line.source) + ":" + std::to_string(line.number) + ": key " + shown(key) +
              " is none of openlapi's, and kept for boot modules: did you mean " + std::string(nearest) + "?");
}

HostEntry parse_host(const std::vector<SchemaWord>& words, const SchemaLine& line, std::set<std::string>& named) {
  HostEntry host;
  host.line = line.number;
  for (std::size_t n = 0; n < words.size(); ++n) {
    const std::string& word = words[n].text;
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos && n == 0) {
      host.name = word;
      continue;
    }
    if (equals == std::string::npos || equals == 0) {
      line.refuse(shown(word) + " is no key=value pair; known keys: cpu (or slots), hostname, prefix, schedule, user");
    }
    Pair pair(word.substr(0, equals), word.substr(equals + 1));
    check_letters("key", pair.first, line);
    name_near_key(pair.first, line, named);
    const bool slots = same_word(pair.first, "slots");  // as Open MPI's files say
    if (find_pair(host.pairs, slots ? "cpu" : pair.first) != nullptr) {
      line.refuse("key " + shown(pair.first) + " is given twice" + (slots ? ": it is cpu" : ""));
    }
    if (slots || same_word(pair.first, "cpu")) host.cpus = parse_cpus(pair.first, pair.second, line);
    if (slots) pair.first = "cpu";
    if (same_word(pair.first, "hostname")) host.name = pair.second;
    if (same_word(pair.first, "user")) check_name("user", host.user = pair.second, line);
    if (same_word(pair.first, "schedule")) host.schedule = parse_schedule(pair.second, line);
    if (same_word(pair.first, "prefix") && pair.second.empty()) {
      line.refuse("prefix is empty; allowed: a path (\"prefix=/with a blank\" in quotes as a whole)");
    }
    host.pairs.push_back(std::move(pair));
  }
  check_name("host name", host.name, line);
  return host;
}

// The line names a host again.
void add_to_host(HostEntry& host, HostEntry&& again, const SchemaLine& line) {
  if (host.cpus > std::numeric_limits<int>::max() - again.cpus) {
    line.refuse("host " + shown(host.name) + " has more than " + std::to_string(std::numeric_limits<int>::max()) +
                " processors with these");
  }
  host.cpus += again.cpus;
  for (Pair& pair : again.pairs) {
    Pair* known = find_pair(host.pairs, pair.first);
    if (known == nullptr) {
      host.pairs.push_back(std::move(pair));
    } else if (known->second != pair.second && !same_word(pair.first, "cpu") && !same_word(pair.first, "hostname")) {
      line.refuse(pair.first + "=" + shown(pair.second) + " contradicts " + known->first + "=" + shown(known->second) +
                  " of line " + std::to_string(host.line) + " for host " + shown(host.name));
    }
  }
  if (!again.user.empty()) host.user = std::move(again.user);
  if (!again.schedule) host.schedule = false;
  if (Pair* cpu = find_pair(host.pairs, "cpu")) cpu->second = std::to_string(host.cpus);
}

}  // namespace

std::vector<HostEntry> parse_host_schema(std::string_view text, std::string_view source) {
  std::vector<HostEntry> hosts;
  std::unordered_map<std::string, std::size_t> by_name;
  std::set<std::string> named;
  for_each_schema_line(text, source, [&](const std::vector<SchemaWord>& words, const SchemaLine& line) {
    HostEntry host = parse_host(words, line, named);
    const auto [known, is_new] = by_name.try_emplace(lower_case(host.name), hosts.size());
    if (is_new) {
      hosts.push_back(std::move(host));
    } else {
      add_to_host(hosts[known->second], std::move(host), line);
    }
  });
  if (hosts.empty()) throw BootError(std::string(source) + ": names no host");
  return hosts;
}

}  // namespace openlapi::boot
