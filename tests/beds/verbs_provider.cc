#include "tests/beds/verbs_provider.h"

#include <dlfcn.h>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "dataplane/base/check.h"

namespace openlapi::test {
namespace {

// libibverbs's own function of this name.
template <typename Function>
Function* own(Function&, const char* name) {
  void* const found = dlvsym(RTLD_NEXT, name, "IBVERBS_1.1");
  OPENLAPI_CHECK(found != nullptr);
  return reinterpret_cast<Function*>(found);
}
#define OPENLAPI_OWN(function) own(function, #function)

struct QueuePairFacts {
  ibv_cq* sends = nullptr;
  ibv_cq* arrivals = nullptr;
  ibv_srq* shared = nullptr;
  bool withheld = false;  // its arrivals are
  bool told = false;      // that it is done with its last slot
};

// Each device counts its own.
using QueuePairName = std::pair<const ibv_context*, std::uint32_t>;

// What HeldEnds holds.
struct Gate {
  std::mutex mutex;
  std::condition_variable opened;
  bool closed = false;
  std::thread::id owner;
  std::size_t held = 0;
  std::size_t by_owner = 0;

  void pass() {
    std::unique_lock guard(mutex);
    if (!closed) return;
    if (std::this_thread::get_id() == owner) {
      ++by_owner;
      return;
    }
    ++held;
    opened.wait(guard, [this] { return !closed; });
    --held;
  }
};

Gate gate;

// Never destroyed: transports may be, after main().
struct Provider {
  std::recursive_mutex mutex;
  std::map<ibv_context*, ibv_context_ops> operations;   // the device's own
  std::map<QueuePairName, QueuePairFacts> queue_pairs;  // a later one of this number takes its place
  std::map<ibv_cq*, std::deque<ibv_wc>> completions;    // taken from the device, not polled yet
  std::map<QueuePairName, std::deque<ibv_wc>> withheld;
  std::map<ibv_context*, std::deque<ibv_qp*>> events;  // to be told
  std::map<ibv_qp*, int> unacknowledged;
  std::map<ibv_srq*, std::int64_t> slots;
  std::uint64_t swallowed = 0;
  std::uint64_t early_ends = 0;
};

Provider* begin_provider();

Provider& provider() {
  static Provider* const the_one = begin_provider();
  return *the_one;
}

// A thread that destroys a queue pair meanwhile (nic/verbs/slow_destruction.h) would leave the mutex locked in a child
// of a fork. The child's thread has another number, so that it could not unlock it either.
Provider* begin_provider() {
  pthread_atfork([] { provider().mutex.lock(); }, [] { provider().mutex.unlock(); },
                 [] { new (&provider().mutex) std::recursive_mutex; });
  return new Provider;
}

ProviderHabits habits_of_environment() {
  ProviderHabits habits;
  const char* const names = std::getenv("OPENLAPI_TEST_PROVIDER");
  std::istringstream words(names == nullptr ? "" : names);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "cleans_completions") habits.cleans_completions = true;
    if (word == "tells_last_request") habits.tells_last_request = true;
    if (word == "completes_late") habits.completes_late = true;
  }
  return habits;
}

QueuePairName name_of(const ibv_qp& queue_pair) { return {queue_pair.context, queue_pair.qp_num}; }

// All that the device has for this queue.
void gather(Provider& the, ibv_cq* queue) {
  const auto poll = the.operations.at(queue->context).poll_cq;
  ibv_wc one{};
  while (poll(queue, 1, &one) > 0) {
    const QueuePairName name{queue->context, one.qp_num};
    const auto known = the.queue_pairs.find(name);
    const bool late = known != the.queue_pairs.end() && known->second.withheld && known->second.arrivals == queue;
    (late ? the.withheld[name] : the.completions[queue]).push_back(one);
  }
}

void count_taken(Provider& the, ibv_cq* queue, const ibv_wc& completion) {
  const auto known = the.queue_pairs.find({queue->context, completion.qp_num});
  if (known == the.queue_pairs.end() || known->second.arrivals != queue) return;
  const auto slots = the.slots.find(known->second.shared);
  if (slots != the.slots.end()) --slots->second;
}

