#include "tests/support/network_namespaces.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace openlapi::test {
namespace {

constexpr const char* kOwnNamespace = "/proc/thread-self/ns/net";

int open_own_namespace() { return open(kOwnNamespace, O_RDONLY | O_CLOEXEC); }

// A link that was set up runs only once the kernel's link watcher, a worker of its own, has seen both ends up.
bool wait_until_running(const std::string& interface) {
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool running = false;
  while (!running && std::chrono::steady_clock::now() < give_up) {
    if (ioctl(any, SIOCGIFFLAGS, &request) != 0) break;
    running = (request.ifr_flags & IFF_RUNNING) != 0;
    if (!running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  close(any);
  return running;
}

}  // namespace

NetworkNamespaces::~NetworkNamespaces() {
  for (const int descriptor : {home_, sides_[0], sides_[1]}) {
    if (descriptor >= 0) close(descriptor);
  }
}

bool NetworkNamespaces::create(std::uint32_t mtu, std::string& error) {
  home_ = open_own_namespace();
  for (int& side : sides_) {
    if (unshare(CLONE_NEWNET) != 0) {
      error = std::string("no network namespace: ") + std::strerror(errno);
      return false;
    }
    side = open_own_namespace();
    if (setns(home_, CLONE_NEWNET) != 0) {
      error = std::string("cannot come home: ") + std::strerror(errno);
      return false;
    }
  }
  const std::string other = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(sides_[1]);
  bool well = command(0, "ip link add veth0 type veth peer name veth1 && ip link set veth1 netns " + other);
  for (unsigned side = 0; well && side < 2; ++side) {
    const std::string interface = "veth" + std::to_string(side);
    const std::string own = "10.77.0." + std::to_string(side + 1) + "/24";
    well = command(side, "ip link set lo up && ip addr add " + own + " dev " + interface) &&
           command(side, "ip link set " + interface + " mtu " + std::to_string(mtu) + " up");
  }
  if (!well) error = "ip failed (see above)";
  for (unsigned side = 0; well && side < 2; ++side) {
    run_in(side, [&] { well = wait_until_running("veth" + std::to_string(side)); });
    if (!well) error = "the link between the namespaces does not run";
  }
  return well;
}

bool NetworkNamespaces::run_in(unsigned side, const std::function<void()>& body) {
  if (setns(sides_[side], CLONE_NEWNET) != 0) return false;
  body();
  return setns(home_, CLONE_NEWNET) == 0;
}

bool NetworkNamespaces::command(unsigned side, const std::string& line) {
  int status = -1;
  return run_in(side, [&] { status = std::system(line.c_str()); }) && status == 0;
}

in_addr NetworkNamespaces::address(unsigned side) { return {.s_addr = htonl(0x0a4d0001U + side)}; }

}  // namespace openlapi::test
