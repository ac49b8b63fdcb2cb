// What the library adds to an exchange of 8 bytes over an RDMA adapter: bare sends between two queue pairs of our own
// and LAPI_Put, LAPI_Amsend, LAPI_Get or LAPI_Rmw, in blocks that alternate within one job. Where the machine's speed
// changes from second to second only the ratio of neighbouring blocks can be compared. Of gets and read-modify-writes
// it is that of a whole round trip to one way of the bare exchange. On a machine without RDMA:
//   export MP_EUILIB=us LAPI_USE_SHM=no OPENLAPI_VERBS_PACKETS=rc
//   tests/beds/soft-roce --env OPENLAPI_VERBS_PACKETS -- lapirun -n 2 sh -c
//       'MP_EUIDEVICE=rxe$PMIX_RANK:1:1 exec taskset -c $PMIX_RANK build/bench/verbs_exchange_bench rc put [blocks]'
// The first word is the kind of the bare queue pair: the one that OPENLAPI_VERBS_PACKETS names.
#include <infiniband/verbs.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "api/include/lapi.h"
#include "bench/perf/statistics.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::bench {
namespace {

constexpr int kExchanges = 200;  // of a block
constexpr int kWarmUp = 20;
constexpr int kFirstBlocks = 3;  // not counted
constexpr int kReceives = 100;
constexpr unsigned kSignalEvery = 64;
constexpr std::uint32_t kKey = 0x11111111;
constexpr std::uint32_t kSlot = 256;  // bytes of a receive, with room for a datagram's route header
constexpr std::uint32_t kLength = 8;

lapi_handle_t handle = 0;
int task = 0;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "verbs_exchange_bench: %s\n", what.c_str());
  std::exit(1);
}

void check(int code, const char* call) {
  if (code != LAPI_SUCCESS) fail(std::string(call) + " returned " + std::to_string(code));
}

struct Address {
  std::uint32_t queue_pair;
  ibv_gid gid;
};

// Two queue pairs, one in each task, and no library between them.
class BareExchange {
 public:
  explicit BareExchange(bool datagrams) : datagrams_(datagrams) { open(std::getenv("MP_EUIDEVICE")); }

  Address address() const { return {queue_pair_->qp_num, gid_}; }
  void connect(const Address& peer);
  void send();
  void receive();

 private:
  void open(const char* words);
  void post_receives(int count);
  void modify(ibv_qp_attr attributes, int mask) {
    if (ibv_modify_qp(queue_pair_.get(), &attributes, mask) != 0) fail("the queue pair does not change its state");
  }

  const bool datagrams_;
  std::array<std::byte, kLength + kSlot> memory_{};
  verbs::DeviceContext device_;
  verbs::ProtectionDomain domain_;
  verbs::MemoryRegion region_;
  verbs::CompletionQueue sends_, arrivals_;
  verbs::QueuePair queue_pair_;
  verbs::AddressHandle handle_;
  Address peer_{};
  ibv_gid gid_{};
  std::uint8_t port_ = 1;
  std::uint8_t gid_index_ = 0;
  unsigned unsignaled_ = 0;
};

