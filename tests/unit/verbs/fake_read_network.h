// A network of adapters that carry RDMA READs out when a test says so, in the place of libibverbs. For one file of a
// program.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "nic/verbs/domains.h"
#include "nic/verbs/served_connections.h"

namespace {

struct FakeNetwork {
  struct Request {
    ibv_qp* queue_pair;
    std::uint64_t number;
    ibv_sge local;
    std::uint64_t address;
    std::uint32_t key;
  };
  struct End {
    ibv_qp_state state;
    std::uint32_t peer;
    int rights;
  };

  std::mutex mutex;  // queue pairs may be destroyed by a thread of their own
  std::map<ibv_qp*, End> ends;
  std::deque<Request> posted;
  std::map<ibv_cq*, std::deque<ibv_wc>> completions;
  std::map<std::uint32_t, int> whole_memories;  // rights, by key
  std::uint32_t next_number = 17, next_key = 500;
  bool refuses_whole = false;
  bool pages = true;
  int notices = 0;
  int regions = 0;

  void complete(const Request& request, ibv_wc_status status) {
    ibv_wc done{};
    done.wr_id = request.number;
    done.status = status;
    completions[request.queue_pair->send_cq].push_back(done);
  }
  // The oldest request is carried out, if there is such memory and a queue pair that leads there.
  void serve() {
    const std::lock_guard guard(mutex);
    const Request request = posted.front();
    posted.pop_front();
    const auto other = std::ranges::find_if(
        ends, [&](const auto& end) { return end.first->qp_num == ends.at(request.queue_pair).peer; });
    ASSERT_NE(other, ends.end());
    ASSERT_EQ(other->second.state, IBV_QPS_RTS);
    ASSERT_NE(other->second.rights & IBV_ACCESS_REMOTE_READ, 0);
    ASSERT_TRUE(whole_memories.contains(request.key));
    std::memcpy(reinterpret_cast<void*>(request.local.addr), reinterpret_cast<const void*>(request.address),
                request.local.length);
    complete(request, IBV_WC_SUCCESS);
  }
  // The oldest one fails, and the others with it.
  void fail(ibv_wc_status status) {
    const std::lock_guard guard(mutex);
    for (; !posted.empty(); posted.pop_front()) {
      complete(posted.front(), status);
      status = IBV_WC_WR_FLUSH_ERR;
    }
  }
};

FakeNetwork* network = nullptr;

int post_send(ibv_qp* queue_pair, ibv_send_wr* request, ibv_send_wr**) {
  EXPECT_EQ(request->opcode, IBV_WR_RDMA_READ);
  const std::lock_guard guard(network->mutex);
  if (network->ends.at(queue_pair).state != IBV_QPS_RTS) return EINVAL;
  network->posted.push_back({queue_pair, request->wr_id, request->sg_list[0], request->wr.rdma.remote_addr,
                             static_cast<std::uint32_t>(request->wr.rdma.rkey)});
  return 0;
}

int poll_cq(ibv_cq* queue, int most, ibv_wc* out) {
  std::deque<ibv_wc>& waiting = network->completions[queue];
  int count = 0;
  for (; count < most && !waiting.empty(); waiting.pop_front()) out[count++] = waiting.front();
  return count;
}

int req_notify_cq(ibv_cq*, int) { return ++network->notices, 0; }

int query_device_ex(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex* attributes, std::size_t) {
  attributes->odp_caps.general_caps = network->pages ? IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT : 0;
  attributes->odp_caps.per_transport_caps.rc_odp_caps = IBV_ODP_SUPPORT_READ;
  return 0;
}

ibv_mr* register_memory(ibv_pd* domain, void* address, std::size_t length, unsigned rights) {
  const bool whole = address == nullptr && length == SIZE_MAX;
  if (whole && network->refuses_whole) return errno = EOPNOTSUPP, nullptr;
  auto* const made = new ibv_mr{};
  made->pd = domain;
  made->lkey = made->rkey = network->next_key++;
  ++network->regions;
  if (whole) network->whole_memories[made->rkey] = static_cast<int>(rights);
  return made;
}

}  // namespace