int poll_cq(ibv_cq* queue, int most, ibv_wc* completions) {
  Provider& the = provider();
  const std::lock_guard guard(the.mutex);
  gather(the, queue);
  std::deque<ibv_wc>& waiting = the.completions[queue];
  int count = 0;
  for (; count < most && !waiting.empty(); waiting.pop_front()) {
    count_taken(the, queue, waiting.front());
    completions[count++] = waiting.front();
  }
  return count;
}

int post_srq_recv(ibv_srq* shared, ibv_recv_wr* requests, ibv_recv_wr** refused) {
  Provider& the = provider();
  const std::lock_guard guard(the.mutex);
  *refused = nullptr;
  const int result = the.operations.at(shared->context).post_srq_recv(shared, requests, refused);
  for (const ibv_recv_wr* one = requests; one != nullptr && one != *refused; one = one->next) ++the.slots[shared];
  return result;
}

void clean(Provider& the, const QueuePairName& name) {
  const QueuePairFacts& facts = the.queue_pairs.at(name);
  const auto is_its_own = [&](const ibv_wc& one) { return one.qp_num == name.second; };
  gather(the, facts.sends);
  gather(the, facts.arrivals);
  std::erase_if(the.completions[facts.sends], is_its_own);
  const std::size_t arrived = std::erase_if(the.completions[facts.arrivals], is_its_own) + the.withheld[name].size();
  the.withheld.erase(name);
  if (facts.shared == nullptr) return;
  the.swallowed += arrived;
  the.slots[facts.shared] -= static_cast<std::int64_t>(arrived);
}

void enter_error_state(Provider& the, ibv_qp* queue_pair) {
  QueuePairFacts& facts = the.queue_pairs.at(name_of(*queue_pair));
  if (facts.shared == nullptr || !provider_habits.tells_last_request || facts.told) return;
  if (provider_habits.completes_late) {
    gather(the, facts.arrivals);
    facts.withheld = true;
    std::erase_if(the.completions[facts.arrivals], [&](const ibv_wc& one) {
      if (one.qp_num != queue_pair->qp_num) return false;
      the.withheld[name_of(*queue_pair)].push_back(one);
      return true;
    });
  }
  the.events[queue_pair->context].push_back(queue_pair);
}

void tell(Provider& the, ibv_qp* queue_pair) {
  QueuePairFacts& facts = the.queue_pairs.at(name_of(*queue_pair));
  gather(the, facts.arrivals);
  for (const ibv_wc& one : the.withheld[name_of(*queue_pair)]) the.completions[facts.arrivals].push_back(one);
  the.withheld.erase(name_of(*queue_pair));
  facts.withheld = false;
  facts.told = true;
  ++the.unacknowledged[queue_pair];
}

}  // namespace

ProviderHabits provider_habits = habits_of_environment();

std::vector<ibv_wc> waiting_completions(ibv_cq& queue) {
  Provider& the = provider();
  const std::lock_guard guard(the.mutex);
  gather(the, &queue);
  return {the.completions[&queue].begin(), the.completions[&queue].end()};
}

std::int64_t slots_of_adapter(const ibv_context& context) {
  Provider& the = provider();
  const std::lock_guard guard(the.mutex);
  std::int64_t sum = 0;
  for (const auto& [shared, slots] : the.slots) sum += shared->context == &context ? slots : 0;
  return sum;
}

HeldEnds::HeldEnds() {
  const std::lock_guard guard(gate.mutex);
  gate.closed = true;
  gate.owner = std::this_thread::get_id();
  gate.by_owner = 0;
}

HeldEnds::~HeldEnds() {
  const std::lock_guard guard(gate.mutex);
  gate.closed = false;
  gate.opened.notify_all();
}

std::size_t HeldEnds::held() const {
  const std::lock_guard guard(gate.mutex);
  return gate.held;
}

std::size_t HeldEnds::by_its_own_thread() const {
  const std::lock_guard guard(gate.mutex);
  return gate.by_owner;
}

