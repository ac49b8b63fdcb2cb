// The engine over a World in which nothing moves by itself, for tests of it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/rpi/lapi/request_engine.h"

namespace openlapi::rpi {

// Peer 0 is this process.
class QuietWorld final : public World {
 public:
  Peer self() const override { return 0; }
  Peer peers() const override { return 2; }
  void send_message(Peer, std::span<const std::byte> header, std::span<const std::byte>, WhenDone when_sent) override {
    if (sends_without_memory > 0 && sends_without_memory-- > 0) throw std::bad_alloc();
    headers.emplace_back(decode_envelope(header).value_or(Envelope{}));
    if (when_sent.function != nullptr) when_sent.function(when_sent.argument, Outcome::done);
  }
  void get(Peer, std::uint64_t remote, std::span<std::byte> local, WhenDone when_here) override {
    if (gets_without_memory > 0 && gets_without_memory-- > 0) throw std::bad_alloc();
    read_from = remote;
    read_to = local;
    when_here.function(when_here.argument, Outcome::done);
  }
  bool progress(bool block) override {
    if (progress_fails) throw std::bad_alloc();
    if (on_progress) std::exchange(on_progress, nullptr)();
    blocked = block;
    return block && !idle;
  }
  void interrupt() override {}
  void has_left(Peer peer) override { left.push_back(peer); }
  void expect_no_more(Peer peer) override { unexpected.push_back(peer); }
  void give_up(Peer peer, const char*) override { given_up.push_back(peer); }
  bool drained() override { return true; }

  std::vector<Envelope> headers{};
  std::vector<Peer> left{}, unexpected{}, given_up{};
  std::uint64_t read_from = 0;
  std::span<std::byte> read_to{};
  bool blocked = false;
  bool progress_fails = false;
  bool idle = false;                                      // nothing moves
  std::function<void()> on_progress{};                    // what happens in the next one
  int sends_without_memory = 0, gets_without_memory = 0;  // so many sends and gets fail
};

class QuietEngine : public testing::Test, public MpiLayer {
 protected:
  QuietEngine() : processes_(2), members_{&processes_[0], &processes_[1]} {
    lam_ssi_rpi_cbuf_init();
    engine_.use(world_);
    for (_proc& process : processes_) engine_.add_process(process);
    group_.g_nprocs = 2;
    group_.g_procs = members_.data();
    communicator_.c_group = &group_;
  }
  ~QuietEngine() override {
    for (_req& request : requests_) engine_.destroy(&request);
  }

  void request_begun() override { ++active_; }
  void request_ended() override { --active_; }
  bool start_request(MPI_Request request) override { return start(*request); }
  int error_of(int error_class) override { return error_class; }
  int next_number() override { return 0; }
  bool is_homogeneous() override { return true; }
  bool has_debugger() override { return debugger_; }
  Holding hold_calls() override {
    EXPECT_FALSE(calls_are_held_);
    calls_are_held_ = holding_ == Holding::held;
    return holding_;
  }
  void release_calls() override {
    EXPECT_TRUE(calls_are_held_);
    calls_are_held_ = false;
  }
  void tell(const _proc& process, const char* what) override {
    EXPECT_EQ(&process, members_[1]);
    told_.emplace_back(what);
  }

  _req& build(int type, int rank, int tag, void* memory, std::size_t size) {
    _req& request = requests_.emplace_back();
    request.rq_type = type;
    request.rq_rank = rank;
    request.rq_tag = tag;
    request.rq_comm = &communicator_;
    request.rq_proc = rank == MPI_ANY_SOURCE ? nullptr : members_[static_cast<std::size_t>(rank)];
    request.rq_packbuf = static_cast<char*>(memory);
    request.rq_packsize = static_cast<int>(size);
    EXPECT_EQ(engine_.build(&request), 0);
    return request;
  }
  bool start(_req& request) {
    request.rq_state = LAM_RQSSTART;
    request.rq_flags = 0;
    ++active_;
    return engine_.start(&request) == 0;
  }
  _req& receive(int rank, int tag, void* memory, std::size_t size) {
    _req& request = build(LAM_RQIRECV, rank, tag, memory, size);
    EXPECT_TRUE(start(request));
    return request;
  }
  // A message of peer 1 begins to arrive.
  Landing arrive(const Envelope& envelope, std::uint64_t length) {
    std::array<std::byte, kMostEnvelope> room;
    return engine_.arriving({1, encode(envelope, room), length});
  }
  static Envelope message(std::uint32_t sequence, int tag) {
    return {.kind = EnvelopeKind::short_message, .sequence = sequence, .tag = tag, .rank = 1};
  }
  static void complete(const Landing& landing) {
    landing.when_done.function(landing.when_done.argument, Outcome::done);
  }

  QuietWorld world_{};
  std::vector<_proc> processes_;
  std::vector<_proc*> members_;
  _group group_{};
  _comm communicator_{};
  std::deque<_req> requests_{};
  int active_ = 0;
  bool debugger_ = false;
  Holding holding_ = Holding::never;  // what whoever wants to hold calls off is told
  bool calls_are_held_ = false;
  std::vector<std::string> told_{};
  RequestEngine engine_{*this, 64};
  char memory_[256] = {};
};

}  // namespace openlapi::rpi
