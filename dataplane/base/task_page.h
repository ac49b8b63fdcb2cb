// Where a task is waiting, for a launcher that has to say why a job hangs: a page in a file that both have mapped
// (control/job/node/task_pages.h). Only calls that have waited for long write to it, so other calls pay nothing. Tasks
// of other launchers have no page.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace openlapi {

enum class WaitedCall : std::uint32_t {
  none,
  init,
  exchange,  // the part of LAPI_Init in which all tasks wait for each other
  term,
  wait_for_counter,
  nopoll_wait,
  fence,
  global_fence,
  address_init,
  condition,  // of the shared lock
  put,
  get,
  read_modify_write,
  message,
  // The same with data in pieces.
  put_of_pieces,
  get_of_pieces,
  message_of_pieces,
};

struct WaitedFor {
  WaitedCall call = WaitedCall::none;
  std::int32_t first = -1;   // of a wait for a counter: its value; of fences and transfers: a task or -1
  std::int32_t second = -1;  // of a wait for a counter: the value it has to reach
};

// The same for 32-bit and 64-bit tasks. Times are seconds of CLOCK_MONOTONIC.
struct TaskPage {
  struct Wait {
    std::atomic<std::uint32_t> call;  // WaitedCall, none: free. Written last; pairs with the launcher's first look.
    std::atomic<std::uint32_t> since;
    std::atomic<std::int32_t> first;
    std::atomic<std::int32_t> second;
  };
  static constexpr std::uint32_t kVersion = 1;

  std::uint32_t version;
  std::atomic<std::uint32_t> process;  // whose page it is; 0: nobody has called LAPI_Init
  std::atomic<std::uint32_t> opened;   // contexts so far
  std::atomic<std::uint32_t> open;     // contexts now
  std::atomic<std::uint32_t> polled;  // when LAPI_Probe or LAPI_Msgpoll has last found nothing for many times; 0: never
  std::uint32_t unused[3];
  Wait waits[14];  // for as many threads; others are not shown
};
static_assert(sizeof(TaskPage) == 256 && std::is_standard_layout_v<TaskPage>);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// This process takes the page and keeps it to its end. Not thread-safe.
void take_task_page(TaskPage& page);
bool has_task_page();
// A context of this process was opened or closed.
void count_opened_context();
void count_closed_context();
void count_fruitless_polls();

// One wait of a thread, which is shown in the page from its first note() on.
class LongWait {
 public:
  LongWait() = default;
  explicit LongWait(const WaitedFor& what) { note(what); }
  ~LongWait() {
    if (place_ != nullptr) place_->call.store(0, std::memory_order_relaxed);
  }
  LongWait(const LongWait&) = delete;
  LongWait& operator=(const LongWait&) = delete;

  // The thread has waited for long; called again: it still waits.
  void note(const WaitedFor& what);

 private:
  TaskPage::Wait* place_ = nullptr;
};

// In the form in which launchers record times.
std::uint32_t monotonic_seconds();

}  // namespace openlapi
