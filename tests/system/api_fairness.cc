// More tasks than cores: pairs of tasks play ping-pong on two cores, and nobody stops before every pair has played its
// rounds. A pair that the others keep from playing never gets there; the case's limit then names the call it waits in.
#include <sched.h>

#include <atomic>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

int rounds_wanted = 1000;  // of every pair

struct Window {
  lapi_cntr_t ball{};
  std::atomic<int> last{0};  // the partner sends no more
  lapi_cntr_t through{};     // pairs that have played their rounds
};
Window window;
std::vector<Window*> windows;

// All tasks on the same two cores, as far as the launcher allows.
void share_two_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  EXPECT_EQUAL(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int kept = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed) && ++kept > 2) CPU_CLR(core, &allowed);
  }
  EXPECT_EQUAL(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}

void send_word(unsigned to, std::atomic<int>& word, int value, lapi_cntr_t* counter) {
  CALL(LAPI_Put(handle, to, sizeof value, &word, &value, counter, nullptr, nullptr));
}

int pairs() { return tasks / 2; }

// The pair has played its rounds, and goes on for the others' sake.
void tell_everybody() {
  for (int other = 0; other < tasks; ++other) {
    const auto to = static_cast<unsigned>(other);
    CALL(LAPI_Put(handle, to, 0, nullptr, nullptr, &windows[to]->through, nullptr, nullptr));
  }
}

// The even task begins each round, and its word says whether it is the last. Returns the rounds.
long long play(unsigned partner) {
  Window& other = *windows[partner];
  const bool begins = task % 2 == 0;
  for (long long round = 1;; ++round) {
    bool last = begins && counter_value(window.through) == pairs();
    if (begins) send_word(partner, other.last, last ? 1 : 0, &other.ball);
    CALL(LAPI_Waitcntr(handle, &window.ball, 1, nullptr));
    if (!begins) last = window.last == 1;  // of this round: once it has the ball, the partner may send the next one's
    if (!begins) send_word(partner, other.last, 0, &other.ball);
    if (begins && round == rounds_wanted) tell_everybody();
    if (last) return round;
  }
}

void everybody_plays() {
  const auto partner = static_cast<unsigned>(task ^ 1);
  const long long rounds = partner < static_cast<unsigned>(tasks) ? play(partner) : 0;
  std::vector<lapi_long_t> all(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init64(handle, static_cast<lapi_long_t>(rounds), all.data()));
  for (int other = 0; task == 0 && other < tasks; other += 2) {
    std::printf("# pair %d: %llu rounds\n", other / 2, all[static_cast<std::size_t>(other)]);
  }
  EXPECT(partner >= static_cast<unsigned>(tasks) || rounds >= rounds_wanted);
}

}  // namespace

int main(int count, char** arguments) {
  share_two_cores();
  begin(count, arguments);
  if (!words.empty()) rounds_wanted = std::stoi(words[0]);
  windows = exchange(&window);
  run("nobody starves where tasks share two cores", 90, everybody_plays);
  return finish();
}
