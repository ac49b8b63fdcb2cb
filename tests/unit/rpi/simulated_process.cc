#include "tests/unit/rpi/simulated_process.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace openlapi::rpi {
namespace {

constexpr int kPatience = 5000;  // turns that something may take that has come
constexpr int kContexts = 2, kTags = 3, kUntouched = 0x5a, kScribble = 0x6b;
constexpr std::uintptr_t kNowhere = 8;

char byte_of(int number, std::size_t place) {
  return static_cast<char>(number * 37 + static_cast<int>(place) * 11 + 1);
}

bool is_over(const _req& request) { return request.rq_state == LAM_RQSDONE; }

}  // namespace

SimulatedProcess::SimulatedProcess(Job& job, unsigned rank, unsigned processes)
    : job_(job), rank_(rank), processes_(processes), communicators_(kContexts), world_(job.network, rank, engine_) {
  engine_.use(world_);
  for (_proc& process : processes_) {
    engine_.add_process(process);
    members_.push_back(&process);
  }
  bytes_.dt_size = bytes_.dt_commit = 1;
  bytes_.dt_flags = LAM_DTNOPACK | LAM_DTNOXADJ;
  group_.g_nprocs = static_cast<int>(processes);
  group_.g_myrank = static_cast<int>(rank);
  group_.g_procs = members_.data();
  for (int context = 0; context < kContexts; ++context) {
    communicators_[static_cast<std::size_t>(context)].c_contextid = context;
    communicators_[static_cast<std::size_t>(context)].c_group = &group_;
  }
}

SimulatedProcess::~SimulatedProcess() {
  for (auto made = requests_.begin(); made != requests_.end();) made = destroy(made);
}

// ---- Its thread ----

void SimulatedProcess::move_outside() {
  is_outside_ = true;
  calls_can_be_held_ = may_cancel_ && job_.below(2) == 0;
  if (calls_can_be_held_) tell_what_came_outside();
  world_.move_outside();
  job_.expect(!calls_are_held_, "calls are held off when nothing moves");
  is_outside_ = false;
}

void SimulatedProcess::cancel_nothing() {
  may_cancel_ = false;
  engine_.match_outside(true);
}

Holding SimulatedProcess::hold_calls() {
  job_.expect(!calls_are_held_, "calls are held off twice");
  calls_are_held_ = is_outside_ && calls_can_be_held_;
  return calls_are_held_ ? Holding::held : Holding::later;
}

// While a receive may be cancelled, what comes between two calls meets it when they can be held off, or in the next
// one.
void SimulatedProcess::arrives(int number) {
  if (may_cancel_ && is_outside_ && !calls_can_be_held_) return arrived_outside_.push_back(number);
  job_.model.arrived(rank_, number);
}

void SimulatedProcess::tell_what_came_outside() {
  for (const int number : std::exchange(arrived_outside_, {})) job_.model.arrived(rank_, number);
}

// ---- As the MPI layer does it ----

SimulatedRequest& SimulatedProcess::make(int type, const Wanted& peer, std::size_t size, bool persistent) {
  SimulatedRequest& made = requests_.emplace_back();
  _req& request = made.request;
  made.buffer.assign(size, kUntouched);
  made.is_send = type != LAM_RQIRECV && type != LAM_RQIPROBE;
  request.rq_type = type;
  request.rq_state = LAM_RQSINIT;
  request.rq_marks = LAM_RQFDYNREQ | (made.is_send ? LAM_RQFSOURCE : LAM_RQFDEST) | (persistent ? LAM_RQFPERSIST : 0);
  request.rq_packbuf = size == 0 ? nullptr : made.buffer.data();
  request.rq_packsize = static_cast<int>(size);
  request.rq_rank = peer.rank;
  request.rq_tag = peer.tag;
  request.rq_cid = peer.context;
  request.rq_comm = &communicators_[static_cast<std::size_t>(peer.context)];
  request.rq_proc = peer.rank == MPI_ANY_SOURCE ? nullptr : members_[static_cast<std::size_t>(peer.rank)];
  job_.expect(engine_.build(&request) == 0, "build failed");
  return made;
}

