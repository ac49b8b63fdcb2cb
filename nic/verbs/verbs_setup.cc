#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/base/random_number.h"
#include "nic/verbs/inline_limit.h"
#include "nic/verbs/monotonic_time.h"
#include "nic/verbs/traffic_class.h"
#include "nic/verbs/verbs_ports.h"
#include "nic/verbs/verbs_transport.h"

namespace openlapi {
namespace {

using Kind = VerbsSetupError::Kind;
constexpr std::uint32_t kWantedInline = 256;  // bytes

bool refuse(VerbsSetupError& error, Kind kind, int reason, std::string text) {
  error = {kind, reason, std::move(text)};
  return false;
}

// Memory for the adapter was refused: most often the limit of locked memory is why.
bool refuse_memory(VerbsSetupError& error, const std::string& device, const char* what, int reason) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  std::string text = device + ": no memory for " + what + ": " + std::strerror(reason);
  if ((reason != ENOMEM && reason != EAGAIN) || limit.rlim_cur == RLIM_INFINITY) {
    return refuse(error, Kind::system, reason, std::move(text));
  }
  text += "; this process may lock " + std::to_string(limit.rlim_cur / 1024) +
          " KiB (RLIMIT_MEMLOCK), RDMA needs several MiB: raise it with ulimit -l or /etc/security/limits.conf";
  return refuse(error, Kind::locked_memory, reason, std::move(text));
}

// The limit is the process's, which has a transport for each adapter of each context, with two queues of arrivals:
// those of two contexts that use 8 adapters take half of what may be locked. Connections and bulk need the rest.
std::uint32_t lockable_slots(std::uint32_t mtu) {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return verbs::kFewestReceiveSlots;
  const rlim_t slots = limit.rlim_cur / 64 / verbs::ReceiveRing::bytes_of_slot(mtu);
  return static_cast<std::uint32_t>(std::clamp<rlim_t>(slots, verbs::kFewestReceiveSlots, verbs::kMostReceiveSlots));
}

std::uint32_t random_qkey() {
  std::uint32_t number = 0;
  while (number == 0) number = random_number<std::uint32_t>() & 0x7fffffff;
  return number;
}

// The largest MTU that InfiniBand knows and that is not above `bytes`.
std::uint32_t round_down_mtu(std::uint32_t bytes) {
  std::uint32_t mtu = verbs::kLargestMtu;
  while (mtu > bytes) mtu /= 2;
  return mtu;
}

void bound_connections(const ibv_device_attr& device, VerbsConfig& config) {
  const auto queue_pairs = static_cast<std::uint32_t>(std::max(device.max_qp, 0));
  const verbs::ConnectionBounds bounds = verbs::connection_bounds(
      {.tasks = config.tasks, .local_tasks = config.local_tasks}, queue_pairs, config.one_sided);
  std::uint32_t& packets = config.connection_limits.connections;
  std::uint32_t& reads = config.bulk_limits.connections;
  packets = std::min(packets, bounds.packets);
  reads = std::min(reads, bounds.bulk);
  config.short_read_limits.connections = std::min(config.short_read_limits.connections, bounds.one_sided);
  config.connection_limits.most_rings = std::min(config.connection_limits.most_rings, bounds.rings);
}

}  // namespace

std::unique_ptr<VerbsTransport> open_verbs_transport(const VerbsConfig& config, VerbsSetupError& error) {
  std::unique_ptr<VerbsTransport> transport(new VerbsTransport(config));
  error = {};
  if (!transport->open(error)) return nullptr;
  return transport;
}

VerbsTransport::~VerbsTransport() = default;

bool VerbsTransport::open(VerbsSetupError& error) {
  if (config_.mtu != 0 && config_.mtu < verbs::kSmallestMtu) {
    return refuse(
        error, Kind::bad_size, 0,
        "MTU " + std::to_string(config_.mtu) + ": at least " + std::to_string(verbs::kSmallestMtu) + " is needed");
  }
  // Keeps the drivers' own queues from being shared with forked children, where the kernel does not. An error means
  // that somebody used the library before; then it is too late.
  ibv_fork_init();
  return choose(error) && open_queues(error);
}

