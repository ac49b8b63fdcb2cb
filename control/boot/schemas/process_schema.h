// A process schema: which processes make up the run-time environment on a node, and their arguments.
//
//   # a comment
//   lamd $inet_topo $debug $session_prefix $session_suffix
//   tracer -v "two words" {delay=2}
//   {delay=1}                     alone on a line: for all processes that follow
//
// A variable stands for the words that it has, possibly none; $delay stands for the option {delay=1}.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace openlapi::boot {

struct SchemaProcess {
  std::vector<std::string> words{};  // never empty
  int delay = 0;                     // seconds
};

// Name, without the $, and value; the value's words are separated by blanks.
using SchemaVariables = std::map<std::string, std::string, std::less<>>;

// Throws BootError: a mistake; no process at all. A variable that is not in `variables` is a mistake.
std::vector<SchemaProcess> parse_process_schema(std::string_view text, std::string_view source,
                                                const SchemaVariables& variables);

}  // namespace openlapi::boot
