// The command line of lapi_perf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace openlapi::bench {

enum class Wire { shm, udp, verbs, dpdk };
enum class Mode { polling, interrupt };
enum class PairPattern { none, adjacent, halves };

const char* name_of(Wire wire);
const char* title_of(Wire wire);
const char* name_of(Mode mode);

// Of a small operation: the largest put that is also timed until the origin knows, and the largest active message whose
// reading costs nothing, so that it has one row.
inline constexpr std::size_t kLargestPutComplete = 8192;
inline constexpr std::size_t kLargestFreeToRead = 64;

struct Options {
  std::vector<Wire> wires;  // in the order of measuring
  Mode mode = Mode::polling;
  std::vector<std::size_t> sizes;
  std::vector<std::string> operations;  // empty: all
  std::uint64_t iterations = 0;         // of each row; 0: as many as fit the time of a row
  std::string json_file;
  std::string plot_file;
  PairPattern pairs = PairPattern::none;
  bool quick = false;
  bool pin = true;
};

// What main() does with the command line.
struct ParsedOptions {
  Options options;
  bool exit = false;  // say `text` and end with `status`
  int status = 0;
  std::string text;
};

// `shared_memory` is the environment's LAPI_USE_SHM, null when unset: it must not contradict --transport.
ParsedOptions parse_options(int argc, const char* const* argv, const char* shared_memory);

// "8,64,1K,8K,64K,1M" to bytes. False: `error` names the text and what is allowed.
bool parse_sizes(const std::string& text, std::vector<std::size_t>& sizes, std::string& error);
// 1024 -> "1K"
std::string size_text(std::size_t bytes);

// The operations that --ops takes, with one line each for --help.
struct OperationName {
  const char* name;
  const char* meaning;
};
const std::vector<OperationName>& operation_names();

}  // namespace openlapi::bench