bool VerbsTransport::choose(VerbsSetupError& error) {
  std::string reason;
  const std::vector<verbs::PortFacts> ports = verbs::find_ports(config_.port.device, reason);
  if (ports.empty()) return refuse(error, Kind::no_device, 0, reason);
  const auto choice = verbs::choose_port(ports, config_.port, reason);
  if (!choice) {
    const bool no_permission =
        std::any_of(ports.begin(), ports.end(), [](const verbs::PortFacts& port) { return port.forbidden; });
    return refuse(error, no_permission ? Kind::no_permission : Kind::unusable_port, 0, reason);
  }
  const verbs::PortFacts& port = ports[choice->which];
  device_ = port.device;
  port_ = port.port;
  gid_index_ = choice->gid.index;
  gid_vlan_ = choice->gid.vlan;
  partition_index_ = choice->partition.index;
  local_ = {.fabric = choice->gid.fabric,
            .mtu = round_down_mtu(config_.mtu == 0 ? port.mtu : std::min(config_.mtu, port.mtu)),
            .queue_pair = 0,
            .qkey = random_qkey(),
            .lid = port.lid,
            .gid = choice->gid.gid,
            .route_header = port.route_header,
            .partition_key = choice->partition.key};
  if (!config_.traffic_class) {
    config_.traffic_class = verbs::system_traffic_class(device_, port_, choice->gid.fabric);
  }
  context_ = verbs::open_device(device_, reason);
  if (!context_) return refuse(error, Kind::system, errno, device_ + " " + reason);
  return true;
}

bool VerbsTransport::open_queues(VerbsSetupError& error) {
  ibv_device_attr device{};
  if (const int reason = ibv_query_device(context_.get(), &device); reason != 0) {
    return refuse(error, Kind::system, reason, device_ + " does not tell its properties: " + std::strerror(reason));
  }
  const auto most = static_cast<std::uint32_t>(std::max(std::min(device.max_qp_wr, device.max_cqe / 2), 0));
  if (most < verbs::SendRing::kFewestSlots) {
    return refuse(error, Kind::unusable_port, 0, device_ + " has queues of " + std::to_string(most) + " requests only");
  }
  const std::uint32_t queues = config_.connections ? 2 : 1;  // of arrivals
  bound_connections(device, config_);
  config_.receive_slots = std::min({config_.receive_slots, most / queues, lockable_slots(local_.mtu)});
  local_.packets_of_sender =
      static_cast<std::uint16_t>(verbs::packets_of_sender(config_.receive_slots, config_.senders));
  config_.send_slots = std::min(std::max(config_.send_slots, verbs::SendRing::kFewestSlots), most);
  if (const int reason = domains_.open(*context_); reason != 0) {
    return refuse_memory(error, device_, "a protection domain", reason);
  }
  handles_.open(domains_.of_memory(), local_.fabric != verbs::Fabric::infiniband);
  channel_.reset(ibv_create_comp_channel(context_.get()));
  if (!channel_) return refuse_memory(error, device_, "a completion channel", errno);
  for (const int descriptor : {channel_->fd, context_->async_fd}) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  }
  const auto length = [](std::uint32_t slots) { return static_cast<int>(2 * slots); };  // room for what a reset leaves
  send_completions_ = domains_.make_completion_queue(length(config_.send_slots), nullptr);
  receive_completions_ = domains_.make_completion_queue(length(queues * config_.receive_slots), channel_.get());
  if (!send_completions_ || !receive_completions_) return refuse_memory(error, device_, "completion queues", errno);
  if (!create_queue_pair(device)) return refuse_memory(error, device_, "a queue pair for datagrams", errno);
  return open_rings(error);
}

bool VerbsTransport::create_queue_pair(const ibv_device_attr& device) {
  send_pieces_ = std::min(verbs::SendRing::kMaxPieces, static_cast<std::uint32_t>(std::max(device.max_sge, 1)));
  ibv_qp_init_attr wanted{};
  wanted.send_cq = send_completions_.get();
  wanted.recv_cq = receive_completions_.get();
  wanted.qp_type = IBV_QPT_UD;
  wanted.cap = {.max_send_wr = config_.send_slots,
                .max_recv_wr = config_.receive_slots,
                .max_send_sge = send_pieces_,
                .max_recv_sge = 1,
                .max_inline_data = 0};
  queue_pair_ = verbs::InlineLimit(kWantedInline).make(domains_.of_queues(), wanted);
  if (!queue_pair_) return false;
  sends_.set_inline(wanted.cap.max_inline_data, send_pieces_);
  local_.queue_pair = queue_pair_->qp_num;
  return true;
}

bool VerbsTransport::open_rings(VerbsSetupError& error) {
  limits_ = {.max_packet = local_.mtu, .max_burst = verbs::SendRing::kMaxBurst, .reliable = false, .checked = true};
  int reason =
      receives_.open(domains_.of_memory(), config_.receive_slots, local_.mtu, verbs::ReceiveRing::kRouteHeader, 0);
  if (reason == 0) reason = sends_.open(domains_.of_memory(), config_.send_slots, local_.mtu);
  if (reason != 0) return refuse_memory(error, device_, "packets", reason);
  receives_.post_to(*queue_pair_);
  held_ = verbs::HeldSlots(2 * config_.receive_slots + verbs::CopiedPackets::kMost);
  reason = make_ready();
  if (reason == 0) {
    open_powers();
    return true;
  }
  return refuse(error, Kind::system, reason,
                device_ + " port " + std::to_string(port_) + " refuses datagrams: " + std::strerror(reason));
}

