// The end of a task that no launcher started and that drives adapters itself: the daemon of its node (lamd) has the
// network table of the job, lends the task its windows, and brings it the others' addresses. The task is connected to
// it as long as it has the windows.
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "control/client/bootstrap.h"
#include "control/daemon/messages/connection.h"
#include "control/daemon/session/session_folder.h"
#include "control/daemon/session/tool_client.h"
#include "dataplane/base/task_page.h"

namespace openlapi {
namespace {

using daemon::AddressesMessage;
using daemon::GiveAddresses;
using daemon::MessageBytes;
using daemon::OpenWindows;
using daemon::WindowsMessage;

constexpr std::chrono::seconds kWindowTime{30};

class WindowBootstrap final : public Bootstrap {
 public:
  WindowBootstrap(std::shared_ptr<Bootstrap> standalone, const WindowsMessage& lent, FileDescriptor socket)
      : standalone_(std::move(standalone)),
        cookie_(lent.cookie),
        local_tasks_(standalone_->local_tasks().size() > 1 ? standalone_->local_tasks() : lent.local_tasks),
        lamd_(std::move(socket), std::make_unique<daemon::MessageStream>()) {}

  std::string_view name() const override { return standalone_->name(); }
  std::uint32_t task() const override { return standalone_->task(); }
  std::uint32_t size() const override { return standalone_->size(); }
  const std::vector<std::uint32_t>& local_tasks() const override { return local_tasks_; }
  std::uint64_t job_cookie() const override { return cookie_; }
  bool can_exchange() const override { return true; }

  bool put(std::string_view key, std::span<const std::byte> value, std::string& error) override;
  bool exchange(std::string& error) override;
  bool get(std::uint32_t rank, std::string_view key, unsigned timeout_seconds, std::vector<std::byte>& value,
           std::string& error) override;
  bool barrier(std::string& error) override { return exchange(error); }
  void abort(int status, std::string_view message) override { standalone_->abort(status, message); }

 private:
  bool wait_for_answer(AddressesMessage& answer, std::string& error);

  std::shared_ptr<Bootstrap> standalone_;
  std::uint64_t cookie_;
  std::vector<std::uint32_t> local_tasks_;
  daemon::Connection lamd_;
  daemon::TaskAddresses given_{};  // since the last exchange
  // LAPI_Init of one context may add addresses while another context looks one up.
  std::mutex known_turn_{};
  std::condition_variable known_more_{};
  std::map<std::pair<std::uint32_t, std::string>, MessageBytes> known_{};
};

bool WindowBootstrap::put(std::string_view key, std::span<const std::byte> value, std::string& error) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(value.data());
  given_.push_back({task(), std::string(key), MessageBytes(bytes, bytes + value.size())});
  if (daemon::size_of(given_) <= daemon::kMostTaskBytes) return true;
  given_.pop_back();
  error = "a task gives at most " + std::to_string(daemon::kMostTaskBytes) + " bytes of addresses at a time";
  return false;
}

// As long as it takes: the others are started by hand.
bool WindowBootstrap::wait_for_answer(AddressesMessage& answer, std::string& error) {
  error = "the lamd of this node has ended";
  bool goes_on = lamd_.flush();
  while (true) {
    if (const auto bytes = lamd_.stream().next()) {
      auto message = daemon::decode(*bytes);
      auto* addresses = message ? std::get_if<AddressesMessage>(&*message) : nullptr;
      if (addresses != nullptr) answer = std::move(*addresses);
      error = addresses != nullptr ? answer.failure : "lamd's answer makes no sense: is it of another version?";
      return error.empty();
    }
    if (!goes_on) return false;
    pollfd wait{lamd_.fd(), lamd_.events(), 0};
    if (poll(&wait, 1, -1) < 0 && errno != EINTR) return false;
    goes_on = lamd_.serve();
  }
}

bool WindowBootstrap::exchange(std::string& error) {
  const LongWait shown({WaitedCall::exchange});
  lamd_.send(GiveAddresses{std::exchange(given_, {})});
  AddressesMessage answer;
  if (!wait_for_answer(answer, error)) return false;
  {
    const std::scoped_lock turn(known_turn_);
    for (daemon::TaskAddress& address : answer.addresses) {
      known_[{address.task, std::move(address.key)}] = std::move(address.value);
    }
  }
  known_more_.notify_all();
  return true;
}

// What is missing may come with the next exchange, of another thread: tasks may open contexts in another order.
bool WindowBootstrap::get(std::uint32_t rank, std::string_view key, unsigned timeout_seconds,
                          std::vector<std::byte>& value, std::string& error) {
  const std::pair place(rank, std::string(key));
  std::unique_lock turn(known_turn_);
  known_more_.wait_for(turn, std::chrono::seconds(timeout_seconds), [&] { return known_.contains(place); });
  const auto found = known_.find(place);
  if (found == known_.end()) {
    error = "task " + std::to_string(rank) + " has given no address for " + std::string(key);
    return false;
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(found->second.data());
  value.assign(bytes, bytes + found->second.size());
  return true;
}

}  // namespace

std::shared_ptr<Bootstrap> open_window_bootstrap(std::shared_ptr<Bootstrap> standalone, const WindowRequest& request,
                                                 std::vector<std::string>& devices, WindowFailure& failure) {
  try {
    failure = {true, ""};
    daemon::ToolClient lamd(daemon::session_path({}));
    OpenWindows asked{request.job_key, standalone->task(), standalone->size(), {}};
    for (const auto& [window, adapter] : request.windows) asked.windows.push_back({window, adapter});
    const daemon::DaemonMessage answer = lamd.ask(asked, kWindowTime);
    const auto* lent = std::get_if<WindowsMessage>(&answer);
    if (lent == nullptr) throw std::runtime_error("lamd's answer makes no sense");
    failure = {false, lent->failure};
    if (!lent->failure.empty()) return nullptr;
    if (lent->devices.size() != request.windows.size()) throw std::runtime_error("lamd's answer makes no sense");
    devices = lent->devices;
    return std::make_shared<WindowBootstrap>(std::move(standalone), *lent, lamd.take_socket());
  } catch (const std::runtime_error& wrong) {
    failure.text = wrong.what();
    return nullptr;
  }
}

}  // namespace openlapi
