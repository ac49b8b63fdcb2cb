#include "api/rpi/lapi/process_pair.h"

#include <algorithm>
#include <array>

#include "api/rpi/lapi/lam_messages.h"
#include "api/rpi/lapi/meeting_message.h"
#include "dataplane/base/little_endian.h"

namespace openlapi::rpi {

namespace {

constexpr const char* kProcesses = "rpi.lapi.processes";
constexpr std::size_t kBytesOfOne = 16;
constexpr std::size_t kMostInEntry = UINT16_MAX / kBytesOfOne;

std::vector<std::byte> bytes_of(std::span<const _gps> processes) {
  std::vector<std::byte> bytes(processes.size() * kBytesOfOne);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const _gps& gps = processes[i];
    const std::array numbers{gps.gps_node, gps.gps_pid, gps.gps_idx, gps.gps_grank};
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      store_little(bytes.data() + i * kBytesOfOne + 4 * k, static_cast<std::uint32_t>(numbers[k]));
    }
  }
  return bytes;
}

void add_processes(std::span<const std::byte> bytes, std::vector<_gps>& processes) {
  for (; bytes.size() >= kBytesOfOne; bytes = bytes.subspan(kBytesOfOne)) {
    const auto number = [&](std::size_t k) { return static_cast<int4>(load_little<std::uint32_t>(&bytes[4 * k])); };
    processes.push_back({.gps_node = number(0), .gps_pid = number(1), .gps_idx = number(2), .gps_grank = number(3)});
  }
}

}  // namespace

ProcessPair::ProcessPair(const _gps& leader, const _gps& other, const _gps& own)
    : messages_(open_lam_messages(std::array{leader, other}, own, LamMeeting::introductions)) {}

bool ProcessPair::say(std::span<const _gps> processes, std::string& error) {
  MeetingMessage message{.group = messages_->identity(), .sender = messages_->rank()};
  while (!processes.empty()) {
    const std::span<const _gps> some = processes.first(std::min(processes.size(), kMostInEntry));
    message.entries.push_back({messages_->rank(), kProcesses, bytes_of(some)});
    processes = processes.subspan(some.size());
  }
  return messages_->send(other(), encode(message), error);
}

void ProcessPair::refuse(const std::string& why) {
  const MeetingMessage message{
      .group = messages_->identity(), .sender = messages_->rank(), .entries = {refusal_of(messages_->rank(), why)}};
  std::string unheard;
  messages_->send(other(), encode(message), unheard);
}

bool ProcessPair::hear(std::vector<_gps>& processes, std::string& error) {
  std::vector<std::byte> bytes;
  MeetingMessage message;
  std::string reason;
  if (!messages_->receive(other(), bytes, error)) return false;
  if (!decode(bytes, message, reason)) {
    error = "what a process says cannot be understood: " + reason;
    refuse(error);
    return false;
  }
  if (const MeetingMessage::Entry* const refusal = find_refusal(message)) {
    error = text_of(*refusal);
    return false;
  }
  processes.clear();
  for (const MeetingMessage::Entry& entry : message.entries) {
    if (entry.key == kProcesses) add_processes(entry.value, processes);
  }
  return true;
}

}  // namespace openlapi::rpi