void SimulatedProcess::start(SimulatedRequest& made) {
  tell_what_came_outside();
  _req& request = made.request;
  request.rq_flags = 0;
  request.rq_status = {MPI_UNDEFINED, MPI_UNDEFINED, MPI_SUCCESS, 0};
  request.rq_state = LAM_RQSSTART;
  if (request.rq_rank == MPI_ANY_SOURCE) request.rq_proc = nullptr;
  made.cancelled = made.waits_for_restart = false;
  ++active_;
  const Wanted wanted{request.rq_cid, request.rq_rank, request.rq_tag};
  if (made.is_send) {
    const auto to = static_cast<unsigned>(request.rq_rank);
    made.number =
        job_.model.send({rank_, to, {wanted.context, static_cast<int>(rank_), wanted.tag}, made.buffer.size()});
    request.rq_seq = made.number;
    for (std::size_t place = 0; place < made.buffer.size(); ++place) made.buffer[place] = byte_of(made.number, place);
    job_.network.announce(made.number);
  } else {
    made.number = ++job_.receives;
    std::ranges::fill(made.buffer, static_cast<char>(kUntouched));
    job_.model.post(rank_, made.number, wanted, request.rq_type == LAM_RQIPROBE);
  }
  job_.expect(engine_.start(&request) == 0, "start failed");
  job_.network.announce(-1);
}

void SimulatedProcess::cancel(SimulatedRequest& made) {
  made.request.rq_flags |= LAM_RQFCANCEL;
  made.request.rq_status.MPI_SOURCE = MPI_CANCEL_SOURCE;
  made.request.rq_state = LAM_RQSDONE;
  made.cancelled = true;
  --active_;
  job_.model.cancel(rank_, made.number);
}

void SimulatedProcess::iprobe(const Wanted& wanted) {
  SimulatedRequest& made = make(LAM_RQIPROBE, wanted, 0, false);
  start(made);
  const int found = engine_.iprobe(&made.request);
  job_.model.cancel(rank_, made.number);
  const auto expected = job_.model.got(made.number);
  if (job_.exact) job_.expect(found == (expected ? 1 : 0), "iprobe does not say what there is");
  if (found == 1) check_receive(made);
  destroy(std::prev(requests_.end()));
}

int SimulatedProcess::advance(bool block) {
  tell_what_came_outside();
  MPI_Request first = nullptr;
  for (auto made = requests_.rbegin(); made != requests_.rend(); ++made) {
    if (made->waits_for_restart) continue;
    made->request.rq_next = first;
    first = &made->request;
  }
  const int result = engine_.advance(first, block);
  job_.expect(result == 0 || result == 1, "advance failed");
  look_at_ended();
  restart_or_destroy();
  return result;
}

void SimulatedProcess::look_at_ended() {
  int active = 0;
  for (SimulatedRequest& made : requests_) {
    const int state = made.request.rq_state;
    active += state == LAM_RQSSTART || state == LAM_RQSACTIVE ? 1 : 0;
    job_.expect(state != LAM_RQSSTART || made.is_send || !may_be_dead(made.request), "a receive waits for the dead");
    if (!is_over(made.request) || made.cancelled) continue;
    made.is_send ? check_send(made) : check_receive(made);
  }
  job_.expect(active == active_, "the number of active requests is wrong");
}

// Whether the process knows that who should send is dead, or may be.
bool SimulatedProcess::may_be_dead(const _req& request) const {
  for (Peer peer = 0; peer < processes_.size(); ++peer) {
    const bool asked = request.rq_rank == MPI_ANY_SOURCE || request.rq_rank == static_cast<int>(peer);
    if (asked && job_.network.knows_dead(rank_, peer) && !job_.network.knows_left(rank_, peer)) return true;
  }
  return false;
}

void SimulatedProcess::restart_or_destroy() {
  for (auto made = requests_.begin(); made != requests_.end();) {
    if (made->waits_for_restart && job_.below(8) == 0) start(*made);
    const bool is_waited_for_later = job_.below(3) == 0;
    if (!is_over(made->request) || made->waits_for_restart || is_waited_for_later) {
      ++made;
    } else if ((made->request.rq_marks & LAM_RQFPERSIST) != 0 && job_.below(4) != 0) {
      made->request.rq_state = LAM_RQSINIT;
      made->waits_for_restart = true;
      ++made;
    } else {
      made = destroy(made);
    }
  }
}

// LAM says nothing of requests of MPI_PROC_NULL. What it frees leads nowhere.
SimulatedProcess::Requests::iterator SimulatedProcess::destroy(Requests::iterator made) {
  const bool is_told = made->request.rq_rank != MPI_PROC_NULL;
  if (is_told) job_.expect(engine_.destroy(&made->request) == 0, "destroy failed");
  made->request.rq_next = reinterpret_cast<MPI_Request>(kNowhere);
  return requests_.erase(made);
}

// ---- Without a request ----

