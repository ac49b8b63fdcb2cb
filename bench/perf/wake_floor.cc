#include "bench/perf/wake_floor.h"

#include <dirent.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace openlapi::bench {
namespace {

constexpr unsigned kPatience = 200;  // milliseconds until a target counts as one that does not sleep

std::uint32_t* futex_word(SharedRegion& region) {
  return reinterpret_cast<std::uint32_t*>(&region->sleeper.value);  // little-endian: the low half comes first
}

// The state letter of a thread: R, S, D, ... ; 'X' when the thread is gone.
char thread_state(const std::string& stat_path) {
  std::FILE* file = std::fopen(stat_path.c_str(), "re");
  if (file == nullptr) return 'X';
  char text[256] = {};
  const std::size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  const std::string_view view(text, length);
  const std::size_t name_end = view.rfind(')');  // the name may hold anything
  return name_end != std::string_view::npos && name_end + 2 < length ? view[name_end + 2] : 'X';
}

bool asleep(pid_t process, pid_t except) {
  const std::string folder = "/proc/" + std::to_string(process) + "/task";
  DIR* threads = opendir(folder.c_str());
  if (threads == nullptr) return false;
  bool all = true;
  while (const dirent* entry = readdir(threads)) {
    const int thread = std::atoi(entry->d_name);
    if (thread == 0 || thread == except) continue;
    const char state = thread_state(folder + "/" + entry->d_name + "/stat");
    if (state != 'S' && state != 'X') all = false;
  }
  closedir(threads);
  return all;
}

void futex_wait(std::uint32_t* word, std::uint32_t seen) {
  syscall(SYS_futex, word, FUTEX_WAIT, seen, nullptr, nullptr, 0);
}
void futex_wake(std::uint32_t* word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

void sleep_until(SharedRegion& region, std::uint32_t value) {
  std::atomic<std::uint64_t>& word = region->sleeper.value;
  for (std::uint64_t now; (now = word.load(std::memory_order_acquire)) != value;) {
    futex_wait(futex_word(region), static_cast<std::uint32_t>(now));
  }
}

void set_and_wake(SharedRegion& region, std::uint32_t value) {
  region->sleeper.value.store(value, std::memory_order_release);
  futex_wake(futex_word(region));
}

}  // namespace

bool wait_until_asleep(pid_t process, pid_t except, unsigned milliseconds) {
  const std::uint64_t end = monotonic_nanoseconds() + milliseconds * 1'000'000ull;
  while (!asleep(process, except)) {
    if (monotonic_nanoseconds() > end) return false;
    sched_yield();
  }
  return true;
}

void Sleeper::begin() {
  waking_ = static_cast<std::uint32_t>(region_->sleeper.value.load()) + 1;
  region_.barrier();
}

void Sleeper::sleep() {
  begin();
  sleep_until(region_, waking_);
  region_.barrier();
}

void Sleeper::wake() {
  set_and_wake(region_, waking_);
  region_.barrier();
}

void futex_wake_round_trip(SharedRegion& region, pid_t peer, std::uint64_t iterations, Samples* samples) {
  std::atomic<std::uint64_t>& flag = region->woken.value;
  auto value = static_cast<std::uint32_t>(region.agree(region->sleeper.value.load()));
  std::uint64_t answers = region.agree(flag.load());
  time_each(iterations, 1, samples, [&]() -> std::uint64_t {
    ++value;
    ++answers;
    if (region.side() == 1) {
      sleep_until(region, value);
      flag.store(answers, std::memory_order_release);
      return 0;
    }
    wait_until_asleep(peer, 0, kPatience);
    const std::uint64_t start = ticks();
    set_and_wake(region, value);
    spin_until([&] { return flag.load(std::memory_order_acquire) == answers; });
    return ticks() - start;
  });
  region.barrier();
}

void socket_wake_round_trip(SharedRegion& region, int socket, pid_t peer, std::uint64_t iterations, Samples* samples) {
  region.barrier();
  time_each(iterations, 1, samples, [&]() -> std::uint64_t {
    char byte = 0;
    if (region.side() == 1) {
      pollfd wanted{socket, POLLIN, 0};
      while (recv(socket, &byte, 1, 0) != 1) poll(&wanted, 1, -1);
      send(socket, &byte, 1, 0);
      return 0;
    }
    wait_until_asleep(peer, 0, kPatience);
    const std::uint64_t start = ticks();
    send(socket, &byte, 1, 0);
    spin_until([&] { return recv(socket, &byte, 1, 0) == 1; });
    return ticks() - start;
  });
  region.barrier();
}

}  // namespace openlapi::bench
