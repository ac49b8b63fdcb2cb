#include "control/client/adapter_events.h"

#include <pmix.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "control/client/adapter_board.h"
#include "control/client/adapter_event_info.h"
#include "dataplane/base/file_descriptor.h"
#include "dataplane/base/signals_off.h"

namespace openlapi {
namespace {

// An adapter that flaps is told of as often as this at most.
constexpr std::chrono::milliseconds kBetweenEvents{100};

// Of the process; its contexts come and go. libpmix calls in its own thread.
struct Events {
  std::mutex lock;  // of all but `changes`
  AdapterBoard board;
  std::set<int> sleepers;  // descriptors that are made readable by news
  bool is_telling = false;
  bool registered = false;
  pmix_proc_t self{};
  std::atomic<std::uint32_t> changes{0};
};

// Never destroyed: libpmix's thread lives as long as the process.
Events& events() {
  static Events* instance = new Events;
  return *instance;
}

void hear(const pmix_proc_t& source, const AdapterEvent& event) {
  Events& state = events();
  std::lock_guard held(state.lock);
  if (!PMIX_CHECK_NSPACE(source.nspace, state.self.nspace) || source.rank == state.self.rank) return;
  if (!state.board.hear(event)) return;
  state.changes.fetch_add(1, std::memory_order_release);
  const std::uint64_t one = 1;
  for (const int descriptor : state.sleepers) {
    // Only a full counter refuses, and then it is readable already.
    [[maybe_unused]] const ssize_t ignored = write(descriptor, &one, sizeof one);
  }
}

// In libpmix's thread.
void handler(std::size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t* infos, std::size_t count, pmix_info_t*,
             std::size_t, pmix_event_notification_cbfunc_fn_t done, void* context) {
  const std::optional<AdapterEvent> event = adapter_event_of(infos, count);
  if (event && source != nullptr) hear(*source, *event);
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, context);
}

std::optional<AdapterEvent> next_event() {
  Events& state = events();
  std::lock_guard held(state.lock);
  std::optional<AdapterEvent> event = state.board.take_news();
  state.is_telling = event.has_value();
  return event;
}

void tell_all() {
  while (const std::optional<AdapterEvent> event = next_event()) {
    AdapterEventInfo info(*event);
    // What is lost is a hint.
    PMIx_Notify_event(AdapterEvent::kCode, &events().self, PMIX_RANGE_NAMESPACE, info.data(), info.size(), nullptr,
                      nullptr);
    std::this_thread::sleep_for(kBetweenEvents);
  }
}

// Whoever asks may be in the middle of an operation and must not wait for the launcher. Such changes are rare: a thread
// lives only as long as there is something to tell. The program's signals are not for it.
bool start_telling() {
  const SignalsOff off;
  try {
    std::thread(tell_all).detach();
  } catch (...) {
    return false;  // the next change may find a thread
  }
  return true;
}

class AdapterEvents final : public AdapterSource {
 public:
  explicit AdapterEvents(FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {
    std::lock_guard held(events().lock);
    events().sleepers.insert(descriptor_.get());
  }
  ~AdapterEvents() override {
    std::lock_guard held(events().lock);
    events().sleepers.erase(descriptor_.get());
  }
  AdapterEvents(const AdapterEvents&) = delete;
  AdapterEvents& operator=(const AdapterEvents&) = delete;

  const char* name() const override { return "PMIx event"; }
  bool knows_all() const override { return false; }
  const std::atomic<std::uint32_t>& changes() const override { return events().changes; }
  bool read(std::vector<AdapterPlace>& places, std::uint32_t& seen) const override;
  int descriptor() const override { return descriptor_.get(); }
  bool drain() override {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t ignored = ::read(descriptor_.get(), &count, sizeof count);
    return true;
  }
  void report(std::span<const std::uint8_t>, std::span<const std::uint8_t>) override {
  }  // whose adapter it is is unknown
  void set_own(std::span<const std::uint8_t, 16> address, bool is_up) override;

 private:
  const FileDescriptor descriptor_;
};

bool AdapterEvents::read(std::vector<AdapterPlace>& places, std::uint32_t& seen) const {
  std::lock_guard held(events().lock);
  places.clear();
  for (const AdapterAddress& address : events().board.down()) {
    AdapterPlace place;
    place.length = static_cast<std::uint8_t>(address.size());
    place.address = address;
    places.push_back(place);
  }
  seen = events().changes.load(std::memory_order_relaxed);
  return true;
}

void AdapterEvents::set_own(std::span<const std::uint8_t, 16> address, bool is_up) {
  Events& state = events();
  std::lock_guard held(state.lock);
  AdapterAddress own;
  std::copy(address.begin(), address.end(), own.begin());
  if (!state.board.set_own(own, is_up) || state.is_telling) return;
  state.is_telling = start_telling();
}

// Answered some time later: LAPI_Init does not wait for it.
void register_handler(const PmixIdentity& identity) {
  static pmix_status_t code = AdapterEvent::kCode;
  {
    std::lock_guard held(events().lock);
    if (std::exchange(events().registered, true)) return;
    PMIX_LOAD_PROCID(&events().self, identity.name_space.c_str(), identity.rank);
  }
  PMIx_Register_event_handler(
      &code, 1, nullptr, 0, handler, [](pmix_status_t, std::size_t, void*) {}, nullptr);
}

}  // namespace

std::unique_ptr<AdapterSource> open_adapter_events(const PmixIdentity& identity) {
  FileDescriptor descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!descriptor.is_open()) return nullptr;
  register_handler(identity);
  return std::make_unique<AdapterEvents>(std::move(descriptor));
}

}  // namespace openlapi
