#include "nic/verbs/memory_monitor.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "dataplane/base/adapter_memory.h"
#include "dataplane/base/cancellation.h"
#include "dataplane/base/signals_off.h"
#include "nic/verbs/memory_kind.h"
#include "nic/verbs/watched_ranges.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint64_t kFeatures =
    UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
// UFFD_FEATURE_WP_ASYNC, Linux 6.7: mappings of files can be watched in write-protect mode, too.
constexpr std::uint64_t kWithFiles = 1u << 15;

// The kernel refuses features that it does not know.
bool agree_on_features(int events) {
  for (const std::uint64_t features : {kFeatures | kWithFiles, kFeatures}) {
    uffdio_api wanted{};
    wanted.api = UFFD_API;
    wanted.features = features;
    if (ioctl(events, UFFDIO_API, &wanted) == 0) return true;
  }
  return false;
}

class UserfaultMonitor final : public MemoryMonitor, private AdapterMemory::Watcher {
 public:
  ~UserfaultMonitor() override;

  // Once. False: `reason` says why.
  bool start(std::string& reason);

  const MemoryChanges& changes() const override { return changes_; }
  PageRange watch(std::uint64_t begin, std::uint64_t end) override;
  void unwatch(const PageRange& range) noexcept override;
  bool settled() override;

 private:
  void hand_over(std::uint64_t begin, std::uint64_t end) override;
  bool register_pages(std::uint64_t begin, std::uint64_t end);
  bool register_part(const PageRange& part);
  bool try_pages(const PageRange& range, const std::vector<PageRange>& parts);
  void release_around(const PageRange& range);
  void release_unused(const PageRange& range);
  void release(std::uint64_t begin, std::uint64_t end);
  void take_changes();
  void run();
  void note(const uffd_msg& event);

  MemoryChanges changes_;
  pid_t owner_ = getpid();
  int events_ = -1;
  int stop_ = -1;
  void* own_page_ = MAP_FAILED;  // watched, never changed: what settled() asks about
  std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::thread reader_;
  AdapterMemory& memory_ = AdapterMemory::of_process();
  const FileIdentity program_ = program_file();
  std::mutex mutex_;  // of what follows; the reader never takes it
  WatchedRanges watched_;
  MemoryChanges::Reader own_changes_{changes_};
  MemoryChanges::Reader moves_{memory_.changes()};
};

UserfaultMonitor::~UserfaultMonitor() {
  if (getpid() == owner_) memory_.end(*this);
  if (reader_.joinable() && getpid() == owner_) {
    const std::uint64_t one = 1;
    if (write(stop_, &one, sizeof one) == sizeof one) reader_.join();
  }
  if (reader_.joinable()) reader_.detach();  // a forked child has the object, but not the thread
  // Not watched any more before it goes: nobody would read the event.
  if (events_ >= 0) close(events_);
  if (own_page_ != MAP_FAILED) munmap(own_page_, page_);
  if (stop_ >= 0) close(stop_);
}

