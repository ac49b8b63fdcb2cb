// A descriptor to sleep on that is readable when a socket has something to read, and that can be switched off while
// somebody sleeps on it. A socket itself cannot be switched off: a dataplane thread that sleeps on it would be woken by
// the answer that a user's thread is already polling for. On a shared core that costs two thread switches (10 us of
// 25).
#pragma once

namespace openlapi::udp {

class ArrivalSwitch {
 public:
  ArrivalSwitch() = default;
  ~ArrivalSwitch();
  ArrivalSwitch(const ArrivalSwitch&) = delete;
  ArrivalSwitch& operator=(const ArrivalSwitch&) = delete;

  // Opens it, switched off, for a socket that outlives it. False: errno says why.
  bool open(int socket);
  int descriptor() const { return descriptor_; }

  // Another socket takes its place, switched on if that one was. False: errno says why, and nothing has changed.
  bool replace(int socket);

  // Readable also when that one is, on or off; it outlives this, too. False: errno says why.
  bool always_watch(int descriptor);

  // One system call each. If something already waits when it is switched on, it wakes at once.
  void switch_on();
  void switch_off();

 private:
  int descriptor_ = -1;  // an epoll set
  int socket_ = -1;
  bool on_ = false;
};

}  // namespace openlapi::udp
