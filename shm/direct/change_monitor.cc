#include "shm/direct/change_monitor.h"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace openlapi::direct {

bool ChangeMonitor::start(const AddressRange& stack, std::string& reason) {
  events_ = Userfault::open(
      UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_PAGEFAULT_FLAG_WP,
      reason);
  if (!events_.is_open()) return false;
  stop_.reset(eventfd(0, EFD_CLOEXEC));
  const auto body = [](void* self) -> void* {
    static_cast<ChangeMonitor*>(self)->run();
    return nullptr;
  };
  if (stop_.is_open() && thread_.start(stack, "lapi-changes", body, this)) return true;
  reason = std::string("no thread to read what happens to memory: ") + std::strerror(errno);
  return false;
}

void ChangeMonitor::stop() {
  if (stop_.is_open()) eventfd_write(stop_.get(), 1);
  thread_.join();
}

void ChangeMonitor::close() {
  events_.close();
  stop_.reset();
}

void ChangeMonitor::run() {
  pollfd ready[] = {{events_.descriptor(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    if (poll(ready, 2, -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    gate_.shut();
    read_events();
    gate_.open();
  }
}

// The table is locked before the thread that waits is let go: it may map other memory at the same addresses at once,
// and have it promoted.
void ChangeMonitor::read_events() {
  AdapterMemory::Change change(adapters_);
  const auto lock = table_.lock();
  uffd_msg event;
  while (read(events_.descriptor(), &event, sizeof event) == static_cast<ssize_t>(sizeof event)) take(event, change);
}

// Of unmapped memory the bytes are given back. What is moved has them still: it is opened anew where it is now, when it
// is asked for. What is removed (MADV_REMOVE) stays open.
void ChangeMonitor::take(const uffd_msg& event, AdapterMemory::Change& change) {
  const auto& removed = event.arg.remove;
  const auto& moved = event.arg.remap;
  if (event.event == UFFD_EVENT_UNMAP || event.event == UFFD_EVENT_REMOVE) change.tell(removed.start, removed.end);
  if (event.event == UFFD_EVENT_UNMAP) {
    table_.drop(removed.start, removed.end,
                [this](std::uint64_t offset, std::uint64_t length) { file_.discard(offset, length); });
  } else if (event.event == UFFD_EVENT_REMAP) {
    for (const std::uint64_t begin : {std::uint64_t{moved.from}, std::uint64_t{moved.to}}) {
      change.tell(begin, begin + moved.len);
      table_.drop(begin, begin + moved.len, [](std::uint64_t, std::uint64_t) {});
    }
  }
}

}  // namespace openlapi::direct
