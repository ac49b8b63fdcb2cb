#include "api/rpi/lapi/meeting_bootstrap.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "api/rpi/lapi/meeting_message.h"
#include "dataplane/base/little_endian.h"
#include "dataplane/base/random_number.h"

namespace openlapi::rpi {

namespace {

constexpr const char* kKeyOfJob = "rpi.lapi.key";

class MeetingBootstrap final : public Bootstrap {
 public:
  explicit MeetingBootstrap(std::unique_ptr<ProcessMessages> messages);

  std::string_view name() const override { return "lam"; }
  std::uint32_t task() const override { return messages_->rank(); }
  std::uint32_t size() const override { return messages_->size(); }
  const std::vector<std::uint32_t>& local_tasks() const override { return messages_->on_this_node(); }
  std::uint64_t job_cookie() const override { return key_.low; }
  SipKey packet_key() const override { return key_; }
  bool can_exchange() const override { return true; }
  bool put(std::string_view key, std::span<const std::byte> value, std::string& error) override;
  bool exchange(std::string& error) override;
  bool get(std::uint32_t rank, std::string_view key, unsigned timeout_seconds, std::vector<std::byte>& value,
           std::string& error) override;
  bool barrier(std::string& error) override { return exchange(error); }
  [[noreturn]] void abort(int status, std::string_view) override {
    std::fflush(nullptr);
    _exit(status);
  }

 private:
  MeetingMessage message_with(std::vector<MeetingMessage::Entry> entries) const;
  bool take(std::uint32_t from, MeetingMessage& message, std::string& error);
  bool gather(std::vector<MeetingMessage::Entry>& all, std::string& error);
  void call_off(const std::string& why);
  bool spread(std::vector<MeetingMessage::Entry> all, std::string& error);
  bool keep(const std::vector<MeetingMessage::Entry>& all, std::string& error);

  std::unique_ptr<ProcessMessages> messages_;
  std::uint32_t round_ = 0;
  SipKey key_{};
  std::vector<MeetingMessage::Entry> to_publish_;
  std::map<std::pair<std::uint32_t, std::string>, std::vector<std::byte>, std::less<>> published_;
};

MeetingBootstrap::MeetingBootstrap(std::unique_ptr<ProcessMessages> messages) : messages_(std::move(messages)) {
  if (task() != 0) return;
  key_ = {random_number<std::uint64_t>(), random_number<std::uint64_t>()};
  std::vector<std::byte> both(2 * sizeof key_.low);
  store_little(both.data(), key_.low);
  store_little(both.data() + sizeof key_.low, key_.high);
  to_publish_.push_back({0, kKeyOfJob, std::move(both)});
}

bool MeetingBootstrap::put(std::string_view key, std::span<const std::byte> value, std::string& error) {
  if (key.empty() || key.size() > UINT8_MAX || value.size() > UINT16_MAX) {
    error = "'" + std::string(key) + "' with " + std::to_string(value.size()) +
            " bytes cannot be published: a name has 1 to 255 bytes, a value at most 65535";
    return false;
  }
  to_publish_.push_back({task(), std::string(key), {value.begin(), value.end()}});
  return true;
}

MeetingMessage MeetingBootstrap::message_with(std::vector<MeetingMessage::Entry> entries) const {
  return {.group = messages_->identity(), .sender = task(), .round = round_, .entries = std::move(entries)};
}

// The next message, which must be of this meeting.
bool MeetingBootstrap::take(std::uint32_t from, MeetingMessage& message, std::string& error) {
  std::vector<std::byte> bytes;
  std::string reason;
  if (!messages_->receive(from, bytes, error)) return false;
  if (!decode(bytes, message, reason)) {
    error = "what process " + std::to_string(from) + " says cannot be understood: " + reason;
    return false;
  }
  if (message.group == messages_->identity() && message.sender == from && message.round == round_) {
    const MeetingMessage::Entry* const refusal = find_refusal(message);
    if (refusal != nullptr) error = text_of(*refusal);
    return refusal == nullptr;
  }
  error = "process " + std::to_string(from) + " is in another meeting: it says that it is process " +
          std::to_string(message.sender) + " in round " + std::to_string(message.round) + " of " +
          (message.group == messages_->identity() ? "these processes" : "other processes") + ", and round " +
          std::to_string(round_) + " is due";
  return false;
}

bool MeetingBootstrap::gather(std::vector<MeetingMessage::Entry>& all, std::string& error) {
  for (std::uint32_t other = 1; other < size(); ++other) {
    MeetingMessage message;
    if (!take(other, message, error)) return false;
    for (MeetingMessage::Entry& entry : message.entries) {
      if (entry.rank != other) {
        error = "process " + std::to_string(other) + " publishes in the name of " + std::to_string(entry.rank);
        return false;
      }
      all.push_back(std::move(entry));
    }
  }
  return true;
}

void MeetingBootstrap::call_off(const std::string& why) {
  const std::vector<std::byte> bytes = encode(message_with({refusal_of(0, why)}));
  std::string error;
  for (std::uint32_t other = 1; other < size(); ++other) messages_->send(other, bytes, error);
}

bool MeetingBootstrap::spread(std::vector<MeetingMessage::Entry> all, std::string& error) {
  const MeetingMessage message = message_with(std::move(all));
  const std::vector<std::byte> bytes = encode(message);
  for (std::uint32_t other = 1; other < size(); ++other) {
    if (!messages_->send(other, bytes, error)) return false;
  }
  return keep(message.entries, error);
}

bool MeetingBootstrap::keep(const std::vector<MeetingMessage::Entry>& all, std::string& error) {
  for (const MeetingMessage::Entry& entry : all) {
    if (entry.rank == 0 && entry.key == kKeyOfJob && entry.value.size() == 2 * sizeof key_.low) {
      key_.low = load_little<std::uint64_t>(entry.value.data());
      key_.high = load_little<std::uint64_t>(entry.value.data() + sizeof key_.low);
    }
    published_[{entry.rank, entry.key}] = entry.value;
  }
  to_publish_.clear();
  ++round_;
  if (key_.low != 0 || key_.high != 0) return true;
  error = "the first process has not told the job's key";
  return false;
}

bool MeetingBootstrap::exchange(std::string& error) {
  if (task() == 0) {
    std::vector<MeetingMessage::Entry> all = to_publish_;
    if (gather(all, error)) return spread(std::move(all), error);
    call_off(error);
    return false;
  }
  MeetingMessage everything;
  return messages_->send(0, encode(message_with(to_publish_)), error) && take(0, everything, error) &&
         keep(everything.entries, error);
}

// An exchange brings everything, so there is nothing to wait for.
bool MeetingBootstrap::get(std::uint32_t rank, std::string_view key, unsigned, std::vector<std::byte>& value,
                           std::string& error) {
  const auto found = published_.find(std::pair(rank, std::string(key)));
  if (found == published_.end()) {
    error = "process " + std::to_string(rank) + " has not published '" + std::string(key) + "'";
    return false;
  }
  value = found->second;
  return true;
}

}  // namespace

std::shared_ptr<Bootstrap> open_meeting_bootstrap(std::unique_ptr<ProcessMessages> messages) {
  return std::make_shared<MeetingBootstrap>(std::move(messages));
}

}  // namespace openlapi::rpi
