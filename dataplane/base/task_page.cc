#include "dataplane/base/task_page.h"

#include <unistd.h>

#include "dataplane/base/monotonic_clock.h"

namespace openlapi {
namespace {

// What is written while a wait takes its place; no call's number.
constexpr std::uint32_t kTaken = UINT32_MAX;

std::atomic<TaskPage*> own_page{nullptr};

// Null also in a child that was forked: the page is its parent's.
TaskPage* page_of_this_process() {
  TaskPage* page = own_page.load(std::memory_order_acquire);
  const bool own =
      page != nullptr && page->process.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(getpid());
  return own ? page : nullptr;
}

}  // namespace

std::uint32_t monotonic_seconds() { return static_cast<std::uint32_t>(system_monotonic_time() / kSecond); }

void take_task_page(TaskPage& page) {
  for (TaskPage::Wait& wait : page.waits) wait.call.store(0, std::memory_order_relaxed);
  page.opened.store(0, std::memory_order_relaxed);
  page.open.store(0, std::memory_order_relaxed);
  page.polled.store(0, std::memory_order_relaxed);
  page.process.store(static_cast<std::uint32_t>(getpid()), std::memory_order_release);
  own_page.store(&page, std::memory_order_release);
}

bool has_task_page() { return own_page.load(std::memory_order_acquire) != nullptr; }

void count_opened_context() {
  if (TaskPage* page = page_of_this_process()) {
    page->open.fetch_add(1, std::memory_order_relaxed);
    page->opened.fetch_add(1, std::memory_order_relaxed);
  }
}

void count_closed_context() {
  if (TaskPage* page = page_of_this_process()) page->open.fetch_sub(1, std::memory_order_relaxed);
}

void count_fruitless_polls() {
  if (TaskPage* page = own_page.load(std::memory_order_acquire)) {
    page->polled.store(monotonic_seconds(), std::memory_order_relaxed);
  }
}

void LongWait::note(const WaitedFor& what) {
  if (place_ == nullptr) {
    TaskPage* page = page_of_this_process();
    if (page == nullptr) return;
    for (TaskPage::Wait& wait : page->waits) {
      std::uint32_t free = 0;
      if (!wait.call.compare_exchange_strong(free, kTaken, std::memory_order_relaxed)) continue;
      wait.since.store(monotonic_seconds(), std::memory_order_relaxed);
      place_ = &wait;
      break;
    }
    if (place_ == nullptr) return;
  }
  place_->first.store(what.first, std::memory_order_relaxed);
  place_->second.store(what.second, std::memory_order_relaxed);
  place_->call.store(static_cast<std::uint32_t>(what.call), std::memory_order_release);
}

}  // namespace openlapi
