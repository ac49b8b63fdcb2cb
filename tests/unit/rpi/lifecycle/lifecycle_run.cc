#include "tests/unit/rpi/lifecycle/lifecycle_run.h"

#include <algorithm>
#include <cstdlib>

#include "api/rpi/host/self_module.h"

namespace openlapi::rpi {
namespace {

constexpr int kContexts = 2, kTags = 3, kPeers = 4;
constexpr int kLong = 70'000;  // longer than what the module self copies

const lam_ssi_1_0_0_t* const built_in[] = {self_module()};

int module_of_rank(int rank) { return (rank - 1) % kPeerModules; }

}  // namespace

char data_byte(int source, int number, int at) {
  if (at == 0) return static_cast<char>(source);
  if (at < 3) return static_cast<char>(number >> (8 * (at - 1)));
  return static_cast<char>(source * 31 + number * 7 + at);
}

LifecycleRun::LifecycleRun(std::uint64_t seed, int steps)
    : random_(seed), steps_(steps), has_peers_(seed % 2 == 1), modules_(built_in) {
  setenv("LAM_MPI_SSI_base_module_path", "/nonexistent", 1);
  make_processes();
  make_host();
}

LifecycleRun::~LifecycleRun() {
  communicators_.clear();
  host_.reset();
  modules_.close();
  lam_nukeprocs();
}

void LifecycleRun::make_processes() {
  for (int rank = 0; rank <= (has_peers_ ? kPeers : 0); ++rank) {
    _gps gps{rank, rank, rank, rank};
    _proc* process = lam_procadd(&gps);
    if (rank == 0) lam_myproc = process;
  }
}

void LifecycleRun::make_host() {
  MessageLimits limits{.tag = 1000, .context = 100};
  modules_.open(nullptr);
  modules_.select(MPI_THREAD_SINGLE);
  limits = modules_.init(std::span(lam_procs, 1), limits);
  if (has_peers_) {
    self_ = {.name = "self", .actions = *modules_.actions()};
    std::vector<DrivenModule*> all{&self_};
    for (int n = 0; n < kPeerModules; ++n) {
      peer_modules_[n] = peer_module(n);
      all.push_back(&peer_modules_[n]);
    }
    const auto module_of = [this](const _proc& process) {
      return &process == lam_myproc ? &self_ : &peer_modules_[module_of_rank(process.p_gps.gps_grank)];
    };
    host_ = std::make_unique<Host>(all, module_of, limits, MPI_THREAD_SINGLE);
  } else {
    host_ = std::make_unique<Host>(modules_, limits, MPI_THREAD_SINGLE);
  }
  const std::span all(lam_procs, static_cast<std::size_t>(lam_num_procs));
  for (int n = 0; n < kContexts; ++n) communicators_.push_back(std::make_unique<Communicator>(n, all));
}

void LifecycleRun::run() {
  for (step_ = 1; step_ <= steps_; ++step_) {
    do_something();
    look();
  }
  finish();
}

void LifecycleRun::do_something() {
  const int what = any_of(0, 99);
  if (what < 20) return send();
  if (what < 40) return receive();
  if (what < 55) return has_peers_ ? peer_sends() : send();
  if (what < 63) return probe_now();
  if (what < 70) return cancel_one();
  if (what < 80) return test_one();
  if (what < 84) return wait_for_one();
  if (what < 88) return free_one();
  if (what < 94) return restart_one();
  if (has_peers_) peers(any_of(0, kPeerModules - 1)).receive_next(any_of(1, 3));
  host_->progress();
}

int LifecycleRun::any_length(int context) {
  if (one_in(20)) return kLong + any_of(0, 9);
  return any_of(context == 1 ? 3 : 0, 24);  // orphans are of context 1
}

Layout LifecycleRun::any_layout(int size) {
  const int block = any_of(1, 5);
  if (size % block != 0 || one_in(2)) return contiguous(size);
  return {.block = block, .stride = block + any_of(0, 3), .blocks = size / block};
}

LifecycleRun::Known& LifecycleRun::add(Operation operation) {
  Known& known = *known_.emplace_back(std::make_unique<Known>());
  const Layout& layout = operation.layout;
  known.buffer.assign(static_cast<std::size_t>(layout.stride) * static_cast<std::size_t>(layout.blocks) + 1,
                      kUntouched);
  operation.buffer = known.buffer.data();
  known.operation = operation;
  known.handle = host_->build(operation);
  start(known);
  return known;
}

void LifecycleRun::start(Known& known) {
  const Operation& operation = known.operation;
  const int context = operation.comm->c_contextid, size = operation.layout.size();
  known.is_active = true;
  known.is_done = known.is_cancelled = false;
  if (!known.is_send()) {
    std::ranges::fill(known.buffer, kUntouched);
    known.model =
        model_.add(ModelRequest{context, operation.peer, operation.tag, size, operation.type == LAM_RQIPROBE});
    return host_->start(known.handle);
  }
  // The number is the host's next one; it is known when it is started, and the data must be there before.
  known.number = next_peer_number_++;
  for (int at = 0; at < size; ++at) {
    known.buffer[static_cast<std::size_t>(at / operation.layout.block * operation.layout.stride +
                                          at % operation.layout.block)] = data_byte(0, known.number, at);
  }
  if (operation.peer == 0) known.model = model_.add(ModelMessage{context, 0, operation.tag, size, known.number});
  host_->start(known.handle);
  if (known.handle->rq_seq != known.number) throw Failure("messages are not numbered one after the other");
}

void LifecycleRun::send() {
  Operation operation{.type = any_of(LAM_RQISEND, LAM_RQIRSEND), .tag = any_of(0, kTags - 1)};
  const int context = any_of(0, kContexts - 1);
  operation.comm = communicators_[static_cast<std::size_t>(context)]->handle();
  operation.layout = any_layout(any_length(context));
  operation.peer = has_peers_ && one_in(3) ? any_of(1, kPeers) : 0;
  operation.marks = one_in(4) ? LAM_RQFPERSIST : 0;
  add(operation);
}

void LifecycleRun::receive() {
  const int context = any_of(0, kContexts - 1);
  Operation operation{.type = one_in(8) ? LAM_RQIPROBE : LAM_RQIRECV};
  operation.comm = communicators_[static_cast<std::size_t>(context)]->handle();
  operation.layout = operation.type == LAM_RQIPROBE ? contiguous(0) : any_layout(any_length(context));
  operation.peer = one_in(2) ? MPI_ANY_SOURCE : any_of(0, has_peers_ ? kPeers : 0);
  operation.tag = one_in(3) ? MPI_ANY_TAG : any_of(0, kTags - 1);
  operation.marks = operation.type == LAM_RQIRECV && one_in(4) ? LAM_RQFPERSIST : 0;
  add(operation);
}

void LifecycleRun::peer_sends() {
  const int rank = any_of(1, kPeers), context = any_of(0, kContexts - 1), tag = any_of(0, kTags - 1);
  const int length = any_length(context), number = 20'000 + step_;
  Peers::Arrival arrival{lam_procs[rank], {length, tag, 0, rank, context, number}, {}};
  for (int at = 0; at < length; ++at) arrival.data.push_back(data_byte(rank, number, at));
  model_.add(ModelMessage{context, rank, tag, length, number});
  peers(module_of_rank(rank)).send(std::move(arrival));
}

void LifecycleRun::probe_now() {
  const ModelRequest probe{any_of(0, kContexts - 1), one_in(2) ? MPI_ANY_SOURCE : any_of(0, has_peers_ ? kPeers : 0),
                           one_in(3) ? MPI_ANY_TAG : any_of(0, kTags - 1), 0, true};
  MPI_Status status{};
  const bool found = host_->iprobe(communicators_[static_cast<std::size_t>(probe.context)]->handle(), probe.source,
                                   probe.tag, &status);
  look();  // receives may have taken messages before
  const bool all_arrived = !has_peers_ || (peers(0).is_quiet() && peers(1).is_quiet());
  model_.judge_probe(probe, found ? &status : nullptr, all_arrived);
}

LifecycleRun::Known* LifecycleRun::any_active() {
  std::vector<Known*> active;
  for (const auto& each : known_) {
    if (each->is_active && !each->is_orphan) active.push_back(each.get());
  }
  return active.empty() ? nullptr : active[static_cast<std::size_t>(any_of(0, static_cast<int>(active.size()) - 1))];
}

void LifecycleRun::cancel_one() {
  Known* known = any_active();
  if (known == nullptr || known->is_cancelled) return;
  const bool was_done = known->is_done;
  host_->cancel(known->handle);
  known->is_cancelled = (known->handle->rq_flags & LAM_RQFCANCEL) != 0;
  if (known->is_cancelled == was_done) {
    throw Failure(was_done ? "a request was cancelled that was done"
                           : "a request was not cancelled that had not begun");
  }
  if (!known->is_cancelled) return;
  if (!known->is_send()) {
    model_.cancel(known->model);
  } else if (known->operation.peer == 0) {
    model_.withdraw(known->model);
  }
}

void LifecycleRun::test_one() {
  Known* known = any_active();
  if (known == nullptr) return;
  MPI_Status status{};
  MPI_Request handle = known->handle;
  host_->progress();
  look();  // what it got is not known any more when it has been tested
  const bool is_complete = host_->test(handle, &status);
  known->handle = handle;
  if (is_complete) judge_completion(*known, status);
}

void LifecycleRun::wait_for_one() {
  Known* known = any_active();
  if (known == nullptr || !(known->is_done || known->is_cancelled)) return;
  const MPI_Status status = host_->wait(known->handle);
  judge_completion(*known, status);
}

void LifecycleRun::free_one() {
  Known* known = any_active();
  const bool may = known != nullptr && known->operation.comm->c_contextid == 1 && !known->is_done &&
                   !known->is_cancelled && known->operation.type == LAM_RQIRECV;
  if (!may) return;
  MPI_Request handle = known->handle;
  known->is_orphan = true;
  host_->free(handle);
  if (handle != MPI_REQUEST_NULL) throw Failure("a request that was freed is not MPI_REQUEST_NULL");
}

void LifecycleRun::restart_one() {
  for (const auto& each : known_) {
    if (each->is_active || each->handle == MPI_REQUEST_NULL || one_in(2)) continue;
    return start(*each);
  }
}

}  // namespace openlapi::rpi