void BareExchange::open(const char* words) {
  std::istringstream in(words != nullptr ? words : "");
  std::string name, port, gid;
  std::getline(in, name, ':');
  std::getline(in, port, ':');
  std::getline(in, gid, ':');
  if (port.empty() || gid.empty()) fail("MP_EUIDEVICE must be device:port:gid_index");
  port_ = static_cast<std::uint8_t>(std::stoi(port));
  gid_index_ = static_cast<std::uint8_t>(std::stoi(gid));
  ibv_device** const list = ibv_get_device_list(nullptr);
  for (ibv_device** at = list; at != nullptr && *at != nullptr; ++at) {
    if (name == ibv_get_device_name(*at)) device_.reset(ibv_open_device(*at));
  }
  ibv_free_device_list(list);
  if (!device_ || ibv_query_gid(device_.get(), port_, gid_index_, &gid_) != 0) fail("cannot open " + name);
  domain_.reset(ibv_alloc_pd(device_.get()));
  region_.reset(ibv_reg_mr(domain_.get(), memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE));
  sends_.reset(ibv_create_cq(device_.get(), 2 * kSignalEvery, nullptr, nullptr, 0));
  arrivals_.reset(ibv_create_cq(device_.get(), 2 * kReceives, nullptr, nullptr, 0));
  if (!domain_ || !region_ || !sends_ || !arrivals_) fail("no resources on " + name);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = sends_.get();
  wanted.recv_cq = arrivals_.get();
  wanted.qp_type = datagrams_ ? IBV_QPT_UD : IBV_QPT_RC;
  wanted.cap = {2 * kSignalEvery, kReceives, 1, 1, kLength};
  queue_pair_.reset(ibv_create_qp(domain_.get(), &wanted));
  if (!queue_pair_) fail("no queue pair on " + name);
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = port_;
  state.qkey = kKey;
  modify(state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (datagrams_ ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
  post_receives(kReceives);
}

void BareExchange::connect(const Address& peer) {
  peer_ = peer;
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_RTR;
  state.path_mtu = IBV_MTU_1024;
  state.dest_qp_num = peer.queue_pair;
  state.max_dest_rd_atomic = 1;
  state.min_rnr_timer = 12;
  state.ah_attr.is_global = 1;
  state.ah_attr.port_num = port_;
  state.ah_attr.grh = {
      .dgid = peer.gid, .flow_label = 0, .sgid_index = gid_index_, .hop_limit = 64, .traffic_class = 0};
  if (datagrams_) {
    handle_.reset(ibv_create_ah(domain_.get(), &state.ah_attr));
    if (!handle_) fail("no address handle");
  }
  modify(state, datagrams_ ? static_cast<int>(IBV_QP_STATE)
                           : IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  state.qp_state = IBV_QPS_RTS;
  state.timeout = 14;
  state.retry_cnt = state.rnr_retry = 7;
  state.max_rd_atomic = 1;
  modify(state, datagrams_ ? IBV_QP_STATE | IBV_QP_SQ_PSN
                           : IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                 IBV_QP_MAX_QP_RD_ATOMIC);
}

void BareExchange::post_receives(int count) {
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory_.data() + kLength), kSlot, region_->lkey};
  ibv_recv_wr request{.wr_id = 0, .next = nullptr, .sg_list = &piece, .num_sge = 1};
  ibv_recv_wr* refused = nullptr;
  for (; count > 0; --count) {
    if (ibv_post_recv(queue_pair_.get(), &request, &refused) != 0) fail("a receive was refused");
  }
}

void BareExchange::send() {
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory_.data()), kLength, region_->lkey};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_INLINE;
  if (datagrams_) request.wr.ud = {.ah = handle_.get(), .remote_qpn = peer_.queue_pair, .remote_qkey = kKey};
  if (++unsignaled_ == kSignalEvery) {
    request.send_flags |= IBV_SEND_SIGNALED;
    unsignaled_ = 0;
  }
  ibv_send_wr* refused = nullptr;
  if (ibv_post_send(queue_pair_.get(), &request, &refused) != 0) fail("a send was refused");
  ibv_wc done{};
  if (unsignaled_ == kSignalEvery / 2) ibv_poll_cq(sends_.get(), 1, &done);
}

void BareExchange::receive() {
  ibv_wc arrival{};
  int count = 0;
  while (count == 0) count = ibv_poll_cq(arrivals_.get(), 1, &arrival);
  if (count < 0 || arrival.status != IBV_WC_SUCCESS) fail("a message did not arrive");
  post_receives(1);
}

enum class Operation { put, active_message, get, read_modify_write };
const std::map<std::string, Operation> kOperations{{"put", Operation::put},
                                                   {"am", Operation::active_message},
                                                   {"get", Operation::get},
                                                   {"rmw", Operation::read_modify_write}};

// The library's side: an 8-byte message to the other task, and the wait for its; or 8 bytes of its memory.
class LibraryExchange {
 public:
  explicit LibraryExchange(Operation operation) : operation_(operation) {
    check(LAPI_Address_init(handle, &word_, words_.data()), "LAPI_Address_init");
    check(LAPI_Address_init(handle, &arrived_, counters_.data()), "LAPI_Address_init");
    check(LAPI_Address_init(handle, &peer_, peers_.data()), "LAPI_Address_init");
    check(LAPI_Addr_set(handle, reinterpret_cast<void*>(take), kHandler), "LAPI_Addr_set");
    place = &word_;
    check(LAPI_Gfence(handle), "LAPI_Gfence");
  }

  Address exchange(Address own) {
    check(LAPI_Put(handle, other(), sizeof own, peers_[other()], &own, arrived_there(), nullptr, nullptr), "LAPI_Put");
    receive();
    return peer_;
  }
  void send() {
    if (operation_ == Operation::active_message) {
      check(LAPI_Amsend(handle, other(), reinterpret_cast<void*>(kHandler), nullptr, 0, &value_, kLength,
                        arrived_there(), nullptr, nullptr),
            "LAPI_Amsend");
    } else {
      check(LAPI_Put(handle, other(), kLength, words_[other()], &value_, arrived_there(), nullptr, nullptr),
            "LAPI_Put");
    }
  }
  void receive() { check(LAPI_Waitcntr(handle, &arrived_, 1, nullptr), "LAPI_Waitcntr"); }
  void fetch() {
    if (operation_ == Operation::get) {
      check(LAPI_Get(handle, other(), kLength, words_[other()], &value_, nullptr, &arrived_), "LAPI_Get");
    } else {
      check(LAPI_Rmw64(handle, FETCH_AND_ADD, other(), static_cast<long long*>(words_[other()]), &one_, &previous_,
                       &arrived_),
            "LAPI_Rmw64");
    }
    receive();
  }
  bool fetches() const { return operation_ == Operation::get || operation_ == Operation::read_modify_write; }

