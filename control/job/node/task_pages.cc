#include "control/job/node/task_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include "control/client/own_task_page.h"
#include "dataplane/base/task_page.h"

namespace openlapi {

// The room is there before a task writes to its mapping, or the task would die of a full disk.
void TaskPages::make(const std::string& folder, std::size_t tasks) {
  tasks_ = tasks;
  path_ = folder + "/pages";
  file_.reset(open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  bool whole = file_.is_open() && posix_fallocate(file_.get(), 0, static_cast<off_t>(tasks * sizeof(TaskPage))) == 0;
  const std::uint32_t version = TaskPage::kVersion;
  for (std::size_t place = 0; whole && place < tasks; ++place)
    whole =
        pwrite(file_.get(), &version, sizeof version, static_cast<off_t>(place * sizeof(TaskPage))) == sizeof version;
  if (!whole) file_.reset();
}

std::string TaskPages::variable(std::size_t place) const {
  if (!file_.is_open()) return {};
  return std::string(kTaskPageVariable) + "=" + path_ + ":" + std::to_string(place);
}

// Read, not mapped: what a task does to the file must not end this process.
TaskPages::Words TaskPages::read(std::size_t place) const {
  Words words;
  alignas(TaskPage) std::byte bytes[sizeof(TaskPage)];
  if (!file_.is_open() ||
      pread(file_.get(), bytes, sizeof bytes, static_cast<off_t>(place * sizeof bytes)) != sizeof bytes)
    return words;
  const auto& page = *reinterpret_cast<const TaskPage*>(bytes);
  words.process = page.process;
  words.opened = page.opened;
  words.open = page.open;
  words.polled = page.polled;
  for (const TaskPage::Wait& wait : page.waits)
    if (wait.call != 0) words.waits.push_back({wait.call, wait.since, wait.first, wait.second});
  return words;
}

bool TaskPages::somebody_is_through() const {
  for (std::size_t place = 0; place < tasks_; ++place) {
    if (read(place).opened != 0) return true;
  }
  return false;
}

}  // namespace openlapi
