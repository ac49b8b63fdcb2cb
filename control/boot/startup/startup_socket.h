// TCP sockets of the startup protocol.
#pragma once

#include <netinet/in.h>
#include <poll.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/boot/startup/startup_exchange.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::boot {

using StartupTime = std::chrono::steady_clock::time_point;

// A connection after its one message: both ends have proved that they hold the key.
struct StartupConnection {
  FileDescriptor socket{};
  std::optional<sealing::SealedMessages> sealed{};
};

// Sends one message; returns when the other side has taken it. Tries again when strangers have taken its place. Throws
// BootError: not reachable, wrong key, too slow. `local` (may be nullptr) becomes this end's address before `payload`
// is called.
StartupConnection send_startup_message(const sockaddr_in& to, const StartupKey& key, StartupKind kind,
                                       StartupTime deadline, sockaddr_in* local,
                                       const std::function<StartupBytes()>& payload);

// The other end's host may go down without a word: then the connection ends within half a minute.
void keep_alive(int socket);

// Why a wait for a message may end without one.
class StartupInterruption {
 public:
  virtual ~StartupInterruption() = default;
  // Adds what it waits for to what is polled.
  virtual void watch(std::vector<pollfd>& watched) = 0;
  virtual bool is_over() = 0;
};

// Takes messages of several clients at the same time: one that is silent, slow, wrong or a stranger keeps nobody
// waiting, and is counted (dropped_connections.h). A client has 10 s to prove that it holds the key, less if others
// want its place (control/sealing/unproved_places.h).
class StartupServer {
 public:
  // Listens on a free port of this address.
  StartupServer(in_addr_t address, int backlog, const StartupKey& key, StartupKind kind, std::size_t longest_payload);

  int port() const { return port_; }

  // May this address connect at all? / Is this payload, from there, good? True ends the wait.
  using AllowAddress = std::function<bool(const sockaddr_in& from)>;
  using TakePayload = std::function<bool(const sockaddr_in& from, const StartupBytes& payload)>;
  // False: none came by then, or before the interruption.
  bool receive(StartupTime deadline, const AllowAddress& allow, const TakePayload& take,
               StartupInterruption* interruption = nullptr);
  // The connection of the last good message.
  StartupConnection take_connection() { return std::move(last_); }

 private:
  struct Client {
    FileDescriptor socket{};
    sockaddr_in from{};
    StartupExchange exchange;
    StartupTime deadline{};
    bool is_over = false;
  };
  void accept_clients(const AllowAddress& allow);
  bool make_place(in_addr_t newcomer, std::size_t places);
  // True: a good message.
  bool serve(Client& client, const TakePayload& take);
  bool take_payload(Client& client, const TakePayload& take);
  void drop(Client& client, const std::string& why);

  FileDescriptor listener_{};
  int port_ = 0;
  StartupKey key_;
  StartupKind kind_;
  std::size_t longest_payload_;
  std::size_t places_;             // of clients that have proved nothing
  std::vector<Client> clients_{};  // the oldest first
  StartupTime accept_again_{};     // after a shortage of descriptors
  StartupConnection last_{};
};

}  // namespace openlapi::boot