 private:
  static constexpr std::intptr_t kHandler = 1;  // in the table of addresses
  static inline void* place = nullptr;

  static void* take(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void**) {
    *completion = nullptr;
    return place;
  }
  static unsigned other() { return task == 0 ? 1 : 0; }
  lapi_cntr_t* arrived_there() const { return static_cast<lapi_cntr_t*>(counters_[other()]); }

  const Operation operation_;
  std::uint64_t word_ = 0, value_ = 0;
  long long one_ = 1, previous_ = 0;
  lapi_cntr_t arrived_{};
  Address peer_{};
  std::array<void*, 2> words_{}, peers_{}, counters_{};
};

// Microseconds of half a round trip.
template <class Exchange>
double block(Exchange& exchange, int exchanges) {
  check(LAPI_Gfence(handle), "LAPI_Gfence");
  const std::uint64_t start = monotonic_nanoseconds();
  for (int n = 0; n < exchanges; ++n) {
    if (task == 0) exchange.send();
    exchange.receive();
    if (task != 0) exchange.send();
  }
  return static_cast<double>(monotonic_nanoseconds() - start) / exchanges / 2000;
}

// Microseconds of a round trip, at task 0. The other one polls in the fence that comes next.
double block_of_fetches(LibraryExchange& library, int fetches) {
  check(LAPI_Gfence(handle), "LAPI_Gfence");
  if (task != 0) return 0;
  const std::uint64_t start = monotonic_nanoseconds();
  for (int n = 0; n < fetches; ++n) library.fetch();
  return static_cast<double>(monotonic_nanoseconds() - start) / fetches / 1000;
}

double library_block(LibraryExchange& library, int exchanges) {
  return library.fetches() ? block_of_fetches(library, exchanges) : block(library, exchanges);
}

void report(const char* name, const Samples& samples) {
  std::printf("%-8s %7.2f %7.2f %7.2f us (lowest, 20 %%, median of the blocks)\n", name, percentile(samples, 0),
              percentile(samples, 0.2), median(samples));
}

void run(bool datagrams, Operation operation, int blocks) {
  LibraryExchange library(operation);
  BareExchange bare(datagrams);
  bare.connect(library.exchange(bare.address()));
  Samples floor, ours, ratios;
  for (int n = -kFirstBlocks; n < blocks; ++n) {
    const double one = block(bare, kExchanges);
    library_block(library, kWarmUp);
    const double other = library_block(library, kExchanges);
    if (n < 0) continue;
    floor.push_back(one);
    ours.push_back(other);
    ratios.push_back(other / one);
  }
  if (task != 0) return;
  report("bare", floor);
  report("library", ours);
  std::printf("ratio    %7.3f (median of the ratios of neighbours)\n", median(ratios));
}

}  // namespace
}  // namespace openlapi::bench

int main(int count, char** arguments) {
  using namespace openlapi::bench;
  const std::string kind = count > 1 ? arguments[1] : "", operation = count > 2 ? arguments[2] : "";
  const int blocks = count > 3 ? std::atoi(arguments[3]) : 60;
  const auto known = kOperations.find(operation);
  if ((kind != "rc" && kind != "ud") || known == kOperations.end() || blocks < 1) {
    fail("usage: verbs_exchange_bench rc|ud put|am|get|rmw [blocks]");
  }
  lapi_info_t info;
  std::memset(&info, 0, sizeof info);
  check(LAPI_Init(&handle, &info), "LAPI_Init");
  int tasks = 0;
  check(LAPI_Qenv(handle, TASK_ID, &task), "LAPI_Qenv");
  check(LAPI_Qenv(handle, NUM_TASKS, &tasks), "LAPI_Qenv");
  if (tasks != 2) fail("it is a job of two tasks, this one has " + std::to_string(tasks));
  check(LAPI_Senv(handle, INTERRUPT_SET, 0), "LAPI_Senv");
  run(kind == "ud", known->second, blocks);
  check(LAPI_Gfence(handle), "LAPI_Gfence");
  check(LAPI_Term(handle), "LAPI_Term");
  return 0;
}
