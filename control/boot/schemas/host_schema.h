// A boot schema ("host file"): which hosts make up the universe.
//
//   # a comment, to the end of the line
//   inky.cluster.example.com cpu=2
//   clyde user=jsmith prefix=/opt/lam schedule=no "key=value with spaces"
//   hostname=10.0.0.7 cpu=4
//
// One host a line: its name, then key=value pairs in any order. Quotes go round a whole word. A host that is repeated
// adds its processors; its other values may be left out or must be the same. Keys that nobody here knows are kept for
// boot modules.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace openlapi::boot {

struct HostEntry {
  std::string name{};
  int cpus = 1;
  std::string user{};  // empty: not said
  bool schedule = true;
  std::vector<std::pair<std::string, std::string>> pairs{};  // as written, in order; cpu is the sum
  int line = 0;                                              // where it was named first
};

// `source` names the text in messages. Throws BootError: a mistake; no hosts at all.
std::vector<HostEntry> parse_host_schema(std::string_view text, std::string_view source);

}  // namespace openlapi::boot
