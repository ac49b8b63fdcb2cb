// Two network namespaces joined by a veth pair, 10.77.0.1 (side 0) and 10.77.0.2 (side 1). They have no names, so that
// they disappear with the last socket and process in them, also when a test is killed. Needs root.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <functional>
#include <string>

namespace openlapi::test {

class NetworkNamespaces {
 public:
  NetworkNamespaces() = default;
  ~NetworkNamespaces();
  NetworkNamespaces(const NetworkNamespaces&) = delete;
  NetworkNamespaces& operator=(const NetworkNamespaces&) = delete;

  // False: `error` says why. The interfaces are "veth0" in side 0 and "veth1" in side 1.
  bool create(std::uint32_t mtu, std::string& error);

  // Runs `body` with the calling thread in that side. Sockets opened there stay there.
  bool run_in(unsigned side, const std::function<void()>& body);

  // Runs a shell command in that side ("ip ...", "tc ...", "nft ..."). True: its status was 0.
  bool command(unsigned side, const std::string& line);

  static in_addr address(unsigned side);

 private:
  int home_ = -1;
  int sides_[2] = {-1, -1};
};

}  // namespace openlapi::test
