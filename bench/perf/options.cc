#include "bench/perf/options.h"

#include <strings.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "api/include/lapi.h"
#include "control/base/option_given_twice.h"

namespace openlapi::bench {
namespace {

constexpr std::size_t kLargestSize = std::size_t{1} << 30;
constexpr const char* kDefaultSizes = "8,64,1K,8K,64K,1M,4M";

bool parse_size(std::string text, std::size_t& size) {
  std::size_t unit = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        unit = 1u << 10;
        break;
      case 'm':
      case 'M':
        unit = 1u << 20;
        break;
      case 'g':
      case 'G':
        unit = 1u << 30;
        break;
      default:
        break;
    }
    if (unit != 1) text.pop_back();
  }
  if (text.empty() || text.size() > 10 || text.find_first_not_of("0123456789") != std::string::npos) return false;
  size = std::strtoull(text.c_str(), nullptr, 10) * unit;
  return size >= 1 && size <= kLargestSize;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t comma; (comma = text.find(',', begin)) != std::string::npos; begin = comma + 1) {
    words.push_back(text.substr(begin, comma - begin));
  }
  words.push_back(text.substr(begin));
  return words;
}

std::string allowed_operations() {
  std::string text;
  for (const OperationName& operation : operation_names())
    text += (text.empty() ? "" : ", ") + std::string(operation.name);
  return text;
}

bool parse_operations(const std::string& text, std::vector<std::string>& operations, std::string& error) {
  for (const std::string& word : split(text)) {
    const bool known = std::any_of(operation_names().begin(), operation_names().end(),
                                   [&](const OperationName& operation) { return word == operation.name; });
    if (!known) {
      error = "--ops '" + word + "': allowed are " + allowed_operations();
      return false;
    }
    operations.push_back(word);
  }
  return true;
}

// LAPI_USE_SHM chooses when --transport does not; when both speak they must agree. "yes", which lapirun sets by itself,
// leaves the choice open: over shared memory where that is possible.
bool choose_wires(const std::string& transport, const char* shared_memory, std::vector<Wire>& wires,
                  std::string& error) {
  const bool set = shared_memory != nullptr && *shared_memory != '\0';
  const bool no = set && strcasecmp(shared_memory, "no") == 0;
  const bool only = set && strcasecmp(shared_memory, "only") == 0;
  if (set && !no && !only && strcasecmp(shared_memory, "yes") != 0) {
    error = "LAPI_USE_SHM='" + std::string(shared_memory) + "': allowed are no, yes, only";
    return false;
  }
  if ((transport == "shm" && no) || ((transport == "udp" || transport == "verbs" || transport == "dpdk") && only)) {
    error = "--transport " + transport + " contradicts LAPI_USE_SHM=" + shared_memory +
            " in the environment: unset LAPI_USE_SHM or leave --transport out";
    return false;
  }
  if (transport == "verbs" || transport == "dpdk") {
    wires.push_back(transport == "verbs" ? Wire::verbs : Wire::dpdk);
    return true;
  }
  if (transport != "udp" && !(transport.empty() && no)) wires.push_back(Wire::shm);
  if (transport != "shm" && !(transport.empty() && only)) wires.push_back(Wire::udp);
  return true;
}

bool has_gnuplot() {
  const char* path = std::getenv("PATH");
  for (std::string folder; path != nullptr && *path != '\0';) {
    const char* end = path;
    while (*end != '\0' && *end != ':') ++end;
    folder.assign(path, end);
    if (access((folder + "/gnuplot").c_str(), X_OK) == 0) return true;
    path = *end == ':' ? end + 1 : end;
  }
  return false;
}

bool check_plot(const Options& options, std::string& error) {
  const std::string& file = options.plot_file;
  if (file.size() < 5 || file.substr(file.size() - 4) != ".svg") {
    error = "--plot '" + file + "': allowed is a file name that ends in .svg";
    return false;
  }
  if (!has_gnuplot()) {
    error = "--plot needs gnuplot, which is not in PATH: install it (Debian: gnuplot-nox) or leave --plot out";
    return false;
  }
  const auto is_drawn = [](const std::string& operation) {
    return operation == "put" || operation == "get" || operation == "am";
  };
  if (options.operations.empty() || std::ranges::any_of(options.operations, is_drawn)) return true;
  error = "--plot draws put, get and am, and --ops has none of them";
  return false;
}

