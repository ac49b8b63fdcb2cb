// simulate: runs seeds of the simulation and prints, for one that fails, what did not hold and the command to replay
// it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/simulation/crash_report.h"
#include "tests/simulation/simulation.h"

namespace {

using openlapi::simulation::Options;
using openlapi::simulation::Simulation;
using openlapi::simulation::Summary;

struct Arguments {
  Options options;
  std::uint64_t first_seed = 1;
  std::uint64_t last_seed = 1;
  bool verbose = false;
  bool keep_going = false;
};

void print_usage() {
  std::printf(
      "usage: simulate [--seed N | --seeds A..B] [--engines N] [--contexts N] [--operations N]\n"
      "                [--networks N] [--verbose] [--trace] [--keep-going]\n\n"
      "Runs a job of tasks with several contexts each in one process, over a network with faults and in virtual time,\n"
      "and checks every operation. Ends with 1 when a seed failed.\n\n"
      "  --seed N         one seed (default 1)\n"
      "  --seeds A..B     the seeds from A to B\n"
      "  --engines N      tasks, 2 to 64 (default 8); each has an engine per context\n"
      "  --contexts N     contexts per task, 1 to 16 (default 2)\n"
      "  --operations N   operations of all tasks together, without replies (default 2000)\n"
      "  --networks N     that connect the tasks, 1 to 8 (default: as the seed says)\n"
      "  --verbose        what each seed is and did\n"
      "  --trace          every operation, death, fault as it happens\n"
      "  --keep-going     do not stop at the first seed that fails\n");
}

bool parse_number(const char* text, std::uint64_t least, std::uint64_t most, std::uint64_t& value) {
  char* end = nullptr;
  value = std::strtoull(text, &end, 10);
  return end != text && *end == '\0' && text[0] != '-' && value >= least && value <= most;
}

bool parse_seeds(const std::string& text, Arguments& arguments) {
  const std::size_t dots = text.find("..");
  return dots != std::string::npos && parse_number(text.substr(0, dots).c_str(), 0, UINT64_MAX, arguments.first_seed) &&
         parse_number(text.substr(dots + 2).c_str(), arguments.first_seed, UINT64_MAX, arguments.last_seed);
}

bool complain(const std::string& option, const char* value, const char* allowed) {
  std::fprintf(stderr, "simulate: %s is '%s'; allowed: %s\n", option.c_str(), value, allowed);
  return false;
}

bool parse_option(const std::string& option, const char* value, Arguments& arguments) {
  std::uint64_t number = 0;
  if (option == "--seeds") {
    return parse_seeds(value, arguments) || complain(option, value, "two numbers with '..' between, the smaller first");
  }
  if (option == "--seed") {
    if (!parse_number(value, 0, UINT64_MAX, number)) return complain(option, value, "a number");
    arguments.first_seed = arguments.last_seed = number;
    return true;
  }
  if (option == "--engines") {
    if (!parse_number(value, 2, 64, number)) return complain(option, value, "2 to 64");
    arguments.options.tasks = static_cast<std::uint32_t>(number);
    return true;
  }
  if (option == "--contexts") {
    if (!parse_number(value, 1, 16, number)) return complain(option, value, "1 to 16");
    arguments.options.contexts = static_cast<std::uint32_t>(number);
    return true;
  }
  if (option == "--operations") {
    if (!parse_number(value, 1, 1'000'000, number)) return complain(option, value, "1 to 1000000");
    arguments.options.operations = static_cast<std::uint32_t>(number);
    return true;
  }
  if (option == "--networks") {
    if (!parse_number(value, 1, 8, number)) return complain(option, value, "1 to 8");
    arguments.options.networks = static_cast<std::uint32_t>(number);
    return true;
  }
  return complain("the option", option.c_str(), "those of simulate --help");
}

bool parse(int count, char** texts, Arguments& arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string option = texts[i];
    if (option == "--verbose") {
      arguments.verbose = true;
    } else if (option == "--trace") {
      arguments.options.trace = true;
    } else if (option == "--keep-going") {
      arguments.keep_going = true;
    } else if (i + 1 == count) {
      return complain("the last argument", texts[i], "those of simulate --help, with a value");
    } else if (!parse_option(option, texts[++i], arguments)) {
      return false;
    }
  }
  return true;
}

