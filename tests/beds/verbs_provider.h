// Habits of real adapters' providers that soft-RoCE does not have, put between this program and its device. A program
// that is linked with verbs_provider.cc has them when it, or OPENLAPI_TEST_PROVIDER, switches them on: libibverbs's
// functions are taken over by name, and the operations of each context are replaced when it is opened.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace openlapi::test {

struct ProviderHabits {
  // Completions of a queue pair that were not polled are taken out of their queues when it is destroyed or reset, and
  // their slots of a shared receive queue never complete (mlx4, mlx5).
  bool cleans_completions = false;
  // A queue pair with a shared receive queue that enters the error state tells when it is done with its last slot: all
  // of them but soft-RoCE.
  bool tells_last_request = false;
  // What has arrived shows in the completion queue only when that has been told: an adapter that takes its time.
  bool completes_late = false;
  // That is not told as long as this is set: for a test to look at what happens before.
  bool holds_events = false;
};

// Those in force. At the start those whose names are in OPENLAPI_TEST_PROVIDER, separated by commas.
extern ProviderHabits provider_habits;

class Habits {
 public:
  explicit Habits(const ProviderHabits& habits) : before_(provider_habits) { provider_habits = habits; }
  ~Habits() { provider_habits = before_; }
  Habits(const Habits&) = delete;
  Habits& operator=(const Habits&) = delete;

 private:
  ProviderHabits before_;
};

// While one exists queue pairs are not destroyed, as soft-RoCE waits for packets that wait for a neighbour: whoever
// tries to is held up. The thread that has made it is not, which is counted.
class HeldEnds {
 public:
  HeldEnds();
  ~HeldEnds();
  HeldEnds(const HeldEnds&) = delete;
  HeldEnds& operator=(const HeldEnds&) = delete;

  std::size_t held() const;               // queue pairs whose destroyers wait
  std::size_t by_its_own_thread() const;  // queue pairs
};

// Completions in this queue that the program has not polled yet.
std::vector<ibv_wc> waiting_completions(ibv_cq& queue);

// Slots that were posted to shared receive queues of this context and that the adapter will still complete.
std::int64_t slots_of_adapter(const ibv_context& context);

// Completions that were taken away unpolled, with slots of shared receive queues, since the program's start.
std::uint64_t swallowed_slots();

// Queue pairs with a shared receive queue that were destroyed before they had told that they are done.
std::uint64_t early_ends();

}  // namespace openlapi::test