// Why the operation has no row, whatever the machine is. Null: it may have one.
const char* lack_of_row(const std::string& operation, const Options& options) {
  if (operation == "wake" && options.mode == Mode::polling) {
    return "a task that polls does not sleep; it needs --mode interrupt";
  }
  if (operation == "get-computing" && options.mode == Mode::polling) {
    return "in polling mode nobody answers while a task computes; it needs --mode interrupt";
  }
  if (operation == "put-warm" && std::ranges::find(options.wires, Wire::shm) == options.wires.end()) {
    return "only puts through shared memory are touched by nobody in between; it needs --transport shm";
  }
  if (operation == "put-complete" && options.sizes.front() > kLargestPutComplete) {
    return "larger puts are always timed until completed; it needs --sizes up to 8K";
  }
  if (operation == "am-untouched" && options.sizes.back() <= kLargestFreeToRead) {
    return "so few bytes cost nothing to read; it needs --sizes over 64";
  }
  return nullptr;
}

bool check_operations(const Options& options, std::string& error) {
  for (const std::string& operation : options.operations) {
    const char* const lack = lack_of_row(operation, options);
    if (lack == nullptr) continue;
    error = "--ops " + operation + ": " + lack;
    return false;
  }
  return true;
}

bool check_pairs(const CLI::App& app, std::string& error) {
  if (app.count("--pairs") == 0) return true;
  for (const char* option : {"--sizes", "--ops", "--iterations", "--json", "--plot"}) {
    if (app.count(option) == 0) continue;
    error = std::string(option) + " and --pairs: pairs put 8 bytes for a second, and no file is written; leave one out";
    return false;
  }
  return true;
}

// What would be measured for nothing.
bool check_files(const CLI::App& app, const Options& options, std::string& error) {
  if (app.count("--json") != 0 && options.json_file.empty()) {
    error = "--json '': allowed is a file name";
    return false;
  }
  return app.count("--plot") == 0 || check_plot(options, error);
}

struct Words {
  std::string transport, mode = "polling", sizes = kDefaultSizes, operations, pairs;
};