// What the adapter cannot do is done with datagrams.
void VerbsTransport::open_powers() {
  if (config_.bulk) {
    bulk_ =
        verbs::BulkReads::make(*context_, domains_, *channel_, {port_, partition_index_}, *this, config_.bulk_limits);
  }
  if (bulk_ && config_.one_sided) {
    short_reads_ = verbs::ShortReads::make(*context_, domains_, *channel_, {port_, partition_index_}, *this,
                                           config_.short_read_limits);
  }
  if (config_.link_status) watch_port();
  if (!config_.connections) return;
  connections_ = verbs::PacketConnections::make({.context = context_.get(),
                                                 .domains = &domains_,
                                                 .arrivals = receive_completions_.get(),
                                                 .place = {port_, partition_index_},
                                                 .max_packet = local_.mtu,
                                                 .receive_slots = config_.receive_slots,
                                                 .pieces = send_pieces_,
                                                 .inline_bytes = kWantedInline},
                                                *this, config_.connection_limits);
}

// Where the driver tells nothing the traffic does.
void VerbsTransport::watch_port() {
  std::string ignored;
  verbs::DeviceContext context = verbs::open_device(device_, ignored);
  if (!context) return;
  port_status_ = std::make_unique<verbs::PortStatus>(
      std::move(context), verbs::PortStatus::Place{port_, gid_index_, local_, partition_index_}, channel_->fd,
      [this](auto& place) { return follow_port(place); }, [this] { give_up(); });
  if (!port_status_->valid()) port_status_.reset();
}

ibv_ah_attr VerbsTransport::route_to_address(const verbs::Address& peer) const {
  ibv_ah_attr route{};
  route.port_num = static_cast<std::uint8_t>(port_);
  route.dlid = verbs::next_lid(local_, peer);
  route.sl = config_.service_level;
  if (verbs::needs_global_route(local_, peer)) {
    route.is_global = 1;
    std::copy(peer.gid.begin(), peer.gid.end(), route.grh.dgid.raw);
    route.grh.sgid_index = static_cast<std::uint8_t>(gid_index_);
    route.grh.hop_limit = 64;
    route.grh.traffic_class = config_.traffic_class.value_or(0);
  }
  return route;
}

// A peer that was reached before is known at once; what is sent before its handle is there may be lost.
bool VerbsTransport::add_peer(PeerIndex peer, const PeerAddress& bytes, std::string& error) {
  verbs::Address address;
  undecided_ = false;
  if (!verbs::decode(bytes, address, error) || !verbs::compatible(local_, address, error)) return false;
  const Remote* const before = remotes_.find(peer);
  const bool is_known = before != nullptr && before->handle;
  const bool anew = is_known && before->moves == moves_;
  auto found = handles_.find_or_make({route_to_address(address), moves_, anew, verbs::milliseconds()});
  const bool is_looked_for = found.error == EINPROGRESS;
  if (!found.handle && !(is_known && is_looked_for)) {
    undecided_ = is_looked_for;
    error = device_ + " finds no way to GID " + verbs::to_text(address.gid) + ", LID " + std::to_string(address.lid) +
            ": " + std::strerror(found.error);
    return false;
  }
  Remote& remote = remotes_.make(peer);
  if (!remotes_.is_task(peer)) {
    if (is_known) origins_.remove(verbs::DatagramOrigins::number_of(local_, remote.address));
    origins_.add(verbs::DatagramOrigins::number_of(local_, address));
  }
  remote.destination.queue_pair = address.queue_pair;
  remote.destination.qkey = address.qkey;
  remote.destination.max_packet = std::min(local_.mtu, address.mtu);
  remote.address = address;
  remote.next_renewal = 0;
  if (found.handle) {
    retired_.add(remote.use(std::move(found.handle), moves_), sends_);
  } else {
    if (!is_stale(remote)) remote.moves = kOtherPlace;
  }
  forget_connections(peer);
  return true;
}

std::uint32_t VerbsTransport::max_packet_to(PeerIndex peer) const {
  const Remote* const remote = remotes_.find(peer);
  return remote != nullptr && remote->handle ? remote->destination.max_packet : limits_.max_packet;
}

std::uint64_t VerbsTransport::origin_of(PeerIndex peer) const {
  const verbs::Address* const end = remotes_.is_task(peer) ? nullptr : address_of(peer);
  return end != nullptr ? verbs::DatagramOrigins::number_of(local_, *end) : 0;
}

}  // namespace openlapi
