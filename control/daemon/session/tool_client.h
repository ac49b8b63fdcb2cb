// What a tool asks the daemon of its session.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "control/daemon/messages/connection.h"
#include "control/daemon/messages/daemon_message.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {

class ToolClient {
 public:
  static constexpr std::chrono::seconds kSilentTime{5};
  // Throws std::runtime_error: no daemon lives in this session folder, or it lets nobody in for `silent_time`: then it
  // is named as one that hangs or is stopped.
  explicit ToolClient(const std::string& folder, std::chrono::seconds silent_time = kSilentTime);

  // Waits for the answer. Throws std::runtime_error: it does not come within `limit`, or is none.
  DaemonMessage ask(const DaemonMessage& question, std::chrono::seconds limit);
  // The same where only one kind of answer makes sense.
  template <class Answer>
  Answer ask_for(const DaemonMessage& question, std::chrono::seconds limit) {
    return expected<Answer>(ask(question, limit));
  }
  template <class Answer>
  static Answer expected(DaemonMessage answer) {
    if (auto* message = std::get_if<Answer>(&answer)) return std::move(*message);
    throw std::runtime_error("lamd's answer makes no sense");
  }
  // Nothing: it has not come by then.
  std::optional<DaemonMessage> ask_within(const DaemonMessage& question, std::chrono::seconds limit);
  // Returns when the daemon has taken it; nobody reads an answer.
  void tell(const DaemonMessage& message, std::chrono::seconds limit);
  // What the daemon here knows by itself. Throws std::runtime_error: it says nothing for the silent time, which names
  // it, or makes no sense.
  template <class Answer>
  Answer ask_here(const DaemonMessage& question) {
    return expected<Answer>(answer_here(question));
  }
  // The same where it answers when there is news, however long that takes: what counts is whether it would say anything
  // else meanwhile.
  template <class Answer>
  Answer await_news(const DaemonMessage& question) {
    return expected<Answer>(news_here(question));
  }
  // Throws std::runtime_error if the daemon here does not answer even what it need not ask others for.
  void check_alive() { static_cast<void>(answer_here(UniverseRequest{0})); }
  // While an answer is waited for, too, this process ends as by a write to this descriptor once nobody reads it any
  // more.
  void end_with_reader(int output) { output_ = output; }
  // For more than one question and answer.
  FileDescriptor take_socket() { return std::move(socket_); }
  // Waits until the daemon's process has ended. False: not within `limit`.
  bool wait_for_end(std::chrono::seconds limit);

 private:
  DaemonMessage answer_here(const DaemonMessage& question);
  DaemonMessage news_here(const DaemonMessage& question);
  Connection send(const DaemonMessage& message);
  std::optional<DaemonMessage> receive(Connection& connection, std::chrono::seconds limit);
  bool wait_ready(int fd, short events, std::chrono::steady_clock::time_point limit) const;

  const std::string folder_;
  const std::chrono::seconds silent_time_;
  int output_ = -1;
  FileDescriptor socket_{};
  FileDescriptor process_{};
};

// Lets the daemon of this session folder go on if it was stopped.
void wake_daemon(const std::string& folder);

}  // namespace openlapi::daemon
