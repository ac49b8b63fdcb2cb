#include "tests/beds/shim_domains.h"

#include <cerrno>
#include <mutex>
#include <set>

#include "dataplane/base/check.h"
#include "tests/beds/adapter_shim.h"

namespace openlapi::test {
namespace {

struct Thread {
  ibv_td seen{};
  int parents = 0;
};

struct Parent {
  ibv_pd seen{};
  ibv_pd* device = nullptr;
  Thread* thread = nullptr;
};

struct Domains {
  std::mutex mutex;
  std::set<const void*> parents;  // by their `seen`
  DomainCounts counts;
};

Domains& domains() {
  static auto* const the_one = new Domains;
  return *the_one;
}

Parent* parent_of(const ibv_pd* domain) {
  const std::lock_guard guard(domains().mutex);
  return domains().parents.contains(domain) ? reinterpret_cast<Parent*>(const_cast<ibv_pd*>(domain)) : nullptr;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr*) {
  if (!adapter_shim.thread_domains) return errno = EOPNOTSUPP, nullptr;
  auto* const made = new Thread;
  made->seen.context = context;
  const std::lock_guard guard(domains().mutex);
  ++domains().counts.thread_domains;
  return &made->seen;
}

int dealloc_td(ibv_td* thread) {
  auto* const one = reinterpret_cast<Thread*>(thread);
  const std::lock_guard guard(domains().mutex);
  if (one->parents != 0) return EBUSY;
  --domains().counts.thread_domains;
  delete one;
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* wanted) {
  if (!adapter_shim.parent_domains) return errno = EOPNOTSUPP, nullptr;
  auto* const made = new Parent;
  made->seen = *wanted->pd;
  made->seen.context = context;
  made->device = wanted->pd;
  made->thread = reinterpret_cast<Thread*>(wanted->td);
  const std::lock_guard guard(domains().mutex);
  ++made->thread->parents;
  domains().parents.insert(made);
  return &made->seen;
}

// Soft-RoCE has extended queues, but takes no parent domain for them.
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* wanted) {
  OPENLAPI_CHECK(wanted->comp_mask == IBV_CQ_INIT_ATTR_MASK_PD && parent_of(wanted->parent_domain) != nullptr);
  if (!adapter_shim.queues_in_parent_domains) return errno = EINVAL, nullptr;
  ibv_cq* const made = create_device_cq(context, static_cast<int>(wanted->cqe), wanted->channel);
  if (made != nullptr) note_made(DomainObject::completion_queue, wanted->parent_domain);
  return reinterpret_cast<ibv_cq_ex*>(made);
}

}  // namespace

void add_thread_domains(verbs_context& context) {
  context.alloc_td = alloc_td;
  context.dealloc_td = dealloc_td;
  context.alloc_parent_domain = alloc_parent_domain;
  context.create_cq_ex = create_cq_ex;
}

ibv_pd* device_domain(ibv_pd* domain) {
  const Parent* const parent = parent_of(domain);
  return parent != nullptr ? parent->device : domain;
}

bool end_parent_domain(ibv_pd* domain) {
  Parent* const parent = parent_of(domain);
  if (parent == nullptr) return false;
  const std::lock_guard guard(domains().mutex);
  --parent->thread->parents;
  domains().parents.erase(parent);
  delete parent;
  return true;
}

void note_made(DomainObject object, const ibv_pd* domain) {
  const bool inside = domain != nullptr && parent_of(domain) != nullptr;
  const std::lock_guard guard(domains().mutex);
  DomainCounts::Objects& objects = inside ? domains().counts.inside : domains().counts.outside;
  if (object == DomainObject::queue_pair) ++objects.queue_pairs;
  if (object == DomainObject::completion_queue) ++objects.completion_queues;
  if (object == DomainObject::shared_queue) ++objects.shared_queues;
}

DomainCounts domain_counts() {
  const std::lock_guard guard(domains().mutex);
  return domains().counts;
}

void forget_domain_counts() {
  const std::lock_guard guard(domains().mutex);
  domains().counts.inside = domains().counts.outside = {};
}

}  // namespace openlapi::test
