#include "tests/beds/adapter_shim.h"

#include <dlfcn.h>
#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "dataplane/base/check.h"
#include "tests/beds/shim_domains.h"
#include "tests/beds/shim_paging.h"

namespace openlapi::test {
namespace {

// libibverbs's own function of this name.
template <typename Function>
Function* own(Function&, const char* name, const char* version = "IBVERBS_1.1") {
  void* const found = dlvsym(RTLD_NEXT, name, version);
  OPENLAPI_CHECK(found != nullptr);
  return reinterpret_cast<Function*>(found);
}
#define OPENLAPI_OWN(function) own(function, #function)

using QueryPort = int(ibv_context*, std::uint8_t, ibv_port_attr*, std::size_t);

using PostSend = int(ibv_qp*, ibv_send_wr*, ibv_send_wr**);

struct Shim {
  std::mutex mutex;
  std::map<ibv_context*, PostSend*> post_send;    // the same
  std::map<ibv_context*, QueryPort*> query_port;  // the device's own
  std::map<ibv_context*, std::deque<ibv_event_type>> events;
  std::map<ibv_device*, std::string> paths;  // in sysfs
  AdapterRequests requests;
};

// Never destroyed: transports may be, after main().
Shim& shim() {
  static auto* const the_one = new Shim;
  return *the_one;
}

// rxe0 has 1.
std::uint16_t lid_of(const ibv_context& context) {
  return static_cast<std::uint16_t>(1 + std::atoi(context.device->name + 3));
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes, std::size_t length) {
  QueryPort* device_own = nullptr;
  {
    const std::lock_guard guard(shim().mutex);
    device_own = shim().query_port.at(context);
  }
  const int result = device_own(context, port, attributes, length);
  if (result != 0) return result;
  if (adapter_shim.infiniband) {
    attributes->link_layer = IBV_LINK_LAYER_INFINIBAND;
    attributes->lid = lid_of(*context);
    attributes->flags &= static_cast<std::uint8_t>(~IBV_QPF_GRH_REQUIRED);  // which is RoCE's
  }
  if (adapter_shim.route_header_required) attributes->flags |= IBV_QPF_GRH_REQUIRED;
  if (!adapter_shim.partitions.empty()) {
    attributes->pkey_tbl_len = static_cast<std::uint16_t>(adapter_shim.partitions.size());
  }
  return 0;
}

int post_send(ibv_qp* queue_pair, ibv_send_wr* requests, ibv_send_wr** refused) {
  PostSend* device_own = nullptr;
  ibv_send_wr paged = *requests;
  ibv_sge local{};
  if (paged.opcode == IBV_WR_RDMA_READ) {
    OPENLAPI_CHECK(paged.num_sge == 1 && paged.next == nullptr);
    local = *paged.sg_list;
    paged.sg_list = &local;
  }
  const int ends = paged.opcode == IBV_WR_RDMA_READ ? page_in(local, paged) : 0;
  {
    const std::lock_guard guard(shim().mutex);
    shim().requests.paged += ends;
    device_own = shim().post_send.at(queue_pair->context);
    for (const ibv_send_wr* one = requests; one != nullptr; one = one->next) {
      if (one->opcode == IBV_WR_RDMA_READ) shim().requests.reads.push_back(one->sg_list[0].length);
    }
  }
  return device_own(queue_pair, ends != 0 ? &paged : requests, refused);
}

// The route to the device that stands for this LID, over the bed's link-local addresses.
ibv_ah_attr by_gid(const ibv_ah_attr& route) {
  ibv_ah_attr found = route;
  found.is_global = 1;
  const std::uint8_t gid[] = {0xfe, 0x80, 0, 0,    0,    0, 0, 0,
                              0,    0x77, 0, 0xff, 0xfe, 0, 0, static_cast<std::uint8_t>(route.dlid)};
  std::memcpy(found.grh.dgid.raw, gid, sizeof gid);
  found.grh.sgid_index = 0;
  found.grh.hop_limit = 64;
  return found;
}

// As the kernel and an adapter of InfiniBand would take it. False: they refuse it.
bool takes(ibv_ah_attr& route) {
  if (route.is_global != 0) return true;
  if (!adapter_shim.infiniband || adapter_shim.route_header_required || route.dlid == 0) return false;
  route = by_gid(route);
  return true;
}

}  // namespace

AdapterShim adapter_shim;

AdapterRequests requests_of_adapter() {
  const std::lock_guard guard(shim().mutex);
  return shim().requests;
}

void forget_requests() {
  forget_domain_counts();
  const std::lock_guard guard(shim().mutex);
  shim().requests = {};
}

ibv_cq* create_device_cq(ibv_context* context, int length, ibv_comp_channel* channel) {
  return OPENLAPI_OWN(ibv_create_cq)(context, length, nullptr, channel, 0);
}

ibv_mr* register_with_device(ibv_pd* domain, void* address, std::size_t length, int rights) {
  return OPENLAPI_OWN(ibv_reg_mr)(domain, address, length, rights);
}

void deregister_from_device(ibv_mr* region) { OPENLAPI_CHECK(OPENLAPI_OWN(ibv_dereg_mr)(region) == 0); }

void tell_adapters(ibv_event_type type) {
  const std::lock_guard guard(shim().mutex);
  for (auto& [context, events] : shim().events) events.push_back(type);
}

}  // namespace openlapi::test