#undef ibv_reg_mr
#undef ibv_query_port

extern "C" {

int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  attributes->vendor_id = 0x02c9;
  attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 16;
  attributes->max_cqe = 1 << 20;
  attributes->max_qp_wr = 1024;
  return 0;
}

int ibv_query_port(ibv_context*, std::uint8_t, _compat_ibv_port_attr* attributes) {
  reinterpret_cast<ibv_port_attr*>(attributes)->max_msg_sz = 1u << 30;
  return 0;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto* const made = new ibv_pd{};
  made->context = context;
  return made;
}
int ibv_dealloc_pd(ibv_pd* domain) { return delete domain, 0; }

ibv_cq* ibv_create_cq(ibv_context* context, int, void*, ibv_comp_channel*, int) {
  auto* const made = new ibv_cq{};
  made->context = context;
  return made;
}
int ibv_destroy_cq(ibv_cq* queue) { return delete queue, 0; }

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  const std::lock_guard guard(network->mutex);
  auto* const made = new ibv_qp{};
  made->context = domain->context;
  made->send_cq = wanted->send_cq;
  made->qp_num = network->next_number++;
  EXPECT_EQ(wanted->sq_sig_all, 1);
  network->ends[made] = {IBV_QPS_RESET, 0, 0};
  return made;
}

int ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) {
  const std::lock_guard guard(network->mutex);
  FakeNetwork::End& end = network->ends.at(queue_pair);
  end.state = attributes->qp_state;
  if ((mask & IBV_QP_DEST_QPN) != 0) end.peer = attributes->dest_qp_num;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) end.rights = static_cast<int>(attributes->qp_access_flags);
  return 0;
}

int ibv_destroy_qp(ibv_qp* queue_pair) {
  const std::lock_guard guard(network->mutex);
  std::erase_if(network->posted, [&](const auto& request) { return request.queue_pair == queue_pair; });
  network->ends.erase(queue_pair);
  return delete queue_pair, 0;
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, std::size_t length, int rights) {
  return register_memory(domain, address, length, static_cast<unsigned>(rights));
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, std::size_t length, std::uint64_t, unsigned rights) {
  return register_memory(domain, address, length, rights);
}
int ibv_dereg_mr(ibv_mr* region) {
  --network->regions;
  network->whole_memories.erase(region->rkey);
  return delete region, 0;
}

}  // extern "C"

namespace {

// A task's transport, as far as its reads see it, with a device of its own: a piece of hardware.
struct FakePort : openlapi::verbs::ConnectionPath {
  explicit FakePort(openlapi::PeerIndex number) {
    std::strcpy(device.ibdev_path, "/sys/devices");
    device_context.sz = sizeof device_context;
    device_context.query_device_ex = query_device_ex;
    device_context.context.device = &device;
    device_context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    device_context.context.ops.post_send = post_send;
    device_context.context.ops.poll_cq = poll_cq;
    device_context.context.ops.req_notify_cq = req_notify_cq;
    own = {.fabric = openlapi::verbs::Fabric::roce_v2, .mtu = 4096, .queue_pair = 100 + number, .qkey = 1, .gid = {1}};
    EXPECT_EQ(domains.open(device_context.context), 0);
  }

  const openlapi::verbs::Address& own_address() const override { return own; }
  const openlapi::verbs::Address* address_of(openlapi::PeerIndex) const override { return &own; }
  ibv_ah_attr route_to_address(const openlapi::verbs::Address&) const override { return {}; }
  void send_message(openlapi::PeerIndex peer, const openlapi::verbs::ConnectionMessage& message) override {
    openlapi::verbs::ConnectionMessage arrives;
    ASSERT_TRUE(decode(encode(message), arrives)) << "kind " << static_cast<int>(message.kind);
    said.push_back({peer, arrives});
  }

  struct Said {
    openlapi::PeerIndex peer;
    openlapi::verbs::ConnectionMessage message;
  };
  std::vector<Said> said;
  ibv_device device{};
  verbs_context device_context{};
  openlapi::verbs::Address own;
  openlapi::verbs::Domains domains;
  ibv_comp_channel channel{};
};

}  // namespace
