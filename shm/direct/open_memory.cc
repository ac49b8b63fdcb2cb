#include "shm/direct/open_memory.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/signals_off.h"
#include "shm/direct/data_segments.h"
#include "shm/direct/mapping_in_place.h"

namespace openlapi::direct {
namespace {

constexpr std::uint32_t kOwnThreads = 2;

constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + shm::kPage - 1) / shm::kPage * shm::kPage; }

// The object, then the two stacks, each above a page that nobody may touch, and room for a chunk.
constexpr std::uint64_t kStackRoom = shm::kPage + PrivateThread::kStackSize;
constexpr std::uint64_t object_size() { return whole_pages(sizeof(OpenMemory)); }
constexpr std::uint64_t own_size() { return object_size() + kOwnThreads * kStackRoom + Promoter::kChunk; }

AddressRange stack_of(const AddressRange& own, std::uint32_t thread) {
  const std::uint64_t guard = own.begin + object_size() + thread * kStackRoom;
  return {guard + shm::kPage, guard + kStackRoom};
}
AddressRange room_of(const AddressRange& own) { return {own.end - Promoter::kChunk, own.end}; }

}  // namespace

OpenMemory* OpenMemory::the_one = nullptr;
std::mutex OpenMemory::coming_and_going;
std::uint64_t OpenMemory::next_place_beside_heap = 2 * kHeapPlace;

OpenMemory::OpenMemory(const AddressRange& own, const Plan& plan, ControlMemory control, DirectFile file)
    : own_(own),
      plan_(plan),
      control_(std::move(control)),
      file_(std::move(file)),
      gate_(control_),
      table_(control_.header()),
      monitor_(file_, table_, gate_),
      promoter_(file_, table_, gate_, {kept_, mappings_, most_mappings(), room_of(own)}, monitor_.events()) {
  kept_.add(own.begin, own.end);
  control_.header().file_descriptor.store(file_.descriptor());
  if (plan_.heap != nullptr) open_heap();
}

// All of its window, also what of it the program has not asked for yet.
void OpenMemory::open_heap() {
  const auto lock = table_.lock();
  table_.add({plan_.heap->begin, plan_.heap->end, kHeapPlace});
  control_.header().heap_size.store(plan_.heap->end - plan_.heap->begin);
}

OpenMemory::Pointer OpenMemory::start(const Plan& plan, std::string& reason) {
  static const int handlers = pthread_atfork(before_fork, after_fork, in_child);
  if (handlers != 0) {
    reason = std::string("no handlers of fork: ") + std::strerror(handlers);
    return nullptr;
  }
  const CancellationOff not_cancelled;
  const SignalsOff no_signals;
  const std::lock_guard no_fork(coming_and_going);
  if (!make(plan, reason)) return nullptr;
  if (!the_one->start_threads(reason)) {
    end();
    return nullptr;
  }
  the_one->gate_.open();
  return Pointer(the_one);
}

DirectFile OpenMemory::make_file(const Plan& plan, std::string& reason) {
  return plan.heap == nullptr ? DirectFile::create(reason)
                              : DirectFile::adopt(plan.heap->file, next_place_beside_heap, reason);
}

bool OpenMemory::make(const Plan& plan, std::string& reason) {
  const auto refuse = [&](const char* what, int error) {
    reason = std::string(what) + ": " + std::strerror(error);
    return false;
  };
  if (the_one != nullptr) return refuse("direct access of this process", EBUSY);
  if (sysconf(_SC_PAGESIZE) != static_cast<long>(shm::kPage)) return refuse("pages are not of 4 KiB", ENOTSUP);
  ControlMemory control = ControlMemory::create(plan.accessors, reason);
  if (!control.valid()) return false;
  DirectFile file = make_file(plan, reason);
  if (!file.valid()) return false;
  void* const own = mmap(nullptr, own_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return refuse("no memory for direct access", errno);
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(own);
  const AddressRange range = {begin, begin + own_size()};
  for (std::uint32_t thread = 0; thread < kOwnThreads; ++thread) {
    mprotect(pointer_to(stack_of(range, thread).begin - shm::kPage), shm::kPage, PROT_NONE);
  }
  the_one = new (own) OpenMemory(range, plan, std::move(control), std::move(file));
  return true;
}

bool OpenMemory::start_threads(std::string& reason) {
  const auto body = [](void* self) -> void* {
    static_cast<OpenMemory*>(self)->run_promotions();
    return nullptr;
  };
  if (!mappings_.is_open()) {
    reason = std::string("/proc/self/maps cannot be read: ") + std::strerror(errno);
    return false;
  }
  if (!plan_.promotes) return true;
  if (!promoter_.start(reason) || !monitor_.start(stack_of(own_, 0), reason)) return false;
  if (!thread_.start(stack_of(own_, 1), "lapi-promotion", body, this)) {
    reason = std::string("no thread to promote memory: ") + std::strerror(errno);
    return false;
  }
  adapters_.begin(*this);
  return true;
}

// No events tell of the heap.
bool OpenMemory::follows(std::uint64_t begin, std::uint64_t end) {
  const auto lock = table_.lock();
  const bool in_heap = plan_.heap != nullptr && begin < plan_.heap->end && end > plan_.heap->begin;
  return !in_heap && table_.has_all(begin, end);
}

// Promoted memory becomes private before its events go unread. The heap stays in its file for the next one, unless
// somebody may still store there.
OpenMemory::~OpenMemory() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  adapters_.end(*this);
  const bool all_have_left = gate_.try_close();
  take_back(all_have_left ? Bytes::kOfFile : Bytes::kCopied, !all_have_left);
  monitor_.stop();
}

