#include "api/rpi/lapi/endpoint_world.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "api/rpi/lapi/aligned_calls.h"
#include "api/rpi/lapi/fault_texts.h"
#include "api/rpi/lapi/outstanding.h"
#include "api/rpi/lapi/peer_ends.h"
#include "api/rpi/lapi/shortage.h"
#include "api/rpi/lapi/world_operations.h"
#include "api/wiring/endpoint_settings.h"
#include "api/wiring/libraries.h"
#include "api/wiring/open_transports.h"
#include "api/wiring/thread_plan.h"
#include "dataplane/base/monotonic_clock.h"
#include "dataplane/endpoint/endpoint.h"

namespace openlapi::rpi {

namespace {

constexpr std::uint32_t kInstance = 1;          // of the job's contexts: the only one
constexpr Nanoseconds kBetweenLooks = kSecond;  // at processes that may have ended
constexpr std::size_t kReserve = 1 << 20;       // bytes, for the endpoint's first packets and more

const char* read_variable(const char* name) { return std::getenv(name); }

void print_notice(Notice notice, int info_level, const std::string& text) {
  const int needed =
      notice == Notice::path_found || notice == Notice::alone_on_node ? kLevelInformation : kLevelWarning;
  if (info_level >= needed) std::fprintf(stderr, "openlapi: %s\n", text.c_str());
}

struct PeerLink {
  WorldProcess process{};
  bool is_lost = false;
  bool is_told = false;
  bool has_left = false;
  bool is_expected = true;
  bool was_gone = false;   // at the last look
  bool was_heard = false;  // since then
  const char* reason = "";
  Shortage shortage{};  // of memory for what it has sent
  std::deque<Waiting> waiting{};
  Outstanding outstanding{};  // gets, and messages that are arriving
};

class EndpointWorld final : public PolledWorld, public HandlerHost {
 public:
  EndpointWorld(std::span<const WorldProcess> processes, unsigned silence, WorldListener& listener);
  ~EndpointWorld() override;
  bool open(JoinedJob& job, Nanoseconds timeout, std::string& reason);

  Peer self() const override { return self_; }
  Peer peers() const override { return static_cast<Peer>(links_.size()); }
  void send_message(Peer peer, std::span<const std::byte> header, std::span<const std::byte> data,
                    WhenDone when_sent) override;
  void get(Peer peer, std::uint64_t remote, std::span<std::byte> local, WhenDone when_here) override;
  void has_left(Peer peer) override;
  void expect_no_more(Peer peer) override;
  void give_up(Peer peer, const char* reason) override { lose(peer, reason); }
  bool drained() override { return waiting_ == 0 && lost_untold_ == 0 && endpoint_->drained(); }

  bool step(Step which) override;
  void look() override;
  bool is_bringing(Peer peer) const override { return !links_[peer].outstanding.empty(); }
  const Waking& waking() const override { return waking_; }
  ArrivalWord arrival_word() override { return endpoint_->arrival_word(); }
  void flush() override { endpoint_->flush(); }
  bool has_work() override { return waiting_ != 0 || lost_untold_ != 0 || endpoint_->has_work(); }
  Nanoseconds deadline() override { return endpoint_->deadline(); }

 private:
  bool open_endpoint(JoinedJob& job, Nanoseconds timeout, std::string& reason);
  bool plan_waking(std::string& reason);
  template <class Operation>
  void begin(Peer peer, const Operation& operation, const WhenDone& when_done);
  Submit submit(PeerLink& link, const SentMessage& message);
  Submit submit(PeerLink& link, const Reading& reading);
  Submit submit_waiting(PeerLink& link, const Waiting& operation);
  void begin_waiting();
  bool shares_memory(Peer peer) const;
  bool has_ended(Peer peer) const;
  bool is_silent(Peer peer) const;
  void tell_unexpected();
  void lose(Peer peer, const char* reason);
  void tell_losses();
  void release_reserve_if_short();