unsigned long long plain(std::uint64_t value) { return value; }

void print_summary(const Summary& did) {
  std::printf(
      "  %llu puts, %llu gets, %llu messages, %llu read-modify-writes; %llu excused, %llu fences, %llu collectives\n",
      plain(did.by_kind[0]), plain(did.by_kind[1]), plain(did.by_kind[2]), plain(did.by_kind[3]), plain(did.excused),
      plain(did.fences), plain(did.collectives));
  std::printf("  sides: %llu in pieces, %llu strided, %llu through programs; %llu messages combined\n",
              plain(did.by_layout[1]), plain(did.by_layout[2]), plain(did.by_layout[3]), plain(did.combined));
  std::printf("  %llu packets of lies, %llu pauses, %llu beyond the time-out\n", plain(did.lies), plain(did.pauses),
              plain(did.long_stops));
  std::printf("  %llu purges, %llu resumes, %llu operations refused in between\n", plain(did.purges),
              plain(did.resumes), plain(did.refused));
  std::printf("  %llu deaths, %llu returns, %llu faults; %llu retransmitted, %llu duplicates, %llu ghosts\n",
              plain(did.deaths), plain(did.returns), plain(did.faults), plain(did.retransmitted), plain(did.duplicates),
              plain(did.ghosts));
  std::printf(
      "  packets: %llu carried, %llu lost, %llu doubled, %llu damaged, %llu misdelivered, %llu late; "
      "%.3f s virtual, %llu events\n",
      plain(did.network.carried), plain(did.network.lost), plain(did.network.doubled), plain(did.network.damaged),
      plain(did.network.misdelivered), plain(did.network.late), static_cast<double>(did.virtual_time) / 1e9,
      plain(did.events));
  if (did.network.crossed + did.network.too_long != 0) {
    std::printf("  %llu packets to an adapter of another number, %llu were too long for one\n",
                plain(did.network.crossed), plain(did.network.too_long));
  }
  if (did.cuts != 0) {
    std::printf("  %llu cuts of adapters: %llu packets; links were told to be up or down %llu times\n", plain(did.cuts),
                plain(did.network.cut), plain(did.link_words));
  }
  std::printf("  adapters: %llu messages read, %llu fallbacks; %llu reads, %llu failed, %llu stopped\n",
              plain(did.bulk_messages), plain(did.bulk_fallbacks), plain(did.bulk.reads), plain(did.bulk.failed),
              plain(did.bulk.stopped));
}

bool run_seed(const Arguments& arguments, std::uint64_t seed) {
  Options options = arguments.options;
  options.seed = seed;
  openlapi::simulation::set_crash_report(options.replay_command());
  Simulation simulation(options);
  if (arguments.verbose) std::printf("seed %llu: %s\n", plain(seed), simulation.scenario().describe().c_str());
  const std::string failure = simulation.run();
  if (arguments.verbose) print_summary(simulation.summary());
  if (failure.empty()) return true;
  std::printf("seed %llu failed %s\nreplay: %s\n", plain(seed), failure.c_str(), options.replay_command().c_str());
  std::fflush(stdout);
  return false;
}

}  // namespace

int main(int count, char** texts) {
  if (count == 2 && std::strcmp(texts[1], "--help") == 0) {
    print_usage();
    return 0;
  }
  Arguments arguments;
  if (!parse(count, texts, arguments)) return 2;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = arguments.first_seed;; ++seed) {
    if (!run_seed(arguments, seed)) ++failed;
    if (seed == arguments.last_seed || (failed != 0 && !arguments.keep_going)) break;
  }
  std::printf("%llu seeds failed\n", plain(failed));
  return failed == 0 ? 0 : 1;
}
