#include "control/client/own_task_page.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "dataplane/base/task_page.h"
#include "dataplane/base/whole_number.h"

namespace openlapi {
namespace {

bool is_taken(const TaskPage& page) {
  const auto process = static_cast<pid_t>(page.process.load(std::memory_order_relaxed));
  return process > 0 && process != getpid() && (kill(process, 0) == 0 || errno != ESRCH);
}

// The system maps whole pages of its own, which may hold several tasks' pages. Null: it is no such file.
TaskPage* map_page(int file, std::size_t number) {
  const auto unit = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t place = number * sizeof(TaskPage);
  const std::size_t begin = place / unit * unit;
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::size_t>(status.st_size) < place + sizeof(TaskPage))
    return nullptr;
  void* memory = mmap(nullptr, unit, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(begin));
  if (memory == MAP_FAILED) return nullptr;
  auto* page = reinterpret_cast<TaskPage*>(static_cast<std::byte*>(memory) + (place - begin));
  if (page->version == TaskPage::kVersion && !is_taken(*page)) return page;
  munmap(memory, unit);
  return nullptr;
}

}  // namespace

void open_own_task_page(const ReadEnvironment& read) {
  static bool tried = false;
  if (std::exchange(tried, true)) return;
  const char* value = read(kTaskPageVariable);
  const std::string text = value != nullptr ? value : "";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return;
  const auto number = whole_number<std::size_t>(text.substr(colon + 1), 0, INT32_MAX / sizeof(TaskPage));
  if (!number) return;
  const int file = open(text.substr(0, colon).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  if (TaskPage* page = map_page(file, *number)) take_task_page(*page);
  close(file);
}

}  // namespace openlapi
