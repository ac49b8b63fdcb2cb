// A descriptor to sleep on that says when a socket has something to read, and can be switched off while somebody sleeps
// on it. The socket itself cannot: a dataplane thread that sleeps on it is woken by the answer that a user's thread
// polls for by then, and where both share a core that answer waits for two changes of threads (10 us of 25).
#pragma once

namespace openlapi::udp {

class ArrivalSwitch {
 public:
  ArrivalSwitch() = default;
  ~ArrivalSwitch();
  ArrivalSwitch(const ArrivalSwitch&) = delete;
  ArrivalSwitch& operator=(const ArrivalSwitch&) = delete;

  // Of a socket that outlives it; off. False: errno says why.
  bool open(int socket);
  int descriptor() const { return descriptor_; }

  // A system call each. What waits when it is switched on wakes at once.
  void switch_on();
  void switch_off();

 private:
  int descriptor_ = -1;  // an epoll set
  int socket_ = -1;
};

}  // namespace openlapi::udp