void SimulatedProcess::fast_send(unsigned to) {
  tell_what_came_outside();
  const Wanted message{static_cast<int>(job_.below(kContexts)), static_cast<int>(rank_),
                       static_cast<int>(job_.below(kTags))};
  std::vector<char> buffer(job_.below(kMostShort + 1));
  next_number_ = job_.model.send({rank_, to, message, buffer.size()});
  for (std::size_t place = 0; place < buffer.size(); ++place) buffer[place] = byte_of(next_number_, place);
  job_.network.announce(next_number_);
  job_.network.patience = kPatience;
  const int error = fast_.send({buffer.data(), static_cast<int>(buffer.size()), &bytes_, static_cast<int>(to),
                                message.tag, &communicators_[static_cast<std::size_t>(message.context)]});
  job_.network.announce(-1);
  job_.network.patience = -1;
  const bool is_gone = job_.network.knows_dead(rank_, to) || job_.network.knows_left(rank_, to);
  const bool failed = error == 1000 + MPI_ERR_LOCALDEAD && is_gone;
  job_.expect(error == MPI_SUCCESS || failed, "a fast send failed");
}

// Of what has come: a program of one thread would wait for the rest in vain.
void SimulatedProcess::fast_receive(const Wanted& wanted) {
  move();  // or the model would know of what has come outside of calls before the engine does
  if (!job_.exact || wanted.rank == MPI_ANY_SOURCE || !job_.model.unasked(rank_, wanted)) return;
  SimulatedRequest made;
  made.buffer.assign(job_.below(4) == 0 ? job_.below(80) + 1 : 500, kUntouched);
  made.number = ++job_.receives;
  job_.model.post(rank_, made.number, wanted, false);
  _req& request = made.request;
  request.rq_type = LAM_RQIRECV;
  request.rq_rank = wanted.rank;
  request.rq_tag = wanted.tag;
  request.rq_cid = wanted.context;
  int tag = wanted.tag;
  job_.network.patience = kPatience;
  const int error = fast_.receive({made.buffer.data(), static_cast<int>(made.buffer.size()), &bytes_, wanted.rank,
                                   wanted.tag, &communicators_[static_cast<std::size_t>(wanted.context)]},
                                  tag, &request.rq_status, request.rq_seq);
  job_.network.patience = -1;
  job_.expect(error == request.rq_status.MPI_ERROR && tag == request.rq_status.MPI_TAG,
              "a fast receive says two things");
  if (error == 1000 + MPI_ERR_TRUNCATE) {
    request.rq_flags |= LAM_RQFTRUNC;
    request.rq_status.MPI_ERROR = MPI_SUCCESS;
  }
  check_receive(made);
}

// ---- What a program does ----

Wanted SimulatedProcess::random_wanted() {
  const int rank = job_.below(3) == 0 ? MPI_ANY_SOURCE : static_cast<int>(job_.below(processes_.size()));
  const int tag = job_.below(3) == 0 ? MPI_ANY_TAG : static_cast<int>(job_.below(kTags));
  return {static_cast<int>(job_.below(kContexts)), rank, tag};
}

void SimulatedProcess::send(unsigned to, int type) {
  const Wanted peer{static_cast<int>(job_.below(kContexts)), static_cast<int>(to), static_cast<int>(job_.below(kTags))};
  const std::size_t sizes[] = {0, 1, job_.below(kMostShort), kMostShort, kMostShort + 1, job_.below(500)};
  start(make(type, peer, sizes[job_.below(std::size(sizes))], job_.below(6) == 0));
}

// It has ended from the beginning, and is in LAM's list all the same.
void SimulatedProcess::send_to_nobody() {
  SimulatedRequest& made = requests_.emplace_back();
  made.is_send = true;
  made.request.rq_rank = MPI_PROC_NULL;
  made.request.rq_marks = LAM_RQFDYNREQ | LAM_RQFSOURCE;
  made.request.rq_state = LAM_RQSDONE;
}

void SimulatedProcess::receive(const Wanted& wanted, std::size_t room, int type, bool persistent) {
  start(make(type, wanted, type == LAM_RQIPROBE ? 0 : room, persistent));
}

// No probe: a program has no handle of one that it could cancel.
SimulatedRequest* SimulatedProcess::random_started_receive() {
  std::vector<SimulatedRequest*> started;
  for (SimulatedRequest& made : requests_) {
    if (made.request.rq_type == LAM_RQIRECV && made.request.rq_state == LAM_RQSSTART) started.push_back(&made);
  }
  return started.empty() ? nullptr : started[job_.below(started.size())];
}

