// A module whose peers are the test itself: it says what they send, and sees what they receive.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/rpi/host/host_request.h"

namespace openlapi::rpi {

// The module's end of its peers. It uses the services as modules do that know of no other module: what it finds in the
// queue of unexpected messages it takes for its own, whose data it has kept itself.
class Peers {
 public:
  struct Arrival {
    _proc* source;
    lam_ssi_rpi_envl envelope;
    std::vector<char> data;
  };
  // A message that a peer has received: rank of the peer and number of the message.
  using Receipt = std::pair<int, int>;

  // On its way until the module is called.
  void send(Arrival arrival) { on_the_way.push_back(std::move(arrival)); }
  bool is_quiet() const { return on_the_way.empty(); }
  void receive_next(int count) { may_receive += count; }

  // ---- What the module's functions do ----
  void start(MPI_Request request);
  int advance(MPI_Request top);
  int iprobe(MPI_Request request);
  void forget(MPI_Request request);

  std::deque<Arrival> on_the_way{};
  std::vector<Receipt> receipts{};
  int may_receive = 0;

 private:
  void take_in(MPI_Request top);
  bool receive_sends();
  void deliver(MPI_Request request, const lam_ssi_rpi_envl& envelope, const char* data);

  std::deque<MPI_Request> sends_{};
  std::unordered_map<int, std::vector<char>> kept_{};  // data of messages in the queue, by number
  bool changed_ = false;
};

constexpr int kPeerModules = 2;
Peers& peers(int module);
// The actions of one of them; with interface 1.1.0.
DrivenModule peer_module(int module);

}  // namespace openlapi::rpi
