// ao_parse.
#include <algorithm>
#include <vector>

#include "control/boot/errors/boot_error.h"
#include "control/boot/structures/option_list.h"
#include "dataplane/base/whole_number.h"

namespace openlapi::boot {
namespace {

class OptionParser {
 public:
  OptionParser(OPT* options, std::vector<std::string> words)
      : options_(options),
        words_(std::move(words)),
        letters_only_(
            std::ranges::all_of(options->declared, [](const auto& option) { return option.name.size() == 1; })) {}

  void parse() {
    for (at_ = 0; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (word == "--") {
        options_->tail.assign({words_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, words_.end()});
        break;
      }
      if (word.size() < 2 || word[0] != '-') {
        unused_.push_back(word);
      } else {
        parse_option(word.substr(1));
      }
    }
    for (const DeclaredOption& option : options_->declared) {
      if ((option.flags & AOMUST) != 0 && option.instances.empty()) {
        throw BootError("option -" + option.name + " is missing: it must be given");
      }
    }
  }

  std::vector<std::string> unused() const { return unused_; }

 private:
  void parse_option(const std::string& name) {
    if (DeclaredOption* option = find_option(options_, name)) return take(*option);
    if (whole_number<int>(name) && find_option(options_, "#") != nullptr) {
      return add(*find_option(options_, "#"), {name});
    }
    if (letters_only_ && name.size() > 1 && find_option(options_, name.substr(0, 1)) != nullptr) {
      return parse_letters(name);
    }
    if ((options_->flags & AOIGN_UNRECOG) == 0) {
      if (has_only_flags(name)) return parse_letters(name);
      throw BootError("option -" + name + " is unknown; allowed: " + names());
    }
    unused_.push_back("-" + name);
  }

  // Of LAM's tools some have single letters alone; here each has longer options as well.
  bool has_only_flags(const std::string& name) const {
    return std::ranges::all_of(name, [&](char letter) {
      const DeclaredOption* option = find_option(options_, {&letter, 1});
      return option != nullptr && option->parameters == 0;
    });
  }

  // "-vdn5": letters without parameters, the last one may be followed by its parameter.
  void parse_letters(const std::string& letters) {
    for (std::size_t n = 0; n < letters.size(); ++n) {
      DeclaredOption* option = find_option(options_, letters.substr(n, 1));
      if (option == nullptr) {
        throw BootError("option -" + letters.substr(n, 1) + " (in -" + letters + ") is unknown; allowed: " + names());
      }
      if (option->parameters == 0) {
        add(*option, {});
      } else if (option->parameters == 1 && n + 1 < letters.size()) {
        return add(*option, {letters.substr(n + 1)});
      } else {
        return take(*option);
      }
    }
  }

  // Its parameters are the next words.
  void take(DeclaredOption& option) {
    std::vector<std::string> parameters;
    if (option.parameters == AOVARNUM) {
      while (at_ + 1 < words_.size() && words_[at_ + 1][0] != '-') parameters.push_back(words_[++at_]);
    } else {
      const auto wanted = static_cast<std::size_t>(std::max(0, option.parameters));
      if (words_.size() - at_ - 1 < wanted) {
        throw BootError("option -" + option.name + " needs " + std::to_string(wanted) + " value(s), and " +
                        std::to_string(words_.size() - at_ - 1) + " follow(s)");
      }
      while (parameters.size() < wanted) parameters.push_back(words_[++at_]);
    }
    add(option, std::move(parameters));
  }

  void add(DeclaredOption& option, std::vector<std::string> parameters) {
    for (const DeclaredOption& other : options_->declared) {
      if (&other != &option && option.group != 0 && other.group == option.group && !other.instances.empty()) {
        throw BootError("options -" + other.name + " and -" + option.name + " exclude each other");
      }
    }
    OptionInstance instance{std::move(parameters), {}};
    for (const std::string& word : instance.words) {
      if ((option.flags & AOINT) == 0) break;
      const auto number = whole_number<int>(word);
      if (!number) {
        throw BootError("option -" + option.name + " is " + (word.empty() ? "empty" : word) + "; allowed: an integer");
      }
      instance.numbers.push_back(*number);
    }
    option.instances.push_back(std::move(instance));
  }

  std::string names() const {
    std::string all;
    for (const DeclaredOption& option : options_->declared) all += (all.empty() ? "-" : ", -") + option.name;
    return all.empty() ? "none" : all;
  }

  OPT* options_;
  std::vector<std::string> words_;
  bool letters_only_;
  std::size_t at_ = 0;
  std::vector<std::string> unused_{};
};

void parse(OPT* options, int* argc, char** argv) {
  const bool again = argc == nullptr && argv == nullptr;
  std::vector<std::string> words =
      again ? options->unused.words() : std::vector<std::string>(argv, argv + std::max(0, *argc));
  if (words.empty()) return;
  if (!again) options->program = words.front();
  OptionParser parser(options, {words.begin() + 1, words.end()});
  parser.parse();
  std::vector<std::string> unused = parser.unused();
  if (!again && (options->flags & AOPRESERVE_ARGV) == 0) {
    // The words that stay are among those that came, in the same order.
    int kept = 1;
    for (int n = 1; n < *argc && static_cast<std::size_t>(kept) <= unused.size(); ++n) {
      if (unused[static_cast<std::size_t>(kept) - 1] == argv[n]) argv[kept++] = argv[n];
    }
    if (kept < *argc) argv[kept] = nullptr;
    *argc = kept;
  }
  unused.insert(unused.begin(), options->program);
  options->unused.assign(unused);
}

}  // namespace
}  // namespace openlapi::boot

int ao_parse(OPT* aod, int* argc, char** argv) {
  if (aod == nullptr || (argc == nullptr) != (argv == nullptr)) return LAMERROR;
  return openlapi::boot::catch_errors(LAMERROR, [&] {
    openlapi::boot::parse(aod, argc, argv);
    return 0;
  });
}
