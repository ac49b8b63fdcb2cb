#include "tests/support/endpoint_pair.h"

namespace openlapi {

ScriptedHost::ScriptedHost()
    : on_header([](const ArrivedMessage&) { return HeaderVerdict{}; }),
      on_completion([](const CompletionRun&, bool) { return true; }),
      on_send_completion([](const SendCompletion&) {}) {}

ScriptedHost::~ScriptedHost() = default;

void ScriptedHost::report_fault(Fault fault, PeerIndex peer) { faults.emplace_back(fault, peer); }

Task::Task(PeerIndex self, std::uint32_t max_packet) : transport(self, max_packet) {}

Task::~Task() = default;

Route Task::resolve(PeerIndex peer) {
  Route route;
  if (peer == out_of_reach) return route;
  route.undecided = peer == looked_for;
  if (route.undecided) return route;
  std::string error;
  transport.add_peer(peer, {}, error);
  route.paths[0] = &transport;
  route.count = 1;
  for (const auto& other : others) {
    other->add_peer(peer, {}, error);
    route.paths[route.count++] = other.get();
  }
  route.other_ends = other_ends;
  route.epoch = epoch_of_peers;
  return route;
}

EndpointConfig small_copies() {
  EndpointConfig config;
  config.copy_limit = 4000;
  config.copy_buffers = 4;
  return config;
}

Job::Job(std::uint32_t tasks, EndpointConfig config, std::uint32_t max_packet) {
  for (PeerIndex i = 0; i < tasks; ++i) tasks_.push_back(std::make_unique<Task>(i, max_packet));
  for (auto& a : tasks_) {
    for (auto& b : tasks_) MemoryTransport::connect(a->transport, b->transport);
  }
  config_ = config;
  config_.tasks = tasks;
}

Job::~Job() = default;

void Job::add_paths(std::uint32_t max_packet) {
  for (PeerIndex i = 0; i < tasks_.size(); ++i) {
    tasks_[i]->others.push_back(std::make_unique<MemoryTransport>(i, max_packet));
    for (PeerIndex j = 0; j < i + 1; ++j) {
      MemoryTransport::connect(*tasks_[i]->others.back(), *tasks_[j]->others.back());
    }
  }
}

void Job::start() {
  for (PeerIndex i = 0; i < tasks_.size(); ++i) {
    config_.self = i;
    std::vector<Transport*> transports{&tasks_[i]->transport};
    for (const auto& other : tasks_[i]->others) transports.push_back(other.get());
    tasks_[i]->endpoint = std::make_unique<Endpoint>(config_, transports, clock, *tasks_[i], tasks_[i]->host);
  }
}

void Job::settle() {
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& task : tasks_) moved |= task->endpoint->progress() != 0;
  }
}

}  // namespace openlapi
