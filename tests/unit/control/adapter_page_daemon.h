// The end of a daemon (lamd) that has the network availability matrix for one task, its page and its socket; for
// fixtures to be derived from.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <variant>

#include "control/daemon/adapters/adapter_page_writer.h"
#include "control/daemon/messages/connection.h"
#include "control/daemon/session/session_folder.h"
#include "tests/unit/control/temporary_folder.h"

namespace openlapi::test {

class AdapterPageDaemon {
 protected:
  // The next message of the task.
  static std::optional<daemon::DaemonMessage> next_message(daemon::Connection& task) {
    await(task.fd());
    EXPECT_TRUE(task.serve());
    const auto bytes = task.stream().next();
    return bytes ? daemon::decode(*bytes) : std::nullopt;
  }
  // The next task that asks to follow; it is answered.
  daemon::Connection accept_task() {
    await(listener_.get());
    daemon::Connection task(FileDescriptor(accept(listener_.get(), nullptr, nullptr)),
                            std::make_unique<daemon::MessageStream>());
    const auto asked = next_message(task);
    EXPECT_TRUE(asked && std::holds_alternative<daemon::FollowAdapters>(*asked));
    tell(task);
    return task;
  }
  // `open` has a task ask to follow, and waits for the answer.
  void answer(const std::function<void()>& open) {
    std::thread daemon([this] { task_ = accept_task(); });
    open();
    daemon.join();
  }
  static void tell(daemon::Connection& task) {
    task.send(daemon::AdaptersChanged{});
    EXPECT_TRUE(task.flush());
  }
  static void await(int descriptor) {
    pollfd wait{descriptor, POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, 30'000), 1);
  }
  static bool is_readable(int descriptor) {
    pollfd wait{descriptor, POLLIN, 0};
    return poll(&wait, 1, 0) == 1;
  }

  TemporaryFolder parent_{};
  daemon::SessionFolder folder_{parent_.path("session")};
  FileDescriptor listener_ = folder_.listen_to_tools();
  daemon::AdapterPageWriter page_{daemon::adapter_page(folder_.path())};
  daemon::Connection task_{FileDescriptor(), nullptr};
};

}  // namespace openlapi::test
