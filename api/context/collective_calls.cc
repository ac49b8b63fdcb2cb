#include "api/context/collective_calls.h"

#include "api/context/context.h"
#include "dataplane/sync/collectives.h"
#include "dataplane/sync/fences.h"

namespace openlapi {

namespace {

// How long a task that has all it needs of a call waits for the others to have what they need of it. What they do not
// have by then is left to upkeep.
constexpr Nanoseconds kLeaveAtMost = kSecond;

}  // namespace

// Of a thread that is cancelled in it the context does the rest (tend()).
class CollectiveCalls::Turn {
 public:
  Turn(CollectiveCalls& calls, const Owed& call) : calls_(calls), call_(call) {
    // No memory is needed when the thread is cancelled.
    calls_.owed_.reserve(calls_.owed_.size() + calls_.calls_ + 1);
    ++calls_.calls_;
    calls_.context().pin();
  }
  ~Turn() {
    if (begun_) {
      ended_ ? calls_.end() : calls_.abandon();
    } else if (!ended_) {
      calls_.owe(call_);
    }
    --calls_.calls_;
    calls_.context().unpin();
  }
  void begin() { begun_ = calls_.busy_ = true; }
  void end() { ended_ = true; }  // or it is not to begin
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  CollectiveCalls& calls_;
  const Owed call_;
  bool begun_ = false;
  bool ended_ = false;
};

void CollectiveCalls::begin() {
  busy_ = abandoned_ = false;
  owed_.clear();
}

int CollectiveCalls::call(std::optional<std::uint64_t> value, CollectiveState (*steps)(void*), void* object) {
  const lapi_handle_t mine = context().name();
  Owed call{value, {}};
  if (!value) call.fence = context().endpoint().fences().begin();
  Turn turn(*this, call);
  // The others count on this task's part, whatever has become of its messages.
  const WaitedCall name = value ? WaitedCall::address_init : WaitedCall::global_fence;
  const auto what = [name] { return WaitedFor{name}; };
  const int fenced = call.fence ? context().await_fence(*call.fence, name) : LAPI_SUCCESS;
  if (!turn_is_free()) context().wait_until([this] { return turn_is_free(); }, what);
  if (!context().is(mine)) {
    turn.end();
    return LAPI_ERR_HNDL_INVALID;
  }
  turn.begin();
  const CollectiveState state = steps(object);
  const bool open = !context().closing();
  // In polling mode others may still need what we sent in this call; upkeep would send it again only later.
  if (state == CollectiveState::done && open && context().polling_mode()) {
    const Nanoseconds until = context().now() + kLeaveAtMost;
    context().wait_until([&] { return context().endpoint().drained() || context().now() >= until; }, what);
  }
  turn.end();
  if (fenced != LAPI_SUCCESS) return fenced;
  if (state == CollectiveState::done) return LAPI_SUCCESS;
  if (state == CollectiveState::peer_purged) return LAPI_ERR_TGT_PURGED;
  return open ? LAPI_ERR_NO_CONNECTIVITY : LAPI_ERR_HNDL_INVALID;
}

CollectiveState CollectiveCalls::await(WaitedCall call) {
  Endpoint& endpoint = context().endpoint();
  CollectiveState state = endpoint.collectives().state();
  const auto ended = [&] {
    if (state == CollectiveState::pending) state = endpoint.collectives().state();
    return state != CollectiveState::pending;
  };
  context().wait_until(ended, [call] { return WaitedFor{call}; });
  return state;
}

void CollectiveCalls::end() {
  busy_ = abandoned_ = false;
  context().wake_sleepers();
}

// The other tasks count on this one: its part goes on without the thread.
void CollectiveCalls::abandon() {
  abandoned_ = true;
  context().call_attention();
  tend();
}

void CollectiveCalls::owe(const Owed& owed) {
  owed_.push_back(owed);
  context().call_attention();
  tend();
}

// False: none is owed, or it cannot begin yet.
bool CollectiveCalls::begin_owed() {
  if (busy_ || owed_.empty()) return false;
  Endpoint& endpoint = context().endpoint();
  const Owed owed = owed_.front();
  if (owed.fence && endpoint.fences().state(*owed.fence) == FenceState::pending) return false;
  owed_.erase(owed_.begin());
  busy_ = abandoned_ = true;
  owed.value ? endpoint.collectives().begin_exchange(*owed.value) : endpoint.collectives().begin_barrier();
  return true;
}

void CollectiveCalls::tend() {
  Endpoint& endpoint = context().endpoint();
  do {
    if (!abandoned_) continue;
    if (endpoint.collectives().state() == CollectiveState::filled) endpoint.collectives().confirm_exchange();
    if (endpoint.collectives().state() == CollectiveState::pending) return;
    end();
  } while (begin_owed());
}

}  // namespace openlapi