  HeaderVerdict run_header_handler(const ArrivedMessage& message) override;
  bool run_completion_handler(const CompletionRun& run, bool now) override;
  void run_send_handler(const SendCompletion& completion) override;
  void name_other_version(PeerIndex peer, unsigned version) override;
  void report_fault(Fault fault, PeerIndex peer) override;

  WorldListener& listener_;
  Peer self_ = 0;
  std::deque<PeerLink> links_;  // by Peer
  std::vector<Peer> peers_by_rank_;
  std::size_t waiting_ = 0;  // operations of all peers
  std::size_t lost_untold_ = 0;
  std::vector<Peer> unexpected_{};    // of whom the endpoint is still to be told
  bool moved_ = false;                // something has, in this step
  Nanoseconds looked_ = 0;            // at processes that may have ended
  const unsigned most_silent_looks_;  // a second or more apart; 0: any number
  std::uint64_t most_copied_ = 0;     // bytes of a message, its header included, that the endpoint copies at once
  PeerEnds ends_{};
  // Memory that is kept for the day on which there is none: where not even a first packet can be made, the endpoint
  // waits, and with it the program that would have to free something.
  std::unique_ptr<std::byte[]> reserve_ = std::make_unique_for_overwrite<std::byte[]>(kReserve);
  Settings settings_;
  MonotonicClock clock_;
  OpenTransports opened_;
  std::unique_ptr<ContextRoutes> routes_;
  std::unique_ptr<Endpoint> endpoint_;
  Waking waking_;
};

EndpointWorld::EndpointWorld(std::span<const WorldProcess> processes, unsigned silence, WorldListener& listener)
    : listener_(listener), peers_by_rank_(processes.size()), most_silent_looks_(silence) {
  unexpected_.reserve(processes.size());
  for (Peer peer = 0; peer < processes.size(); ++peer) {
    links_.emplace_back().process = processes[peer];
    peers_by_rank_[processes[peer].rank] = peer;
  }
}

EndpointWorld::~EndpointWorld() {
  if (endpoint_ == nullptr || settings_.info_level < kLevelInformation) return;
  const std::uint64_t strange = endpoint_->statistics(StatisticsPath::network).ghost_packets;
  std::fprintf(stderr, "openlapi: task %u: %" PRIu64 " packets were from nobody of its job\n",
               opened_.bootstrap->task(), strange);
}

bool EndpointWorld::open(JoinedJob& job, Nanoseconds timeout, std::string& reason) {
  self_ = peers_by_rank_[job.bootstrap->task()];
  return open_endpoint(job, timeout, reason) && plan_waking(reason);
}

bool EndpointWorld::open_endpoint(JoinedJob& job, Nanoseconds timeout, std::string& reason) {
  const std::scoped_lock turn(opening_turn());
  SettingError wrong;
  if (!read_settings(read_variable, settings_, wrong)) {
    reason = wrong.message();
    return false;
  }
  const TransportsRequest request{.job = job,
                                  .instance = kInstance,
                                  .how_to_give_addresses = "LAM does",
                                  .tell = print_notice,
                                  .when_loaded = lead_aligned_calls};
  OpenFailure failure;
  const auto is_other = [this](const PeerLink& link) {
    return link.process.pid == 0 && link.process.rank != links_[self_].process.rank;
  };
  ends_.publish(*job.bootstrap, std::ranges::any_of(links_, is_other));
  if (!open_transports(request, settings_, opened_, failure)) {
    reason = failure.text;
    return false;
  }
  for (const PeerLink& link : links_) ends_.add(*job.bootstrap, link.process);
  if (!ends_.begin(*job.bootstrap, reason)) return false;
  routes_ = std::make_unique<ContextRoutes>(opened_.bootstrap, opened_.shared_memory, opened_.shm_numbers,
                                            opened_.networks, settings_.info_level, print_notice);
  std::vector<Transport*> transports;
  for (const std::unique_ptr<Transport>& transport : opened_.transports) transports.push_back(transport.get());
  const EndpointConfig config = endpoint_config(settings_, opened_, kInstance, timeout);
  most_copied_ = config.copy_limit;
  endpoint_ = std::make_unique<Endpoint>(config, transports, clock_, *routes_, *this);
  for (const PeerLink& link : links_) {
    if (link.process.rank != config.self) endpoint_->expect_from(link.process.rank);
  }
  return true;
}

bool EndpointWorld::plan_waking(std::string& reason) {
  const std::vector<std::uint32_t>& near = opened_.bootstrap->local_tasks();
  ThreadPlan plan;
  OpenFailure failure;
  const ThreadNumber number{0, static_cast<unsigned>(near.size()), kInstance};
  if (!plan_thread({settings_, number, true, opened_.networks}, plan, failure)) {
    reason = failure.text;
    return false;
  }
  waking_.pace = plan.poller;
  for (const std::unique_ptr<Transport>& transport : opened_.transports) {
    WakeSource* const source = transport->capabilities().wake_source;
    waking_.blind = waking_.blind || source == nullptr;
    if (source != nullptr) waking_.sources.push_back(source);
  }
  return true;
}

void EndpointWorld::send_message(Peer peer, std::span<const std::byte> header, std::span<const std::byte> data,
                                 WhenDone when_sent) {
  begin(peer, SentMessage{header, data, when_sent}, when_sent);
}

void EndpointWorld::get(Peer peer, std::uint64_t remote, std::span<std::byte> local, WhenDone when_here) {
  begin(peer, Reading{remote, local, when_here}, when_here);
}

template <class Operation>
void EndpointWorld::begin(Peer peer, const Operation& operation, const WhenDone& when_done) {
  PeerLink& link = links_[peer];
  if (link.is_lost) return call(when_done, Outcome::peer_lost);
  const Submit submitted = link.waiting.empty() ? submit(link, operation) : Submit::busy;
  if (submitted == Submit::accepted) [[likely]]
    return;
  if (submitted == Submit::busy) {
    link.waiting.emplace_back(operation);
    ++waiting_;
    return;
  }
  lose(peer, "there is no path to it");
  call(when_done, Outcome::peer_lost);
}

// What the endpoint copies before it returns is sent then.
Submit EndpointWorld::submit(PeerLink& link, const SentMessage& message) {
  const bool is_copied = message.header.size() + message.data.size() <= most_copied_;
  const std::span<const std::byte> rest = message.header.subspan(kFirstWord);
  const Submit submitted =
      endpoint_->active_message({.target = link.process.rank,
                                 .handler = first_word_of(message.header),
                                 .user_header = rest.data(),
                                 .user_header_length = static_cast<std::uint32_t>(rest.size()),
                                 .data = message.data.data(),
                                 .length = message.data.size(),
                                 .target_counter = 0,
                                 .origin_counter = 0,
                                 .completion_counter = 0,
                                 .send_handler = is_copied ? HandlerCall{} : handler_of(message.when_sent)});
  if (is_copied && submitted == Submit::accepted) call(message.when_sent, Outcome::done);
  return submitted;
}

Submit EndpointWorld::submit(PeerLink& link, const Reading& reading) {
  Outstanding::Item* const item = link.outstanding.add(reading.when_here);
  if (item == nullptr) throw std::bad_alloc();
  const Submit submitted = endpoint_->get({.target = link.process.rank,
                                           .target_address = reading.remote,
                                           .buffer = reading.local.data(),
                                           .length = reading.local.size(),
                                           .target_counter = 0,
                                           .origin_counter = 0,
                                           .completion_handler = handler_of(Outstanding::ending(item))});
  if (submitted != Submit::accepted) link.outstanding.forget(item);
  return submitted;
}

Submit EndpointWorld::submit_waiting(PeerLink& link, const Waiting& operation) {
  try {
    if (operation.reads) return submit(link, operation.reading);
    return submit(link, {operation.header_bytes(), operation.message.data, operation.message.when_sent});
  } catch (const std::bad_alloc&) {
    return Submit::busy;
  }
}

void EndpointWorld::begin_waiting() {
  for (PeerLink& link : links_) {
    while (!link.waiting.empty()) {
      const Waiting operation = link.waiting.front();
      const Submit submitted = submit_waiting(link, operation);
      if (submitted == Submit::busy) break;
      link.waiting.pop_front();
      --waiting_;
      moved_ = true;
      if (submitted != Submit::accepted) call(operation.when_done(), Outcome::peer_lost);
    }
  }
}

bool EndpointWorld::step(Step which) {
  moved_ = false;
  const bool moved = endpoint_->progress(which) != 0;
  if (waiting_ != 0) begin_waiting();
  if (!unexpected_.empty()) tell_unexpected();
  moved_ = moved_ || moved || lost_untold_ != 0;
  if (lost_untold_ != 0) tell_losses();
  return moved_;
}

void EndpointWorld::lose(Peer peer, const char* reason) {
  PeerLink& link = links_[peer];
  if (link.is_lost) return;
  link.is_lost = true;
  link.reason = reason;
  ++lost_untold_;
}

// At one look a peer is found gone; what it has sent before is taken until the next one, when it is given up.
void EndpointWorld::look() {
  if (clock_.now() - looked_ < kBetweenLooks) return;
  const Nanoseconds last = std::exchange(looked_, clock_.now());
  for (Peer peer = 0; peer < links_.size(); ++peer) {
    PeerLink& link = links_[peer];
    if (link.is_lost || peer == self_) continue;
    if (link.shortage.lasts_too_long(last, looked_)) lose(peer, text_of(Fault::out_of_memory));
    link.was_heard = link.was_heard || endpoint_->load(link.process.rank).last_heard > last;
    ends_.want(peer, !link.has_left && !std::exchange(link.was_heard, false));
    const bool was_gone = std::exchange(link.was_gone, link.has_left || has_ended(peer));
    if (was_gone && link.was_gone) lose(peer, link.has_left ? "it has called MPI_Finalize" : "it has ended");
    if (is_silent(peer)) lose(peer, "neither it nor its host has answered for longer than rpi_lapi_silence");
  }
  ends_.look();
  if (reserve_ != nullptr) release_reserve_if_short();
}

// By the functions: compilers leave out expressions that only allocate.
void EndpointWorld::release_reserve_if_short() {
  void* const trial = ::operator new(kReserve / 2, std::nothrow);
  if (trial == nullptr) reserve_.reset();
  ::operator delete(trial);
}

// Shared memory tells of processes that end, a network does not.
bool EndpointWorld::shares_memory(Peer peer) const {
  const std::vector<int>& numbers = opened_.shm_numbers;
  return !numbers.empty() && numbers[links_[peer].process.rank] >= 0;
}

bool EndpointWorld::has_ended(Peer peer) const { return !shares_memory(peer) && ends_.has_ended(peer); }

// One that computes says nothing either, but its host does. By looks and not by the clock: between calls of the program
// nobody has asked it.
bool EndpointWorld::is_silent(Peer peer) const {
  return most_silent_looks_ != 0 && !shares_memory(peer) && ends_.is_silent(peer, most_silent_looks_);
}

// It waits for our acknowledgements until they are here: so it is given up only later.
void EndpointWorld::has_left(Peer peer) {
  links_[peer].has_left = true;
  expect_no_more(peer);
}

// Once for a peer: the endpoint counts.
void EndpointWorld::expect_no_more(Peer peer) {
  if (std::exchange(links_[peer].is_expected, false)) unexpected_.push_back(peer);
}

void EndpointWorld::tell_unexpected() {
  for (const Peer peer : unexpected_) endpoint_->expect_no_more_from(links_[peer].process.rank);
  unexpected_.clear();
}

// Outside the engine, which has no use for what the peer has begun once it is purged.
void EndpointWorld::tell_losses() {
  endpoint_->drained();  // acknowledges what was taken
  for (Peer peer = 0; peer < links_.size(); ++peer) {
    PeerLink& link = links_[peer];
    if (!link.is_lost || link.is_told) continue;
    link.is_told = true;
    --lost_untold_;
    endpoint_->purge(link.process.rank);
    link.outstanding.lose_all();
    const std::deque<Waiting> waiting = std::exchange(link.waiting, {});
    waiting_ -= waiting.size();
    for (const Waiting& operation : waiting) call(operation.when_done(), Outcome::peer_lost);
    listener_.lost(peer, link.reason);
  }
}

// What is here as a whole is done before anything else happens: it is not outstanding.
HeaderVerdict EndpointWorld::run_header_handler(const ArrivedMessage& message) {
  const Peer from = peers_by_rank_[message.source];
  PeerLink& link = links_[from];
  link.was_heard = true;
  if (link.is_lost) return {.delivery = Delivery::bury, .style = CompletionStyle::inline_local};
  const bool is_whole = message.one_packet_data != nullptr;
  Outstanding::Item* const item = is_whole ? nullptr : link.outstanding.add({});
  const WholeHeader header(message);
  const IncomingMessage incoming{from, header.bytes(), message.length};
  const Landing landing = is_whole || item != nullptr ? listener_.arriving(incoming) : Landing{.again = true};
  if (landing.again || link.shortage.has_begun()) link.shortage.note(landing.again, message.length, clock_.now());
  moved_ = moved_ || !landing.again;  // what waits for memory does not move
  HandlerCall when_here = landing.again ? HandlerCall{} : handler_of(landing.when_done);
  if (item != nullptr && when_here.function == nullptr) link.outstanding.forget(item);
  if (item != nullptr && when_here.function != nullptr) {
    item->when_done = landing.when_done;
    when_here = handler_of(Outstanding::ending(item));
  }
  const Delivery taken = landing.buffer == nullptr ? Delivery::bury : Delivery::deliver;
  return {.delivery = landing.again ? Delivery::drop : taken,
          .style = CompletionStyle::inline_local,
          .buffer = landing.buffer,
          .completion_handler = when_here.function,
          .completion_info = when_here.info};
}

bool EndpointWorld::run_completion_handler(const CompletionRun& run, bool) {
  moved_ = true;
  call(HandlerCall{run.handler, run.info}, Outcome::done);
  return true;
}

void EndpointWorld::run_send_handler(const SendCompletion& completion) {
  moved_ = true;
  call(completion.handler, completion.given_up ? Outcome::peer_lost : Outcome::done);
}

void EndpointWorld::name_other_version(PeerIndex peer, unsigned version) {
  std::fprintf(stderr, "openlapi: process %u speaks version %u of openlapi's packets, this one %u\n", peer, version,
               wire_version());
}

void EndpointWorld::report_fault(Fault fault, PeerIndex peer) {
  if (peer < peers_by_rank_.size() && is_loss(fault)) return lose(peers_by_rank_[peer], text_of(fault));
  std::fprintf(stderr, "openlapi: process %u, of process %u: %s\n", opened_.bootstrap->task(), peer, text_of(fault));
}

}  // namespace

std::unique_ptr<PolledWorld> open_endpoint_world(JoinedJob& job, std::span<const WorldProcess> processes,
                                                 const LostAfter& lost_after, WorldListener& listener,
                                                 std::string& reason) {
  auto world = std::make_unique<EndpointWorld>(processes, lost_after.silence, listener);
  if (!world->open(job, lost_after.timeout, reason)) return nullptr;
  return world;
}

}  // namespace openlapi::rpi