bool UserfaultMonitor::start(std::string& reason) {
  const auto refuse = [&](const char* what) {
    reason = std::string(what) + ": " + std::strerror(errno);
    return false;
  };
  constexpr int kFlags = O_CLOEXEC | O_NONBLOCK;
  events_ = static_cast<int>(syscall(SYS_userfaultfd, kFlags | UFFD_USER_MODE_ONLY));
  if (events_ < 0 && errno == EINVAL) events_ = static_cast<int>(syscall(SYS_userfaultfd, kFlags));
  if (events_ < 0) return refuse("userfaultfd");
  if (!agree_on_features(events_)) return refuse("userfaultfd does not tell of unmapped memory");
  own_page_ = mmap(nullptr, page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto address = reinterpret_cast<std::uintptr_t>(own_page_);
  if (own_page_ == MAP_FAILED || !register_pages(address, address + page_)) {
    return refuse("userfaultfd refuses to watch memory");
  }
  stop_ = eventfd(0, EFD_CLOEXEC);
  if (stop_ < 0) return refuse("eventfd");
  // The thread takes none of the process's signals.
  const SignalsOff no_signals;
  try {
    reader_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    errno = error.code().value();
  }
  if (!reader_.joinable()) return refuse("no thread to read events");
  memory_.begin(*this);
  return true;
}

bool UserfaultMonitor::register_pages(std::uint64_t begin, std::uint64_t end) {
  uffdio_register request{};
  request.range = {.start = begin, .len = end - begin};
  request.mode = UFFDIO_REGISTER_MODE_WP;
  return ioctl(events_, UFFDIO_REGISTER, &request) == 0;
}

// The kind is asked for first, since some mappings stay split once a part of them was watched, and of SysV segments the
// number of attachments shows it. Whoever may use this memory does not let it become another kind meanwhile.
PageRange UserfaultMonitor::watch(std::uint64_t begin, std::uint64_t end) {
  const CancellationOff off;
  if (getpid() != owner_) return {};
  const std::lock_guard guard(mutex_);
  try {
    take_changes();
    const PageRange range{begin, end};
    const WatchableMemoryScan scan = scan_memory(range, program_, memory_);
    return scan.covered() && try_pages(range, scan.unfollowed()) ? range : PageRange{};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

// Recorded before it is registered, since there may be no memory for the record. Of what others follow it is recorded
// that it is not here. What they take over meanwhile is refused (EBUSY), or told of.
bool UserfaultMonitor::try_pages(const PageRange& range, const std::vector<PageRange>& parts) {
  watched_.add(range.begin, range.end);
  try {
    for (const PageRange& part : parts) watched_.divide(part.begin, part.end);
  } catch (const std::bad_alloc&) {
    watched_.remove(range.begin, range.end, [](std::uint64_t, std::uint64_t) {});
    return false;
  }
  bool begun = false;
  for (const PageRange& part : parts) {
    if (register_part(part)) {
      watched_.arrive(part.begin, part.end);
      begun = true;
      continue;
    }
    begun = begun || errno == ENOMEM;  // too many mappings; other refusals come before the kernel begins
    watched_.remove(range.begin, range.end, [](std::uint64_t, std::uint64_t) {});
    if (begun) release_around(range);
    return false;
  }
  return true;
}

// Not between the end of a watch and the next owner's beginning: that would be refused.
bool UserfaultMonitor::register_part(const PageRange& part) {
  const AdapterMemory::Still still(memory_);
  return register_pages(part.begin, part.end);
}

// The descriptor of a forked child would stop the watch in its parent. Destructors call this: where there is no memory
// to divide a record, the range stays recorded and watched.
void UserfaultMonitor::unwatch(const PageRange& range) noexcept {
  const CancellationOff off;
  if (getpid() != owner_) return;
  const std::lock_guard guard(mutex_);
  try {
    take_changes();
    bool ended = false;
    watched_.remove(range.begin, range.end, [&](std::uint64_t, std::uint64_t) { ended = true; });
    if (ended) release_around(range);
  } catch (const std::bad_alloc&) {
  }
}

// Whether memory is watched is a property of its mapping, and what a mapping gains, it has in all of it: one that grows
// in place is watched in its new part, without an event, and one that moves is watched at its new place. So all of the
// mappings that are at these addresses now is released, not only what was once asked for; otherwise they would stay
// divided, and mremap() moves only whole ones. Memory that has moved to addresses that nobody uses stays watched, in
// one mapping, until it is unmapped.
void UserfaultMonitor::release_around(const PageRange& range) {
  const AdapterMemory::Still still(memory_);  // nobody protects some of it in between, to move it
  const bool known = each_mapping([&](const Mapping& mapping) {
    if (mapping.begin >= range.end) return false;
    if (mapping.end > range.begin && is_watchable(mapping, program_)) release_unused({mapping.begin, mapping.end});
    return true;
  });
  if (!known) release_unused(range);  // no descriptor is left to read the list with
}

// These addresses may have become other memory that another library of the process watches: a thread may be inside
// munmap() with its event unread, and of an overflow of the log we know nothing. Kernels before 6.15 stop that
// library's watch, too. So the memory is registered first, which the kernel refuses as a whole (EBUSY) where some of it
// is watched by others, and which changes nothing of what is ours. What is left is the time between the two calls: in
// it one thread must unmap this memory, and another map some there and watch it.
void UserfaultMonitor::release_unused(const PageRange& range) {
  watched_.each_unused(range.begin, range.end, [&](std::uint64_t from, std::uint64_t to) { release(from, to); });
}

void UserfaultMonitor::release(std::uint64_t begin, std::uint64_t end) {
  if (!register_pages(begin, end) && errno != ENOMEM) return;
  uffdio_range pages{.start = begin, .len = end - begin};
  ioctl(events_, UFFDIO_UNREGISTER, &pages);
}

// Its users learn from the log that it is gone.
void UserfaultMonitor::hand_over(std::uint64_t begin, std::uint64_t end) { release(begin, end); }

void UserfaultMonitor::take_changes() {
  const auto wait = [] { sched_yield(); };
  const auto changed = [&](std::uint64_t begin, std::uint64_t end, bool gone) {
    if (gone) watched_.lose(begin, end);
  };
  if (own_changes_.behind()) own_changes_.take(wait, changed);
  if (moves_.behind()) moves_.take(wait, changed);
}

// To make a page writable that always was changes nothing, but the kernel refuses it while watched memory is changing.
bool UserfaultMonitor::settled() {
  uffdio_writeprotect request{};
  request.range = {.start = reinterpret_cast<std::uintptr_t>(own_page_), .len = page_};
  return (ioctl(events_, UFFDIO_WRITEPROTECT, &request) == 0 || errno != EAGAIN) && memory_.settled();
}

// Must neither allocate, nor free, nor take a lock: threads that do wait for it.
void UserfaultMonitor::run() {
  pthread_setname_np(pthread_self(), "lapi-memory");
  pollfd ready[] = {{events_, POLLIN, 0}, {stop_, POLLIN, 0}};
  for (;;) {
    if (poll(ready, 2, -1) < 0 && errno != EINTR) break;
    if (ready[1].revents != 0) break;
    changes_.begin_round();
    uffd_msg event;
    while (read(events_, &event, sizeof event) == static_cast<ssize_t>(sizeof event)) note(event);
    changes_.finish_round();
  }
}

void UserfaultMonitor::note(const uffd_msg& event) {
  if (event.event == UFFD_EVENT_UNMAP || event.event == UFFD_EVENT_REMOVE) {
    changes_.add(event.arg.remove.start, event.arg.remove.end, event.event == UFFD_EVENT_UNMAP);
  } else if (event.event == UFFD_EVENT_REMAP) {  // with MREMAP_DONTUNMAP both mappings are there, and watched
    changes_.add(event.arg.remap.from, event.arg.remap.from + event.arg.remap.len, false);
    changes_.add(event.arg.remap.to, event.arg.remap.to + event.arg.remap.len, false);
  }
}

}  // namespace

std::shared_ptr<MemoryMonitor> process_memory_monitor(std::string& reason) {
  static std::mutex lock;
  static std::weak_ptr<MemoryMonitor> known;
  static pid_t owner = 0;  // a forked child needs one of its own
  const std::lock_guard guard(lock);
  if (auto monitor = known.lock(); monitor && owner == getpid()) return monitor;
  auto monitor = std::make_shared<UserfaultMonitor>();
  if (!monitor->start(reason)) return nullptr;
  known = monitor;
  owner = getpid();
  return monitor;
}

}  // namespace openlapi::verbs
