#include "control/job/origin/local_link.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

namespace openlapi::jobs {
namespace {

// Empty: `error` says why there is none.
std::string new_partition(std::string& error) {
  std::uint64_t random[2];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    error = std::string("getrandom: ") + std::strerror(errno);
    return {};
  }
  char text[40];
  std::snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
  return text;
}

}  // namespace

LocalLink::LocalLink(bool standalone, const SignalSource& signals)
    : standalone_(standalone),
      tasks_(job_, signals, nullptr, [this](JobBody body) { listener_->take(0, std::move(body)); }) {}

// A terminal is not handed over: task 0 is in a process group of its own and would be stopped when it reads.
bool LocalLink::start(StartTasks job, Listener& listener, std::string& error) {
  listener_ = &listener;
  if (standalone_ && (job_.partition = new_partition(error)).empty()) return false;
  job_.tasks = std::move(job);
  job_.input = isatty(STDIN_FILENO) == 0 ? STDIN_FILENO : -1;
  job_.report_phase = [&listener](const char* what) { listener.report_phase(what); };
  tasks_.start();
  return true;
}

}  // namespace openlapi::jobs
