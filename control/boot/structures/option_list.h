// What an OPT is inside.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "control/boot/include/all_opt.h"

namespace openlapi::boot {

// Words that C code gets as argc and argv; they keep their places while words are added.
class WordArray {
 public:
  void assign(const std::vector<std::string>& words) {
    words_.assign(words.begin(), words.end());
    pointers_.clear();
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  int count() const { return static_cast<int>(words_.size()); }
  char** array() { return pointers_.data(); }
  std::vector<std::string> words() const { return {words_.begin(), words_.end()}; }

 private:
  std::list<std::string> words_{};
  std::vector<char*> pointers_{nullptr};
};

struct OptionInstance {
  std::vector<std::string> words{};
  std::vector<int> numbers{};  // of an option with AOINT
};

struct DeclaredOption {
  std::string name{};
  int parameters = 0;  // or AOVARNUM
  int flags = 0;
  int group = 0;  // options of one group exclude each other; 0: none
  std::vector<OptionInstance> instances{};
};

DeclaredOption* find_option(OPT* options, std::string_view name);

}  // namespace openlapi::boot

struct ao_desc {
  std::vector<openlapi::boot::DeclaredOption> declared{};
  int groups = 0;
  int flags = 0;
  std::string program{};
  openlapi::boot::WordArray unused{};
  openlapi::boot::WordArray tail{};
};