void SimulatedProcess::act() {
  const std::size_t choice = job_.below(25);
  if (choice == 24) return send_to_nobody();
  if (choice > 21) return fast_receive(random_wanted());
  if (choice > 19) return fast_send(static_cast<unsigned>(job_.below(processes_.size())));
  if (choice < 7) return send(static_cast<unsigned>(job_.below(processes_.size())), static_cast<int>(job_.below(4)));
  if (choice < 14) {
    const std::size_t room = job_.below(4) == 0 ? job_.below(80) : 500;
    return receive(random_wanted(), room, LAM_RQIRECV, job_.below(6) == 0);
  }
  if (choice == 14) return receive(random_wanted(), 0, LAM_RQIPROBE, false);
  if (choice < 17) return iprobe(random_wanted());
  SimulatedRequest* made = may_cancel_ ? random_started_receive() : nullptr;
  if (choice > 18 || made == nullptr) return;
  cancel(*made);
  // Some are destroyed at once, without any progress between; persistent ones are back in INIT.
  if (choice == 17) restart_or_destroy();
}

void SimulatedProcess::receive_rest() {
  move();  // as in fast_receive()
  for (int context = 0; context < kContexts; ++context) {
    const Wanted anything{context};
    // The dead have messages that only the model has, and wildcards fail.
    for (int rank = 0; rank < group_.g_nprocs && !job_.exact; ++rank) {
      receive({context, rank}, 500, LAM_RQIRECV, false);
    }
    if (job_.exact && job_.model.unasked(rank_, anything)) receive(anything, 500, LAM_RQIRECV, false);
  }
}

void SimulatedProcess::cancel_rest() {
  move();  // what has come outside of calls is matched
  for (auto made = requests_.begin(); made != requests_.end();) {
    if (made->request.rq_state == LAM_RQSSTART && !made->is_send) cancel(*made);
    made = made->waits_for_restart || is_over(made->request) ? destroy(made) : std::next(made);
  }
}

// ---- What must be so ----

void SimulatedProcess::check_send(SimulatedRequest& made) {
  const _req& request = made.request;
  if (request.rq_status.MPI_ERROR != MPI_SUCCESS) {
    job_.expect(request.rq_status.MPI_ERROR == 1000 + MPI_ERR_LOCALDEAD, "a send failed with another error");
    const auto to = static_cast<Peer>(request.rq_rank);
    job_.expect(job_.network.knows_dead(rank_, to) || job_.network.knows_left(rank_, to),
                "a send to the living failed");
    return;
  }
  if (job_.exact && request.rq_type == LAM_RQISSEND) {
    job_.expect(job_.model.is_taken(made.number), "a synchronous send ended before its receive was there");
  }
  // It is the program's again.
  std::ranges::fill(made.buffer, static_cast<char>(kScribble));
}

void SimulatedProcess::check_receive(const SimulatedRequest& made) {
  const _req& request = made.request;
  const auto got = job_.model.got(made.number);
  if (request.rq_status.MPI_ERROR != MPI_SUCCESS) {
    const bool left = request.rq_rank >= 0 && job_.network.knows_left(rank_, static_cast<Peer>(request.rq_rank));
    job_.expect((!job_.exact || (left && !got)) && request.rq_status.MPI_ERROR == 1000 + MPI_ERR_LOCALDEAD,
                "a receive failed");
    return;
  }
  const int number = request.rq_seq;
  if (job_.exact) job_.expect(got == number, "a receive got another message than MPI says");
  const MatchingModel::Message& message = job_.model.message(number);
  const bool is_probe = request.rq_type == LAM_RQIPROBE;
  const std::size_t length = is_probe ? message.length : std::min(message.length, made.buffer.size());
  const MPI_Status& status = request.rq_status;
  job_.expect(message.to == rank_, "a message is somebody else's");
  job_.expect(Wanted{request.rq_cid, request.rq_rank, request.rq_tag}.takes(message.wanted), "nobody asked for that");
  job_.expect(status.MPI_SOURCE == message.wanted.rank && status.MPI_TAG == message.wanted.tag, "wrong status");
  job_.expect(status.st_length == static_cast<int>(length), "wrong length");
  const bool truncated = !is_probe && message.length > made.buffer.size();
  job_.expect(((request.rq_flags & LAM_RQFTRUNC) != 0) == truncated, "truncation is not told as it is");
  if (is_probe) return;
  for (std::size_t place = 0; place < made.buffer.size(); ++place) {
    const char expected = place < length ? byte_of(number, place) : static_cast<char>(kUntouched);
    if (made.buffer[place] != expected) return job_.expect(false, "wrong data in message " + std::to_string(number));
  }
}

}  // namespace openlapi::rpi