std::uint64_t swallowed_slots() { return provider().swallowed; }
std::uint64_t early_ends() { return provider().early_ends; }

}  // namespace openlapi::test

// ---- what is taken over of libibverbs ----

using namespace openlapi::test;  // NOLINT: the functions are C's

extern "C" {

ibv_context* ibv_open_device(ibv_device* device) {
  ibv_context* const context = OPENLAPI_OWN(ibv_open_device)(device);
  if (context == nullptr) return nullptr;
  Provider& the = provider();
  const std::lock_guard guard(the.mutex);
  the.operations[context] = context->ops;
  context->ops.poll_cq = poll_cq;
  context->ops.post_srq_recv = post_srq_recv;
  return context;
}

int ibv_close_device(ibv_context* context) {
  Provider& the = provider();
  const std::lock_guard guard(the.mutex);
  the.operations.erase(context);
  the.events.erase(context);
  return OPENLAPI_OWN(ibv_close_device)(context);
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  ibv_qp* const made = OPENLAPI_OWN(ibv_create_qp)(domain, wanted);
  if (made == nullptr) return nullptr;
  Provider& the = provider();
  const std::lock_guard guard(the.mutex);
  the.queue_pairs[name_of(*made)] = {.sends = made->send_cq, .arrivals = made->recv_cq, .shared = made->srq};
  return made;
}

int ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) {
  const int result = OPENLAPI_OWN(ibv_modify_qp)(queue_pair, attributes, mask);
  if (result != 0 || (mask & IBV_QP_STATE) == 0) return result;
  Provider& the = provider();
  const std::lock_guard guard(the.mutex);
  if (attributes->qp_state == IBV_QPS_ERR) enter_error_state(the, queue_pair);
  if (attributes->qp_state == IBV_QPS_RESET && provider_habits.cleans_completions) clean(the, name_of(*queue_pair));
  return result;
}

int ibv_destroy_qp(ibv_qp* queue_pair) {
  gate.pass();
  Provider& the = provider();
  const std::lock_guard guard(the.mutex);
  OPENLAPI_CHECK(the.unacknowledged[queue_pair] == 0);  // libibverbs waits for ever
  const QueuePairName name = name_of(*queue_pair);
  ibv_context* const context = queue_pair->context;
  const int result = OPENLAPI_OWN(ibv_destroy_qp)(queue_pair);
  if (result != 0) return result;
  const QueuePairFacts& facts = the.queue_pairs.at(name);
  the.early_ends += facts.shared != nullptr && provider_habits.tells_last_request && !facts.told;
  std::erase(the.events[context], queue_pair);
  if (provider_habits.cleans_completions) clean(the, name);
  return 0;
}

int ibv_destroy_srq(ibv_srq* shared) {
  Provider& the = provider();
  const std::lock_guard guard(the.mutex);
  const int result = OPENLAPI_OWN(ibv_destroy_srq)(shared);
  if (result == 0) the.slots.erase(shared);
  return result;
}

int ibv_destroy_cq(ibv_cq* queue) {
  Provider& the = provider();
  const std::lock_guard guard(the.mutex);
  const int result = OPENLAPI_OWN(ibv_destroy_cq)(queue);
  if (result == 0) the.completions.erase(queue);
  return result;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  Provider& the = provider();
  {
    const std::lock_guard guard(the.mutex);
    std::deque<ibv_qp*>& events = the.events[context];
    if (!events.empty() && !provider_habits.holds_events) {
      event->event_type = IBV_EVENT_QP_LAST_WQE_REACHED;
      event->element.qp = events.front();
      tell(the, events.front());
      events.pop_front();
      return 0;
    }
  }
  return OPENLAPI_OWN(ibv_get_async_event)(context, event);
}

void ibv_ack_async_event(ibv_async_event* event) {
  Provider& the = provider();
  {
    const std::lock_guard guard(the.mutex);
    if (event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED && the.unacknowledged[event->element.qp] != 0) {
      --the.unacknowledged[event->element.qp];
      return;
    }
  }
  OPENLAPI_OWN(ibv_ack_async_event)(event);
}

}  // extern "C"
