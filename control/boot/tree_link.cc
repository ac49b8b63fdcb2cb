#include "control/boot/tree_link.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "control/boot/startup_bytes.h"

namespace openlapi::boot {
namespace {

constexpr std::uint32_t kLongestMessage = 64 << 20;
constexpr int kSendMilliseconds = 60'000;

}  // namespace

TreeLink::TreeLink(StartupConnection connection, bool below) : connection_(std::move(connection)), below_(below) {
  keep_alive(connection_.socket.get());
}

StartupKey TreeLink::proof(bool from_below, std::uint64_t number, const StartupBytes& message) const {
  StartupBytes text{static_cast<std::uint8_t>(from_below)};
  append_number(text, static_cast<std::uint32_t>(number));
  append_number(text, static_cast<std::uint32_t>(number >> 32));
  text.insert(text.end(), message.begin(), message.end());
  return keyed_hash(connection_.session, text);
}

bool TreeLink::send(const StartupBytes& message) {
  StartupBytes bytes;
  append_number(bytes, static_cast<std::uint32_t>(message.size()));
  bytes.insert(bytes.end(), message.begin(), message.end());
  const StartupKey end = proof(below_, sent_++, message);
  bytes.insert(bytes.end(), end.begin(), end.end());
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

bool TreeLink::read(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    pollfd wait{connection_.socket.get(), POLLIN, 0};
    if (poll(&wait, 1, -1) < 0 && errno != EINTR) return false;
    const ssize_t count = recv(connection_.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

std::optional<StartupBytes> TreeLink::receive() {
  std::array<std::uint8_t, 4> head{};
  if (!read(head)) return std::nullopt;
  const std::uint32_t length = ByteReader(head).number();
  if (length > kLongestMessage) return std::nullopt;
  StartupBytes message(length);
  StartupKey end{};
  if (!read(message) || !read(end)) return std::nullopt;
  const StartupKey expected = proof(!below_, received_++, message);
  if (CRYPTO_memcmp(expected.data(), end.data(), end.size()) != 0) return std::nullopt;
  return message;
}

}  // namespace openlapi::boot
