// What a transport's objects are made in. Memory and address handles belong to a protection domain; queue pairs,
// completion queues and shared receive queues to a parent domain of it with a thread domain: the promise that no two
// threads call for these at the same time, which the engine's lock keeps. Providers that know it take no locks of their
// own then, and queue pairs get a doorbell that is shared with nobody. Where there is none (soft-RoCE, EOPNOTSUPP; an
// adapter without a doorbell left) everything belongs to the protection domain.
#pragma once

#include <memory>

#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

class Domains {
 public:
  // Returns 0 or an errno value: the adapter has not even a protection domain.
  int open(ibv_context& context);

  ibv_pd& of_memory() const { return *protection_; }
  ibv_pd& of_queues() const { return parent_ ? *parent_ : *protection_; }

  // Queue pairs may be destroyed by another thread while their queues are polled.
  bool have_locks() const { return !parent_; }

  // For `length` completions, with events on `channel` unless it is null. Null, and errno: the adapter refuses.
  CompletionQueue make_completion_queue(int length, ibv_comp_channel* channel) const;

 private:
  struct ThreadDomainEnd {
    void operator()(ibv_td* thread) const;
  };

  ibv_context* context_ = nullptr;
  ProtectionDomain protection_;
  std::unique_ptr<ibv_td, ThreadDomainEnd> thread_;  // null: there is none
  ProtectionDomain parent_;                          // the same
};

}  // namespace openlapi::verbs
