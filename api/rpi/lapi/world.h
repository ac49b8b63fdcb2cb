// The processes that the module reaches, as its request engine sees them: messages with a header and data go out and
// come in, data are read from where a peer has them, and peers die.
//
// Nothing here is MPI's, and nothing keeps an order: what is sent first may arrive last. One thread at a time calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace openlapi::rpi {

// A peer's place in the order in which this process was told of its peers, itself included. It is never used again for
// another one, and other processes have other numbers for the same peer.
using Peer = std::uint32_t;

// How something ended that was begun.
enum class Outcome : std::uint8_t {
  done,
  peer_lost,  // the peer has died or cannot be reached; its data may have moved in part
};

// Called once with its argument. Null function: nobody wants to know.
struct WhenDone {
  void (*function)(void* argument, Outcome outcome) = nullptr;
  void* argument = nullptr;
};

// A message whose header has arrived. The header is there only during the call.
struct IncomingMessage {
  Peer from;
  std::span<const std::byte> header;
  std::uint64_t length;  // bytes of data that follow
};

// Where its data go: `buffer` has room for all of them. Null buffer: they are thrown away.
struct Landing {
  void* buffer = nullptr;
  WhenDone when_done{};  // once all data are there; also of messages without data
  // There is no memory for it now: the World offers it again later if it can keep it until then; else the peer is lost.
  bool again = false;
};

// What the engine does with what comes. Called inside progress(); and inside send_message() of a message to oneself.
class WorldListener {
 public:
  virtual Landing arriving(const IncomingMessage& message) = 0;
  // All that was outstanding with the peer has ended with Outcome::peer_lost before, or does so right after; messages
  // that have begun to arrive are among them. Called once for a peer. `reason`: for people, one line.
  virtual void lost(Peer peer, const char* reason) = 0;
  // What is told until outside(false) is told by a thread of the World's own, while the program is in no call.
  virtual void outside(bool /*is*/) {}
  // Something came then that the listener could not take, and can take some time later: soon is to be told
  // outside(true) again.
  virtual bool waits_for_program() const { return false; }

 protected:
  ~WorldListener() = default;
};

// arriving() calls no function of the World but has_left(); the functions of WhenDone may call all but progress().
class World {
 public:
  static constexpr std::size_t kMostHeader = 128;  // bytes of a message's header; a multiple of 4, 4 at least

  virtual ~World() = default;

  virtual Peer self() const = 0;
  // Of processes so far, lost ones included.
  virtual Peer peers() const = 0;

  // These two throw std::bad_alloc, and then have done nothing.
  // The header is copied at once; the data are the World's until `when_sent`, perhaps before this call returns. To a
  // peer that is lost: `when_sent` tells.
  virtual void send_message(Peer peer, std::span<const std::byte> header, std::span<const std::byte> data,
                            WhenDone when_sent) = 0;
  // Reads `local.size()` bytes from `remote`, an address in the peer, which does nothing for it. Perhaps before this
  // call returns.
  virtual void get(Peer peer, std::uint64_t remote, std::span<std::byte> local, WhenDone when_here) = 0;

  // The peer has sent its last message, and may end: it is not looked for any more, and some time later lost() tells of
  // it, too. Also inside arriving().
  virtual void has_left(Peer peer) = 0;
  // The last message to the peer has been sent, and nothing is expected of it any more: it is not looked for.
  virtual void expect_no_more(Peer peer) = 0;

  // The peer is dead, as somebody else knows: lost() tells of it in the next progress(). Outside of progress() only.
  virtual void give_up(Peer peer, const char* reason) = 0;

  // Moves what can be moved. `block`: sleeps until there is something, or for some time. False: nothing has moved.
  virtual bool progress(bool block) = 0;
  // Ends, from a signal handler or another thread, a progress() that sleeps, or the next that would.
  virtual void interrupt() = 0;

  // Whether everything that was sent has been taken by its peers, as far as they live.
  virtual bool drained() = 0;
};

}  // namespace openlapi::rpi
