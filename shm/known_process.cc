#include "shm/known_process.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace openlapi::shm {
namespace {

// What /proc/PID/stat says.
struct ProcessState {
  char state = 0;
  long threads = 0;
  unsigned long long started = 0;
};

// False: errno in `error`, or 0 for what cannot be understood.
bool read_state(pid_t process, ProcessState& out, int& error) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%ld/stat", static_cast<long>(process));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), std::fclose);
  error = file == nullptr ? errno : 0;
  if (file == nullptr) return false;
  char text[1024];
  const std::size_t length = std::fread(text, 1, sizeof text - 1, file.get());
  if (length == 0) error = ESRCH;  // it ended between the two
  text[length] = '\0';
  // The name stands in brackets and may hold anything.
  const char* const behind_name = std::strrchr(text, ')');
  if (behind_name == nullptr) return false;
  return std::sscanf(behind_name + 1,
                     " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu", &out.state,
                     &out.threads, &out.started) == 3;
}

// A first thread that has ended before the others is in the same state, but not alone.
bool is_dead(const ProcessState& state) { return (state.state == 'Z' || state.state == 'X') && state.threads <= 1; }

}  // namespace

std::optional<KnownProcess> identify(pid_t process) {
  ProcessState state;
  int error = 0;
  if (process <= 0 || !read_state(process, state, error) || is_dead(state)) return std::nullopt;
  return KnownProcess{process, state.started};
}

bool has_ended(const KnownProcess& known) {
  ProcessState state;
  int error = 0;
  if (read_state(known.process, state, error)) return state.started != known.started || is_dead(state);
  return error == ENOENT || error == ESRCH;
}

void Acquaintances::met(const ShmConfig& config, PeerIndex task, const KnownProcess& known) {
  known_[{config.cookie, task, config.instance}] = known;
}

std::optional<pid_t> Acquaintances::ended(const ShmConfig& config, PeerIndex task) const {
  const auto end = known_.upper_bound({config.cookie, task, UINT32_MAX});
  for (auto next = known_.lower_bound({config.cookie, task, 0}); next != end; ++next) {
    // A process that takes the place of one that has ended begins with generation 0 of every instance.
    const bool is_awaited =
        config.tasks_stay_processes || (next->first.instance == config.instance && config.generation != 0);
    if (is_awaited && has_ended(next->second)) return next->second.process;
  }
  return std::nullopt;
}

}  // namespace openlapi::shm
