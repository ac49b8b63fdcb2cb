// Puts of 8 bytes between two tasks of one process, there and back, over a number of paths of which the first one
// serves: the instructions of counted_puts() are counted by valgrind (bench/idle_path --instructions). A put is sent in
// the step that follows it and taken in by the other task's next step.
//   path_instructions PATHS PUTS [bare]
// "bare": without a target counter.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "dataplane/tuning.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace {

constexpr unsigned long kWarmUp = 1000;
constexpr openlapi::Nanoseconds kOneWay = 5 * openlapi::kMicrosecond;

struct Words {
  std::uint64_t source = 1, sink = 0;
  int counter = 0;
};

}  // namespace

extern "C" [[gnu::noinline]] void counted_puts(openlapi::Job& job, Words& words, std::uint64_t counter,
                                               unsigned long puts) {
  for (unsigned long i = 0; i != puts; ++i) {
    const openlapi::PeerIndex from = i % 2, to = 1 - from;
    ++words.source;
    job[from].put({to, openlapi::address(&words.sink), &words.source, 8, counter, 0, 0});
    job[from].progress(openlapi::Step::first);
    job.clock.advance(kOneWay);
    job[to].progress(openlapi::Step::again);
  }
}

int main(int count, char** words) {
  const bool bare = count == 4 && std::string_view(words[3]) == "bare";
  const bool counted = count == 3 || bare;
  const unsigned long paths = counted ? std::strtoul(words[1], nullptr, 10) : 0;
  const unsigned long puts = counted ? std::strtoul(words[2], nullptr, 10) : 0;
  if (paths < 1 || paths > 8 || puts == 0) {
    std::fputs("path_instructions PATHS PUTS [bare]: 1 to 8, and a number above 0\n", stderr);
    return 2;
  }
  openlapi::Job job(2);
  for (unsigned long path = 1; path != paths; ++path) job.add_paths();
  for (openlapi::PeerIndex task = 0; task != 2; ++task) {
    job.task(task).transport.make_lossy(0, 1);
    for (auto& other : job.task(task).others) other->make_lossy(0, 1);
  }
  job.start();
  Words values;
  const std::uint64_t counter = bare ? 0 : openlapi::address(&values.counter);
  for (unsigned long i = 0; i != kWarmUp; ++i) {
    job[i % 2].put({static_cast<openlapi::PeerIndex>(1 - i % 2), openlapi::address(&values.sink), &values.source, 8,
                    counter, 0, 0});
    job.settle();
    job.clock.advance(kOneWay);
  }
  job.clock.advance(openlapi::kSecond);
  job.settle();
  const int before = values.counter;
  counted_puts(job, values, counter, puts);
  const unsigned long moved = static_cast<unsigned long>(values.counter - before);
  if (values.sink == values.source && moved == (bare ? 0 : puts)) return 0;
  std::fprintf(stderr, "path_instructions: the last put is not there, or %lu of %lu have moved the counter\n", moved,
               puts);
  return 1;
}
