// A target that is stopped (SIGSTOP) makes its origin keep a bounded amount of memory: calls wait for room. When it
// goes on, so do they, and everything arrives.
#include <atomic>
#include <thread>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

// Where packets are lost fewer bytes come through, and 2,000 operations are three times the bound as well.
int operations() { return slowness > 1 ? 2'000 : 40'000; }
constexpr std::size_t kPieces = 20, kPiece = 900;
constexpr std::size_t kLength = kPieces * kPiece;  // more than is copied
constexpr std::size_t kMostGrowth = 10u << 20;     // of the origin's memory, bytes
constexpr int kHandler = 21;

unsigned char source[kLength];
struct Target {
  unsigned char sink[kLength];
  lapi_cntr_t arrived{};
};
Target target;
std::vector<Target*> targets;
std::vector<char*> processes;  // process ids

void* take(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) { return target.sink; }

std::size_t resident_bytes() {
  unsigned long all = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  EXPECT(file != nullptr && std::fscanf(file, "%lu %lu", &all, &resident) == 2);
  std::fclose(file);
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Lets the target go on when no call has returned for a while, or all have, and meanwhile looks at the memory.
class Waker {
 public:
  explicit Waker(pid_t process) : process_(process), first_(resident_bytes()), thread_([this] { watch(); }) {}
  ~Waker() { thread_.join(); }
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  std::atomic<int> returned{0};  // calls
  std::atomic<std::size_t> growth{0};

 private:
  void watch() {
    int seen = -1;
    for (int still = 0; still < 100 && returned != operations(); ++still) {
      if (returned != seen) still = 0;
      seen = returned;
      look();
      usleep(5000);
    }
    look();
    kill(process_, SIGCONT);
  }
  void look() {
    const std::size_t now = resident_bytes();
    if (now > first_ + growth) growth = now - first_;
  }

  const pid_t process_;
  const std::size_t first_;
  std::thread thread_;
};

template <class Operation>
void flood(Operation operation) {
  std::memset(target.sink, 0, kLength);
  CALL(LAPI_Setcntr(handle, &target.arrived, 0));
  CALL(LAPI_Gfence(handle));
  if (task == 0) {
    fill(source, kLength, 5);
    operation();  // first contact
    const auto process = static_cast<pid_t>(reinterpret_cast<std::intptr_t>(processes[1]));
    EXPECT_EQUAL(kill(process, SIGSTOP), 0);
    std::size_t growth = 0;
    {
      Waker waker(process);
      for (; waker.returned < operations(); ++waker.returned) operation();
      growth = waker.growth;
    }
    EXPECT_EQUAL(growth / kMostGrowth, 0);
  } else if (task == 1) {
    CALL(LAPI_Waitcntr(handle, &target.arrived, operations() + 1, nullptr));
    EXPECT(holds(target.sink, kLength, 5));
  }
}

void long_puts() {
  flood([] { CALL(LAPI_Put(handle, 1, kLength, targets[1]->sink, source, &targets[1]->arrived, nullptr, nullptr)); });
}

void messages() {
  flood([] {
    CALL(LAPI_Amsend(handle, 1, reinterpret_cast<void*>(kHandler), nullptr, 0, source, kLength, &targets[1]->arrived,
                     nullptr, nullptr));
  });
}

void vectors() {
  void* from[kPieces];
  void* to[kPieces];
  ulong lengths[kPieces];
  for (std::size_t i = 0; i < kPieces; ++i) {
    from[i] = source + i * kPiece;
    to[i] = targets[1]->sink + i * kPiece;
    lengths[i] = kPiece;
  }
  lapi_vec_t origin{LAPI_GEN_IOVECTOR, kPieces, from, lengths}, there{LAPI_GEN_IOVECTOR, kPieces, to, lengths};
  flood([&] { CALL(LAPI_Putv(handle, 1, &there, &origin, &targets[1]->arrived, nullptr, nullptr)); });
}

void short_puts() {
  flood([] {
    CALL(LAPI_Put(handle, 1, 8, targets[1]->sink, source, nullptr, nullptr, nullptr));
    CALL(LAPI_Put(handle, 1, kLength, targets[1]->sink, source, &targets[1]->arrived, nullptr, nullptr));
  });
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  targets = exchange(&target);
  processes = exchange(reinterpret_cast<char*>(static_cast<std::intptr_t>(getpid())));
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&take), kHandler));
  CALL(LAPI_Gfence(handle));
  run("long puts to a task that is stopped", 60, long_puts);
  run("long messages to it", 60, messages);
  run("vectors to it", 60, vectors);
  run("short and long puts to it", 60, short_puts);
  return finish();
}
