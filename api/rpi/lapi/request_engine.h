// The life of MPI's requests over a World: what the module's functions of the rpi interface do. They return what that
// interface says; errno tells why something failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/rpi/lapi/receive_requests.h"
#include "api/rpi/lapi/request_state.h"
#include "api/rpi/lapi/send_requests.h"
#include "api/rpi/lapi/stock.h"

namespace openlapi::rpi {

// Not thread safe: one thread at a time is in it or in its World.
class RequestEngine final : public WorldListener {
 public:
  // Calls of advance() that may look at what is new only, until all requests are looked at again.
  static constexpr unsigned kShortWalks = 1024;
  static constexpr std::size_t kStock = 128;  // requests whose memory is kept

  // `most_short`: bytes of the longest message that goes with its envelope.
  RequestEngine(MpiLayer& layer, std::size_t most_short) : around_(layer), sends_(around_, most_short) {}
  // The World calls nothing any more.
  ~RequestEngine() = default;
  RequestEngine(const RequestEngine&) = delete;
  RequestEngine& operator=(const RequestEngine&) = delete;

  // Before anything else; another one, in which nothing is on its way and the peers have the same places, after a
  // restart.
  void use(World& world) { around_.use(world); }

  // Processes in the order of the World's peers. Throws std::bad_alloc.
  void add_process(_proc& process);
  // It is not touched again; its place stays empty. Messages of it that nobody has received are gone, and requests that
  // wait for it fail.
  void remove_process(_proc& process);

  // The last message of this process to all or to one of them: it starts nothing with them any more.
  void leave();
  void leave(_proc& process);

  int build(MPI_Request request);
  int start(MPI_Request request);
  int advance(MPI_Request first, bool block);
  int destroy(MPI_Request request);
  int iprobe(MPI_Request request);

  // Whether nothing of this process is on its way: what it has sent has been taken, and what it was sent is here.
  bool quiet() { return !is_unsettled() && receives_.quiet() && around_.world().drained(); }
  // One step towards that. False: nothing has moved. What is taken may be answered: nothing is on its way when all
  // processes have been quiet three times, with a barrier behind each (messages, reading them, saying so), taking these
  // steps also at the barriers, and none begins anything meanwhile.
  bool drain();
  // A process, not finalised here, that is lost or has left; nullptr: there is none.
  const PeerState* gone() const;

  Landing arriving(const IncomingMessage& message) override;
  void lost(Peer peer, const char* reason) override;
  // Then the MPI layer's requests are not touched, and what happens to them is told in the next call of the functions
  // above. A message for a probe, and one for a receive unless match_outside(true) was said, waits until the layer can
  // hold the program's calls off, and all that come after it do: then what meets its message becomes active at once.
  // Where the layer never can they wait for the next call of the functions above.
  void outside(bool is) override;
  bool waits_for_program() const override { return receives_.has_noted() && around_.may_hold_later(); }
  // Whether no receive is cancelled any more: MPI_Cancel, which says nothing to the module, is not called.
  void match_outside(bool may) { receives_.match_outside(may); }
  // Something has happened outside that the next call tells.
  bool is_unsettled() const { return around_.has_news() || receives_.has_noted() || !losses_.empty(); }

  // Messages that no peer of ours can have sent.
  std::uint64_t refused() const { return refused_; }
  std::uint64_t matching_steps() const { return receives_.matching_steps(); }
  // Requests of advance()'s lists that were looked at: what a call of it costs.
  std::uint64_t looked_at() const { return looked_at_; }

 private:
  struct Loss {
    Peer peer;
    const char* reason;
  };

  // The MPI layer is told what has happened since its last call, before anything else happens in this one. Throws
  // std::bad_alloc; what is left is told in the next call then.
  void settle() {
    if (is_unsettled()) settle_all();
  }
  void settle_all();
  void lose(PeerState& peer, const char* reason);
  void leave(PeerState& peer);
  Landing refuse(PeerState& from, const char* why);
  void tell_once(bool& told, const PeerState& peer, const char* what);
  MPI_Request first_new(MPI_Request first);
  std::optional<bool> prepare(MPI_Request first, bool block);
  void fail_hopeless(MPI_Request request);
  bool fail_last_hopeless(MPI_Request first);
  bool end_on_dead_communicator(MPI_Request request);
  void end_in_vain(MPI_Request probe);
  void move(bool block);

  Surroundings around_;
  SendRequests sends_;
  ReceiveRequests receives_{around_};
  Stock<RequestState, kStock> stock_{};
  std::vector<std::unique_ptr<PeerState>> peers_{};  // by number
  std::vector<Loss> losses_{};                       // outside the program's calls
  std::uint64_t refused_ = 0;
  MPI_Request last_seen_ = nullptr;  // of the list at the last walk, of those that stay in it
  bool some_handled_ = false;        // requests with handlers, which begin them anew in their place
  unsigned short_walks_ = 0;         // since all were looked at
  std::uint64_t looked_at_ = 0;
};

}  // namespace openlapi::rpi
