// A queue pair gets into the error state when a send fails (on soft-RoCE: when the port is down), or by the adapter's
// decision. It is reset and made ready again under its number. What was on its way is lost.
#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "dataplane/base/cancellation.h"
#include "nic/verbs/monotonic_time.h"
#include "nic/verbs/verbs_ports.h"
#include "nic/verbs/verbs_transport.h"

namespace openlapi {
namespace {

constexpr std::uint64_t kRenewalPause = 1'000;  // ms, besides that of the neighbour

int modify(ibv_qp& queue_pair, ibv_qp_state state, ibv_qp_attr attributes, int mask) {
  attributes.qp_state = state;
  return ibv_modify_qp(&queue_pair, &attributes, IBV_QP_STATE | mask);
}

// Its own, which may have another index now; else the one that the rule gives. An interface and its VLANs may have the
// same link-local address.
std::optional<verbs::GidFacts> own_or_other_gid(const verbs::PortFacts& port, const verbs::Address& address,
                                                std::uint16_t vlan, const verbs::PortPreference& preference) {
  std::string ignored;
  const auto is_own = [&](const verbs::GidFacts& entry) {
    return entry.gid == address.gid && entry.fabric == address.fabric && entry.vlan == vlan &&
           entry.index <= verbs::kHighestGidIndex;
  };
  const auto own = std::ranges::find_if(port.gids, is_own);
  if (own != port.gids.end() && preference.gid_index < 0) return *own;
  return verbs::choose_gid(port, preference, ignored);
}

}  // namespace

// The port has another LID or GID, as of RoCE when its interface gets another IP address. One of another kind leads to
// none of the peers.
bool VerbsTransport::follow_port(verbs::PortStatus::Place& place) {
  const CancellationOff off;
  std::string ignored;
  for (verbs::PortFacts& port : verbs::find_ports(device_, ignored)) {
    if (port.port != port_ || !port.problem.empty() || !port.active) continue;
    std::erase_if(port.gids, [&](const verbs::GidFacts& gid) {
      return gid.fabric != local_.fabric || !verbs::same_kind(local_.fabric, gid.gid, local_.gid);
    });
    const auto gid = own_or_other_gid(port, local_, gid_vlan_, config_.port);
    if (!gid) return false;
    const auto partition = verbs::choose_partition(port, verbs::partition_of(local_.partition_key), ignored);
    if (!partition) return false;
    use_partition(*partition);
    gid_index_ = gid->index;
    gid_vlan_ = gid->vlan;
    local_.gid = gid->gid;
    local_.lid = port.lid;
    local_.route_header = port.route_header;
    place.gid_index = gid_index_;
    place.address = local_;
    place.partition_index = partition_index_;
    ++moves_;
    remotes_.for_each([this](Remote& remote) {
      if (remote.moves == kOtherPlace) remote.moves = moves_ - 1;
    });
    return true;
  }
  return false;
}

// Queue pairs know their partition by its place in the port's table, from their start.
void VerbsTransport::use_partition(const verbs::PartitionFacts& partition) {
  local_.partition_key = partition.key;
  if (partition.index == partition_index_) return;
  partition_index_ = partition.index;
  broken_ = true;
  if (connections_) connections_->use_partition(partition_index_);
  if (bulk_) bulk_->use_partition(partition_index_);
  if (short_reads_) short_reads_->use_partition(partition_index_);
}

// Nothing of the adapter works any more, and nothing brings it back in this process. Peers are reached over other
// adapters, or given up when their time is over.
void VerbsTransport::give_up() {
  if (config_.tell) {
    std::fprintf(stderr, "openlapi: %s has failed, says its driver; this task does not use it any more\n",
                 device_.c_str());
  }
  given_up_ = broken_ = true;
  if (connections_) connections_->give_up();
  if (bulk_) bulk_->give_up();
  if (short_reads_) short_reads_->give_up();
}

// A handle says which GID its packets come from, and where they go. While there is no other one, that which leads to
// where the peer was is used, and that which comes from where this port was is not.
void VerbsTransport::renew(PeerIndex peer) {
  Remote& remote = remotes_.make(peer);
  const std::uint64_t now = verbs::milliseconds();
  if (now < remote.next_renewal) return;
  auto found = handles_.find_or_make({route_to_address(remote.address), moves_, false, now});
  if (!found.handle) {
    if (found.error != EINPROGRESS) remote.next_renewal = now + kRenewalPause;
    return;
  }
  retired_.add(remote.use(std::move(found.handle), moves_), sends_);
  forget_connections(peer);
}

// From the reset state to one in which it sends and receives. 0, or the error number.
int VerbsTransport::make_ready() {
  ibv_qp_attr start{};
  start.pkey_index = partition_index_;
  start.port_num = static_cast<std::uint8_t>(port_);
  start.qkey = local_.qkey;
  int error = modify(*queue_pair_, IBV_QPS_INIT, start, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  if (error == 0) error = modify(*queue_pair_, IBV_QPS_RTR, {}, 0);
  if (error == 0) error = modify(*queue_pair_, IBV_QPS_RTS, {}, IBV_QP_SQ_PSN);
  if (error == 0) receives_.post();
  return error;
}

// After a reset the adapter adds no completions; those that wait, or were taken and not handed out, are of no use any
// more.
bool VerbsTransport::reset_queues() {
  if (modify(*queue_pair_, IBV_QPS_RESET, {}, 0) != 0) return false;
  do {
    for (; first_arrival_ < arrivals_end_; ++first_arrival_) drop(arrivals_[static_cast<std::size_t>(first_arrival_)]);
  } while (look());
  reap_sends();
  lose(sends_.forget_posted());
  receives_.forget_posted();
  return true;
}

// Slots of datagrams are forgotten with the queue pair; those of connections have to be posted again.
void VerbsTransport::drop(const ibv_wc& arrival) {
  if ((arrival.wr_id & verbs::PacketConnections::kArrivalBit) == 0) return;
  connections_->receives().discard(static_cast<std::uint32_t>(arrival.wr_id));
  connections_->post_receives();
  lose(1);
}

bool VerbsTransport::has_link() const {
  if (given_up_) return false;
  ibv_port_attr attributes{};
  return ibv_query_port(context_.get(), static_cast<std::uint8_t>(port_), &attributes) != 0 ||
         attributes.state == IBV_PORT_ACTIVE;
}

void VerbsTransport::recover() {
  if (given_up_) return;
  if (until_retry_ != 0 && --until_retry_ != 0) return;
  const CancellationOff off;
  if (!reset_queues() || make_ready() != 0) {
    ++verbs_counters_.failed_recoveries;
    until_retry_ = kRetryRecovery;
    return;
  }
  ++verbs_counters_.recoveries;
  broken_ = false;
  port_down_ = true;  // to be asked before the next send, which would break the queue pair again
}

// Only asked when something is wrong.
bool VerbsTransport::can_send() {
  const CancellationOff off;
  if (broken_) recover();
  if (broken_) return false;
  if (port_down_) {
    ibv_port_attr attributes{};
    const int error = ibv_query_port(context_.get(), static_cast<std::uint8_t>(port_), &attributes);
    port_down_ = error != 0 || attributes.state != IBV_PORT_ACTIVE;
  }
  return !port_down_;
}

}  // namespace openlapi
