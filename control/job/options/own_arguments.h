// The arguments in front of the program: lapirun's own options, LAM's, and words for nodes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace openlapi {

struct OwnArguments {
  std::vector<std::string> options{};
  std::map<std::string, std::string> given_as{};  // lapirun's own names of them: how they were written
  std::vector<std::string> parameters{};          // of -ssi: key and value, one after the other
  std::string missing{};                          // what an option lacks
  std::string refusal{};                          // of an option that cannot be followed
  std::vector<std::string> notices{};
  std::vector<std::string> node_words{};
  std::size_t count = 0;
};

// Takes the leading arguments that are lapirun's own: options, and between them words for nodes. "--" ends them as
// well. LAM's long options with one dash get two, but only where an option may stand: the program may be called so.
OwnArguments split_off_own(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace openlapi