void OpenMemory::Stop::operator()(OpenMemory* memory) const {
  const CancellationOff not_cancelled;
  const SignalsOff no_signals;
  const std::lock_guard no_fork(coming_and_going);
  if (the_one == memory) end();  // not in a child of a fork, which has given it up
}

void OpenMemory::end() {
  const AddressRange own = the_one->own_;
  if (the_one->has_heap()) next_place_beside_heap = the_one->file_.next_place();
  the_one->~OpenMemory();
  the_one = nullptr;
  munmap(pointer_to(own.begin), own.end - own.begin);
}

void OpenMemory::run_promotions() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return wanted_ != 0 || stop_; });
    if (stop_) return;
    answer_ = promoter_.promote(wanted_);
    wanted_ = 0;
    changed_.notify_all();
  }
}

Refusal OpenMemory::promote(std::uint64_t address) {
  const CancellationOff not_cancelled;
  const SignalsOff no_signals;
  const std::lock_guard one_at_a_time(promoting_);
  if (!plan_.promotes) return Refusal::kNever;
  if (!promotes_anytime() && count_threads() != kOwnThreads + 1) return Refusal::kOtherThreads;
  if (address == 0) return Refusal::kNotMapped;
  if (!file_.valid()) begin_new_file();
  std::unique_lock lock(mutex_);
  wanted_ = address;
  changed_.notify_all();
  changed_.wait(lock, [this] { return wanted_ == 0; });
  return answer_;
}

// What fork() finds locked it waits for, also in a signal handler of this thread.
bool OpenMemory::is_open(std::uint64_t address) {
  const SignalsOff no_signals;
  const auto lock = table_.lock();
  return table_.has(address);
}

Refusal OpenMemory::promote_data_segments() {
  const CancellationOff not_cancelled;
  const SignalsOff no_signals;
  const std::lock_guard one_at_a_time(promoting_);
  return promoter_.promote_data_segments(data_segments());
}

void OpenMemory::make_private(const Mapping& mapping, Bytes bytes) {
  const AddressRange range = {mapping.begin, mapping.end};
  const int rights = rights_of(mapping);
  if (plan_.promotes) monitor_.events().unwatch(range.begin, range.end);
  if (bytes == Bytes::kOfFile) {
    map_in_place(range, rights, MAP_PRIVATE, file_.descriptor(), mapping.offset);
  } else {
    copy_in_place(range, rights, file_.descriptor(), mapping.offset);
  }
}

// The gate is closed. Nothing is copied where nobody has the file's bytes any more, and children of a fork have it as
// any private memory. Adapters that are at it are not waited for: what they write is lost, and has to be written again.
void OpenMemory::take_back(Bytes bytes, bool heap_too) {
  AdapterMemory::Change change(adapters_);
  const auto lock = table_.lock();
  if (!file_.valid()) return;
  each_mapping_of(file_.descriptor(), mappings_, [&](const Mapping& mapping) {
    const bool is_heap = plan_.heap != nullptr && mapping.offset >= kHeapPlace && mapping.offset < 2 * kHeapPlace;
    if (is_heap) return;  // its own library knows about it
    change.tell(mapping.begin, mapping.end);
    make_private(mapping, bytes);
  });
  if (plan_.heap != nullptr && heap_too) {
    change.tell(plan_.heap->begin, plan_.heap->end);
    plan_.heap->make_private(bytes == Bytes::kCopied);
  }
  table_.drop(0, UINT64_MAX, [](std::uint64_t, std::uint64_t) {});
}

void OpenMemory::end_visits(std::uint32_t accessor) {
  if (!gate_.close_to(accessor)) {
    gate_.await_others(accessor);  // the caller's signals come meanwhile
    give_up_file(accessor);
  }
  gate_.open();
}

// The gate is closed, and nobody else is inside.
void OpenMemory::give_up_file(std::uint32_t accessor) {
  const CancellationOff not_cancelled;
  const SignalsOff no_signals;
  const std::lock_guard one_at_a_time(promoting_);
  if (!file_.valid()) return;
  gate_.shut();  // until the new file is there
  take_back(Bytes::kCopied, true);
  gate_.leave_behind(accessor);
  begin_new_file();
}

// The old one lives as long as somebody maps it, and nothing of it may change any more. Its descriptor is free for the
// new one. Without one the gate stays closed; the next promotion tries again.
void OpenMemory::begin_new_file() {
  std::string reason;
  file_ = DirectFile();
  file_ = DirectFile::create(reason);
  control_.header().heap_size.store(0);
  control_.header().file_descriptor.store(file_.descriptor());
  control_.header().file.fetch_add(1);
  if (file_.valid()) gate_.open();
}

// A mutex may be unlocked in the child by the thread that has locked it.
void OpenMemory::before_fork() {
  coming_and_going.lock();
  if (the_one == nullptr) return;
  the_one->promoting_.lock();
  the_one->prepare_child();
}

// Whoever is inside is waited for, however long: the child runs in this memory at once, so it needs all of it, and what
// a neighbour puts must not be lost.
void OpenMemory::prepare_child() {
  if (!file_.valid()) return;
  gate_.close();
  take_back(Bytes::kOfFile, true);
}

void OpenMemory::after_fork() {
  if (the_one != nullptr) {
    the_one->begin_new_file();
    the_one->promoting_.unlock();
  }
  coming_and_going.unlock();
}

// The child has neither threads nor the control memory; what the object holds otherwise goes with its memory.
void OpenMemory::in_child() {
  OpenMemory* const memory = std::exchange(the_one, nullptr);
  if (memory != nullptr) memory->leave_child();
  coming_and_going.unlock();
}

void OpenMemory::leave_child() {
  monitor_.close();
  promoter_.close();
  mappings_.close();
  file_ = DirectFile();
  control_.leave_child();
}

}  // namespace openlapi::direct
