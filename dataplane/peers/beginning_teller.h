// How two tasks begin anew with each other over a reliable transport.
#pragma once

namespace openlapi {

struct Peer;

class BeginningTeller {
 public:
  // Tells the peer, before anything else, that this task begins anew with it. False: there is no room yet; it is told
  // as soon as there is.
  virtual bool tell_beginning(Peer& peer) = 0;
  // The peer need not be told any more.
  virtual void need_not_tell(Peer& peer) = 0;

 protected:
  ~BeginningTeller() = default;
};

}  // namespace openlapi
