#include "control/boot/tree/tree_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "control/boot/errors/boot_error.h"

namespace openlapi::boot {
namespace {

constexpr std::size_t kLongestMessage = 64 << 20;
constexpr int kSendMilliseconds = 60'000;

}  // namespace

TreeLink::TreeLink(StartupConnection connection) : connection_(std::move(connection)) {
  connection_.sealed->allow(kLongestMessage);
  keep_alive(connection_.socket.get());
}

bool TreeLink::send(const StartupBytes& message) {
  connection_.sealed->send(message);
  const StartupBytes bytes = std::exchange(connection_.sealed->outgoing(), {});
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        ::send(connection_.socket.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) done += static_cast<std::size_t>(count);
    if (count > 0 || errno == EINTR) continue;
    pollfd wait{connection_.socket.get(), POLLOUT, 0};
    if (errno != EAGAIN || poll(&wait, 1, kSendMilliseconds) != 1) return false;
  }
  return true;
}

std::optional<StartupBytes> TreeLink::receive(std::chrono::milliseconds silence) {
  while (true) {
    auto message = connection_.sealed->next();
    if (message && !message->empty()) return message;
    if (message) continue;
    pollfd wait{connection_.socket.get(), POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(silence.count()));
    if (ready == 0) {
      print_error("a helper of the tree algorithm has given no sign of life for " +
                  std::to_string(silence.count() / 1000) + " s: it hangs or is stopped");
    }
    if (ready == 0 || (ready < 0 && errno != EINTR)) return std::nullopt;
    std::uint8_t bytes[16384];
    const ssize_t count = recv(connection_.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return std::nullopt;
    if (count > 0 && !connection_.sealed->take({bytes, static_cast<std::size_t>(count)})) {
      print_error("the connection to a helper of the tree algorithm ends: what came over it was changed on the way");
      return std::nullopt;
    }
  }
}

}  // namespace openlapi::boot