// ---- what is taken over of libibverbs ----

using namespace openlapi::test;  // NOLINT: the functions are C's

#undef ibv_reg_mr

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  ibv_device** const devices = OPENLAPI_OWN(ibv_get_device_list)(count);
  const std::lock_guard guard(shim().mutex);
  for (ibv_device** one = devices; one != nullptr && *one != nullptr; ++one) {
    (*one)->transport_type = adapter_shim.transport;
    // The list has the same objects each time.
    const std::string& own_path = shim().paths.try_emplace(*one, (*one)->ibdev_path).first->second;
    std::strcpy((*one)->ibdev_path, adapter_shim.hardware ? "/sys/devices" : own_path.c_str());
  }
  return devices;
}

ibv_context* ibv_open_device(ibv_device* device) {
  ibv_context* const context = OPENLAPI_OWN(ibv_open_device)(device);
  if (context == nullptr) return nullptr;
  const std::lock_guard guard(shim().mutex);
  verbs_context* const extended = verbs_get_ctx(context);
  shim().query_port[context] = extended->query_port;
  extended->query_port = query_port;
  shim().post_send[context] = context->ops.post_send;
  context->ops.post_send = post_send;
  shim().events[context] = {};
  add_thread_domains(*extended);
  add_paging(*extended);
  return context;
}

int ibv_close_device(ibv_context* context) {
  {
    const std::lock_guard guard(shim().mutex);
    shim().query_port.erase(context);
    shim().post_send.erase(context);
    shim().events.erase(context);
  }
  return OPENLAPI_OWN(ibv_close_device)(context);
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  const int result = OPENLAPI_OWN(ibv_query_device)(context, attributes);
  if (adapter_shim.hardware) attributes->vendor_id = 0x02c9;       // Mellanox
  if (adapter_shim.hardware) attributes->vendor_part_id = 0x101b;  // ConnectX-6
  attributes->max_qp = std::min(attributes->max_qp, adapter_shim.most_queue_pairs);
  attributes->max_sge = std::min(attributes->max_sge, adapter_shim.most_pieces);
  attributes->max_qp_rd_atom = std::min(attributes->max_qp_rd_atom, adapter_shim.most_reads);
  attributes->max_qp_init_rd_atom = std::min(attributes->max_qp_init_rd_atom, adapter_shim.most_reads);
  return result;
}

int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* key) {
  if (adapter_shim.partitions.empty()) return OPENLAPI_OWN(ibv_query_pkey)(context, port, index, key);
  if (static_cast<std::size_t>(index) >= adapter_shim.partitions.size()) return errno = EINVAL, -1;
  *key = htobe16(adapter_shim.partitions[static_cast<std::size_t>(index)]);
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most, std::uint32_t flags,
                             std::size_t length) {
  OPENLAPI_CHECK(length == sizeof(ibv_gid_entry));
  const ssize_t count =
      own(_ibv_query_gid_table, "_ibv_query_gid_table", "IBVERBS_1.11")(context, entries, most, flags, length);
  if (count < 0) return count;
  std::vector<ibv_gid_entry> table(entries, entries + count);
  for (ibv_gid_entry& entry : table) {
    if (adapter_shim.infiniband) entry.gid_type = IBV_GID_TYPE_IB;
  }
  if (adapter_shim.gids) adapter_shim.gids(table);
  OPENLAPI_CHECK(table.size() <= most);
  std::ranges::copy(table, entries);
  return static_cast<ssize_t>(table.size());
}

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (!adapter_shim.gids) return OPENLAPI_OWN(ibv_query_gid)(context, port, index, gid);
  std::vector<ibv_gid_entry> table(1024);
  const ssize_t count = _ibv_query_gid_table(context, table.data(), table.size(), 0, sizeof(ibv_gid_entry));
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = table[static_cast<std::size_t>(i)];
    if (entry.port_num != port || entry.gid_index != static_cast<std::uint32_t>(index)) continue;
    *gid = entry.gid;
    return 0;
  }
  *gid = {};
  return 0;
}