void declare(CLI::App& app, Options& options, Words& words, bool& version) {
  app.add_option("-t,--transport", words.transport,
                 "shm, udp, verbs or dpdk (user space mode over RDMA, over DPDK ports); shm, then udp, when not given")
      ->check(CLI::IsMember({"shm", "udp", "verbs", "dpdk"}));
  app.add_option("-m,--mode", words.mode, "polling or interrupt: who drives progress at the target (default polling)")
      ->check(CLI::IsMember({"polling", "interrupt"}));
  app.add_option("-s,--sizes", words.sizes, "message sizes, bytes, with K, M or G (default 8,64,1K,8K,64K,1M,4M)");
  app.add_option("-o,--ops", words.operations, "operations, as put,get,am (default all; listed below)");
  app.add_option("-i,--iterations", options.iterations,
                 "operations of each row, at least 20 (default: as many as fit 0.25 s)")
      ->check(CLI::Range(std::uint64_t{20}, std::uint64_t{1'000'000'000}));
  app.add_option("--json", options.json_file, "also write all figures to this file");
  app.add_option("--plot", options.plot_file, "also draw latency and bandwidth over size (SVG, by gnuplot)");
  app.add_option("--pairs", words.pairs,
                 "instead of the table: an even number of tasks, in pairs, mean half round trip of each pair; adjacent "
                 "(0-1, 2-3, ...; the default) or halves (0-2, 1-3 of four)")
      ->expected(0, 1)
      ->default_str("adjacent")
      ->check(CLI::IsMember({"adjacent", "halves"}));
  app.add_flag("-q,--quick", options.quick,
               "fewer and shorter slices: seconds instead of a minute, figures less steady");
  app.add_flag("!--no-pin", options.pin, "do not bind a task that its launcher left unbound to a core");
  app.add_flag("--version", version, "print the version and end");
  std::string footer = "Operations:\n";
  for (const OperationName& operation : operation_names()) {
    footer += "  " + std::string(operation.name) +
              std::string(14 - std::min<std::size_t>(13, std::string(operation.name).size()), ' ') + operation.meaning +
              "\n";
  }
  footer +=
      "Floors by letters, half a round trip each:\n"
      "  F, F(n)       a flag in one cache line of shared memory, n bytes there\n"
      "  U, U(n)       8 bytes, n bytes through bare sockets (UDP)\n"
      "  2 F, 2 U      there and back\n";
  app.footer(footer + "Start it with: lapirun -n 2 lapi_perf");
}

bool interpret(const CLI::App& app, const Words& words, const char* shared_memory, Options& options,
               std::string& error) {
  options.mode = words.mode == "interrupt" ? Mode::interrupt : Mode::polling;
  if (app.count("--pairs") != 0) options.pairs = words.pairs == "halves" ? PairPattern::halves : PairPattern::adjacent;
  if (!parse_sizes(words.sizes, options.sizes, error)) return false;
  if (app.count("--ops") != 0 && !parse_operations(words.operations, options.operations, error)) return false;
  if (!choose_wires(words.transport, shared_memory, options.wires, error)) return false;
  return check_pairs(app, error) && check_operations(options, error) && check_files(app, options, error);
}

}  // namespace

const char* name_of(Wire wire) {
  static constexpr const char* kNames[] = {"shm", "udp", "verbs", "dpdk"};
  return kNames[static_cast<int>(wire)];
}
const char* title_of(Wire wire) {
  static constexpr const char* kTitles[] = {"Shared memory", "UDP", "RDMA verbs", "DPDK"};
  return kTitles[static_cast<int>(wire)];
}
const char* name_of(Mode mode) { return mode == Mode::polling ? "polling" : "interrupt"; }

const std::vector<OperationName>& operation_names() {
  static const std::vector<OperationName> names = {
      {"put", "put until the target has it: half a ping-pong; large ones until completed"},
      {"put-complete", "put with a completion counter, until the origin knows that it is complete"},
      {"put-warm", "large put of bytes that nobody touches in between (cache-warm)"},
      {"get", "get until the data is here"},
      {"get-computing", "interrupt mode only: get from a task that computes"},
      {"am", "active message, its handler reads the payload in place: half a ping-pong"},
      {"am-untouched", "active message whose payload is not read"},
      {"am-inline", "active message with an inline completion handler"},
      {"am-thread", "active message with a completion handler in its own thread"},
      {"put-both", "puts in both directions at once: time until both are there"},
      {"rate", "puts of 8 bytes, one after the other without waiting: time of each"},
      {"rmw", "four read-modify-writes on 32 and 64 bits, until the old value is here"},
      {"wake", "interrupt mode only: put with completion counter to a task that sleeps"},
  };
  return names;
}

bool parse_sizes(const std::string& text, std::vector<std::size_t>& sizes, std::string& error) {
  sizes.clear();
  for (const std::string& word : split(text)) {
    std::size_t size = 0;
    if (!parse_size(word, size)) {
      error = "--sizes '" + word + "': allowed are sizes from 1 to 1G, as 8,1K,64K,1M";
      return false;
    }
    sizes.push_back(size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return true;
}

std::string size_text(std::size_t bytes) {
  if (bytes >= 1u << 20 && bytes % (1u << 20) == 0) return std::to_string(bytes >> 20) + "M";
  if (bytes >= 1u << 10 && bytes % (1u << 10) == 0) return std::to_string(bytes >> 10) + "K";
  return std::to_string(bytes);
}

ParsedOptions parse_options(int argc, const char* const* argv, const char* shared_memory) {
  ParsedOptions result;
  CLI::App app("Measures LAPI between two tasks, each figure beside what the bare machine does in the same run.",
               "lapi_perf");
  Words words;
  bool version = false;
  declare(app, result.options, words, version);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    result.text = app.help();
    result.exit = true;
    return result;
  } catch (const CLI::ParseError& wrong) {
    result.text = "lapi_perf: " + told_once(wrong.what()) + "\nSee lapi_perf --help\n";
    result.exit = true;
    result.status = 2;
    return result;
  }
  if (version) {
    result.text = "lapi_perf " OPENLAPI_VERSION "\n";
    result.exit = true;
    return result;
  }
  std::string error;
  if (!interpret(app, words, shared_memory, result.options, error)) {
    result.text = "lapi_perf: " + error + "\n";
    result.exit = true;
    result.status = 2;
  }
  return result;
}

}  // namespace openlapi::bench
