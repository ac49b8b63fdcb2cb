#include "control/daemon/universe/node_words.h"

#include <charconv>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "control/boot/include/lamnet.h"

namespace openlapi::daemon {
namespace {

[[noreturn]] void refuse(const std::string& word, const std::string& why) {
  throw std::invalid_argument("\"" + word + "\": " + why +
                              "; allowed: nodes n0-3,7 or N, processors c0-3,7 or C, h (here), o (the origin)");
}

// "0-3,7" as pairs of first and last.
std::vector<std::pair<std::uint32_t, std::uint32_t>> parse_ranges(const std::string& word) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
  std::istringstream parts(word.substr(1));
  for (std::string part; std::getline(parts, part, ',');) {
    const char* const last = part.data() + part.size();
    std::uint32_t from = 0;
    auto [end, error] = std::from_chars(part.data(), last, from);
    std::uint32_t to = from;
    if (error == std::errc() && end != last && *end == '-') {
      const auto second = std::from_chars(end + 1, last, to);
      end = second.ptr;
      error = second.ec;
    }
    if (error != std::errc() || end != last || from > to) refuse(word, "no such range");
    ranges.emplace_back(from, to);
  }
  if (ranges.empty() || word.ends_with(',')) refuse(word, "no number");
  return ranges;
}

bool is_whole_word(const std::string& word) { return word == "N" || word == "C" || word == "h" || word == "o"; }

class Chooser {
 public:
  Chooser(const std::string& word, const std::vector<UniverseNode>& nodes) : word_(word), nodes_(nodes) {}

  void add_node(std::uint32_t node) {
    if (node >= nodes_.size() || nodes_[node].state == NodeState::kInvalid) {
      refuse(word_, "there is no n" + std::to_string(node));
    }
    chosen_.push_back({node, nodes_[node].cpus});
  }
  void add_all() {
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].state != NodeState::kInvalid) add_node(node);
    }
  }
  void add_origin() {
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      if ((nodes_[node].type & NT_ORIGIN) != 0 && nodes_[node].state != NodeState::kInvalid) add_node(node);
    }
    if (chosen_.empty()) refuse(word_, "the origin does not belong to the universe any more");
  }
  // Processors from the first to the last, which both count.
  void add_processors(std::uint32_t first, std::uint32_t last) {
    std::uint64_t begin = 0;
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].state == NodeState::kInvalid) continue;
      const std::uint64_t end = begin + nodes_[node].cpus;
      const std::uint64_t from = first > begin ? first : begin;
      const std::uint64_t to = last + std::uint64_t{1} < end ? last + std::uint64_t{1} : end;
      if (from < to) chosen_.push_back({node, static_cast<std::uint32_t>(to - from)});
      begin = end;
    }
    if (last >= begin) refuse(word_, "there are " + std::to_string(begin) + " processors");
  }
  std::vector<NodeChoice> take() { return std::move(chosen_); }

 private:
  const std::string& word_;
  const std::vector<UniverseNode>& nodes_;
  std::vector<NodeChoice> chosen_{};
};

std::vector<NodeChoice> choose(const std::string& word, const std::vector<UniverseNode>& nodes, std::uint32_t here) {
  Chooser chooser(word, nodes);
  if (word == "N" || word == "C") {
    chooser.add_all();
  } else if (word == "h") {
    chooser.add_node(here);
  } else if (word == "o") {
    chooser.add_origin();
  } else {
    for (const auto& [first, last] : parse_ranges(word)) {
      if (word.starts_with('c')) {
        chooser.add_processors(first, last);
        continue;
      }
      if (last >= nodes.size()) refuse(word, "there is no n" + std::to_string(last));
      for (std::uint32_t node = first; node <= last; ++node) chooser.add_node(node);
    }
  }
  return chooser.take();
}

}  // namespace

void check_node_words(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (is_whole_word(word)) continue;
    if (!word.starts_with('n') && !word.starts_with('c')) refuse(word, "no such word");
    parse_ranges(word);
  }
}

std::vector<NodeChoice> choose_nodes(const std::vector<std::string>& words, const std::vector<UniverseNode>& nodes,
                                     std::uint32_t here) {
  check_node_words(words);
  std::vector<NodeChoice> chosen;
  for (const std::string& word : words) {
    const std::vector<NodeChoice> some = choose(word, nodes, here);
    chosen.insert(chosen.end(), some.begin(), some.end());
  }
  return chosen;
}

}  // namespace openlapi::daemon