ibv_ah* ibv_create_ah(ibv_pd* domain, ibv_ah_attr* wanted) {
  ibv_ah_attr route = *wanted;
  if (!takes(route)) return errno = EINVAL, nullptr;
  if (adapter_shim.before_handle) adapter_shim.before_handle();
  ibv_ah* const made = OPENLAPI_OWN(ibv_create_ah)(domain, &route);
  const std::lock_guard guard(shim().mutex);
  if (made != nullptr) shim().requests.handles.push_back(*wanted);
  return made;
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  {
    const std::lock_guard guard(shim().mutex);
    shim().requests.inline_bytes.push_back(wanted->cap.max_inline_data);
  }
  const bool fits = static_cast<int>(wanted->cap.max_send_sge) <= adapter_shim.most_pieces;
  if (!fits || wanted->cap.max_inline_data > adapter_shim.most_inline) {
    if (!adapter_shim.silent) errno = EINVAL;
    return nullptr;
  }
  ibv_qp* const made = OPENLAPI_OWN(ibv_create_qp)(device_domain(domain), wanted);
  if (made != nullptr) note_made(DomainObject::queue_pair, domain);
  // Soft-RoCE grants 64 bytes to whoever wants less.
  if (made != nullptr) wanted->cap.max_inline_data = std::min(wanted->cap.max_inline_data, adapter_shim.most_inline);
  return made;
}

int ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) {
  ibv_qp_attr changed = *attributes;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && !adapter_shim.partitions.empty()) {
    if (attributes->pkey_index >= adapter_shim.partitions.size()) return EINVAL;
    changed.pkey_index = 0;
  }
  if ((mask & IBV_QP_AV) != 0 && !takes(changed.ah_attr)) return EINVAL;
  {
    const std::lock_guard guard(shim().mutex);
    if ((mask & IBV_QP_PKEY_INDEX) != 0) shim().requests.partitions.push_back(attributes->pkey_index);
    if ((mask & IBV_QP_AV) != 0) shim().requests.routes.push_back(attributes->ah_attr);
    if ((mask & IBV_QP_STATE) != 0 && attributes->qp_state == IBV_QPS_RESET) ++shim().requests.resets;
  }
  return OPENLAPI_OWN(ibv_modify_qp)(queue_pair, &changed, mask);
}

ibv_srq* ibv_create_srq(ibv_pd* domain, ibv_srq_init_attr* wanted) {
  if (adapter_shim.no_shared_queues) return errno = EOPNOTSUPP, nullptr;
  ibv_srq* const made = OPENLAPI_OWN(ibv_create_srq)(device_domain(domain), wanted);
  if (made != nullptr) note_made(DomainObject::shared_queue, domain);
  return made;
}

ibv_cq* ibv_create_cq(ibv_context* context, int length, void*, ibv_comp_channel* channel, int) {
  ibv_cq* const made = create_device_cq(context, length, channel);
  if (made != nullptr) note_made(DomainObject::completion_queue, nullptr);
  return made;
}

int ibv_dealloc_pd(ibv_pd* domain) { return end_parent_domain(domain) ? 0 : OPENLAPI_OWN(ibv_dealloc_pd)(domain); }

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, std::size_t length, int rights) {
  {
    const std::lock_guard guard(shim().mutex);
    shim().requests.rights.push_back(rights);
  }
  if (wants_paged_region(address, length, static_cast<unsigned>(rights))) return make_paged_region(*domain);
  if (length > adapter_shim.most_registered) return errno = ENOMEM, nullptr;
  return register_with_device(domain, address, length, rights);
}

int ibv_dereg_mr(ibv_mr* region) {
  if (!end_paged_region(region)) deregister_from_device(region);
  return 0;
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, std::size_t length, std::uint64_t remote, unsigned rights) {
  {
    const std::lock_guard guard(shim().mutex);
    shim().requests.rights.push_back(static_cast<int>(rights));
  }
  if (length > adapter_shim.most_registered) return errno = ENOMEM, nullptr;
  return own(ibv_reg_mr_iova2, "ibv_reg_mr_iova2", "IBVERBS_1.8")(domain, address, length, remote, rights);
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  {
    const std::lock_guard guard(shim().mutex);
    std::deque<ibv_event_type>& events = shim().events[context];
    if (!events.empty()) {
      *event = {};
      event->element.port_num = 1;
      event->event_type = events.front();
      events.pop_front();
      return 0;
    }
  }
  return OPENLAPI_OWN(ibv_get_async_event)(context, event);
}

}  // extern "C"
