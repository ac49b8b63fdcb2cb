#include "nic/verbs/domains.h"

#include <cerrno>

#include "dataplane/base/cancellation.h"

namespace openlapi::verbs {

void Domains::ThreadDomainEnd::operator()(ibv_td* thread) const {
  const CancellationOff off;
  ibv_dealloc_td(thread);
}

int Domains::open(ibv_context& context) {
  context_ = &context;
  protection_.reset(ibv_alloc_pd(&context));
  if (!protection_) return errno;
  ibv_td_init_attr plain{};
  thread_.reset(ibv_alloc_td(&context, &plain));
  if (!thread_) return 0;
  ibv_parent_domain_init_attr both{};
  both.pd = protection_.get();
  both.td = thread_.get();
  parent_.reset(ibv_alloc_parent_domain(&context, &both));
  if (!parent_) thread_.reset();
  return 0;
}

// Not every provider that has parent domains takes them for completion queues.
CompletionQueue Domains::make_completion_queue(int length, ibv_comp_channel* channel) const {
  if (parent_) {
    ibv_cq_init_attr_ex wanted{};
    wanted.cqe = static_cast<std::uint32_t>(length);
    wanted.channel = channel;
    wanted.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
    wanted.parent_domain = parent_.get();
    ibv_cq_ex* const made = ibv_create_cq_ex(context_, &wanted);
    if (made != nullptr) return CompletionQueue(ibv_cq_ex_to_cq(made));
  }
  return CompletionQueue(ibv_create_cq(context_, length, nullptr, channel, 0));
}

}  // namespace openlapi::verbs
