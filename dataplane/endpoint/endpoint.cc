#include "dataplane/endpoint/endpoint.h"

#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi {

unsigned Endpoint::wire_version() { return wire::kPacketVersion; }

Endpoint::Endpoint(const EndpointConfig& config, std::span<Transport* const> transports, Clock& clock,
                   RouteResolver& resolver, HandlerHost& host)
    : core_(std::make_unique<EndpointCore>(config, transports, clock, resolver, host)) {}
Endpoint::~Endpoint() = default;

Submit Endpoint::put(const PutRequest& request) { return core_->submitted(core_->put(request)); }
Submit Endpoint::get(const GetRequest& request) { return core_->get(request); }
Submit Endpoint::active_message(const ActiveMessageRequest& request) {
  return core_->submitted(core_->active_message(request));
}
Submit Endpoint::read_modify_write(const RmwRequest& request) {
  return core_->submitted(core_->read_modify_write(request));
}
Submit Endpoint::put_layout(const LayoutPutRequest& request) { return core_->submitted(core_->put_layout(request)); }
Submit Endpoint::get_layout(const LayoutGetRequest& request) { return core_->get_layout(request); }
Submit Endpoint::layout_message(const LayoutMessageRequest& request) {
  return core_->submitted(core_->layout_message(request));
}
void Endpoint::enter_handler() { core_->enter_handler(); }
void Endpoint::leave_handler() { core_->leave_handler(); }
void Endpoint::give_up_unbegun(const UnbegunOperation& operation, Submit why) {
  core_->give_up_unbegun(operation, why);
}
unsigned Endpoint::progress(Step step) { return core_->progress(step); }
void Endpoint::hold_arrivals(bool hold) { core_->hold_arrivals(hold); }
ArrivalWord Endpoint::arrival_word() const { return core_->arrival_word(); }
void Endpoint::flush() { core_->flush(); }
void Endpoint::completion_returned(const CompletionRun& run) { core_->completion_returned(run); }
bool Endpoint::reply_has_room(PeerIndex peer) { return core_->reply_has_room(peer); }
FenceTicket Endpoint::begin_fence() { return core_->begin_fence(); }
FenceState Endpoint::fence_state(const FenceTicket& ticket, PeerIndex* awaited) {
  return core_->fence_state(ticket, awaited);
}
void Endpoint::forget_fence(const FenceTicket& ticket) { core_->forget_fence(ticket); }
void Endpoint::begin_barrier() { core_->begin_barrier(); }
void Endpoint::begin_exchange(std::uint64_t value) { core_->begin_exchange(value); }

void Endpoint::confirm_exchange() { core_->confirm_exchange(); }
CollectiveState Endpoint::collective_state() { return core_->collective_state(); }
std::span<const std::uint64_t> Endpoint::exchanged() const { return core_->exchanged(); }
void Endpoint::purge(PeerIndex peer) { core_->purge(peer); }
void Endpoint::resume(PeerIndex peer, std::uint64_t epoch) { core_->resume(peer, epoch); }
bool Endpoint::purged(PeerIndex peer) const { return core_->purged(peer); }
std::uint32_t Endpoint::life_of(PeerIndex peer) const { return core_->life_of(peer); }
CounterLoss Endpoint::counter_loss(std::uint64_t counter) const { return core_->counter_loss(counter); }
void Endpoint::forget_counter_loss(std::uint64_t counter) { core_->forget_counter_loss(counter); }
void Endpoint::guard_layouts(bool on) { core_->guard_layouts(on); }
void Endpoint::watch_counters(bool on) { core_->watch_counters(on); }
void Endpoint::expect_from(PeerIndex peer) { core_->expect_from(peer); }
void Endpoint::expect_no_more_from(PeerIndex peer) { core_->expect_no_more_from(peer); }
Nanoseconds Endpoint::deadline() const { return core_->deadline(); }
bool Endpoint::has_work() const { return core_->has_work(); }
bool Endpoint::drained() { return core_->drained(); }
std::size_t Endpoint::not_taken() const { return core_->not_taken(); }
std::size_t Endpoint::not_answered() const { return core_->not_answered(); }
std::size_t Endpoint::not_accepted_of_own() const { return core_->not_accepted_of_own(); }
bool Endpoint::handlers_exhausted() const { return core_->handlers_exhausted(); }
std::uint64_t Endpoint::sends_completed() const { return core_->sends_completed(); }
std::uint64_t Endpoint::receives_completed() const { return core_->receives_completed(); }
std::uint32_t Endpoint::max_user_header() const { return core_->max_user_header(); }
std::uint32_t Endpoint::max_packet_payload() const { return core_->max_packet_payload(); }
std::uint32_t Endpoint::max_packets_out() const { return core_->max_packets_out(); }
MessageStatistics Endpoint::statistics(StatisticsPath path) const { return core_->statistics(path); }
void Endpoint::set_timeout(Nanoseconds timeout) { core_->set_timeout(timeout); }
void Endpoint::set_ack_threshold(std::uint32_t packets) { core_->set_ack_threshold(packets); }
std::size_t Endpoint::contacted_peers() const { return core_->contacted_peers(); }
PeerLoad Endpoint::load(PeerIndex peer) const { return core_->load(peer); }

}  // namespace openlapi
