#include "api/rpi/lapi/meeting_message.h"

#include <algorithm>
#include <cstdint>

#include "dataplane/base/byte_codec.h"

namespace openlapi::rpi {

namespace {

constexpr std::uint32_t kMagic = 0x4d504c4f;  // "OLPM"
constexpr const char* kNoMeeting = "rpi.lapi.none";

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

bool read_entry(ByteReader& reader, MeetingMessage::Entry& entry) {
  entry.rank = reader.number();
  const std::size_t key_length = reader.byte();
  const std::size_t value_length = reader.little<std::uint16_t>();
  const auto key = reader.take(key_length);
  const auto value = std::as_bytes(reader.take(value_length));
  entry.key.assign(key.begin(), key.end());
  entry.value.assign(value.begin(), value.end());
  return !reader.failed() && key_length != 0;
}

bool read_body(ByteReader& reader, MeetingMessage& message) {
  message.group = reader.wide();
  message.sender = reader.number();
  message.round = reader.number();
  message.entries.clear();
  while (!reader.failed() && reader.left() != 0) {
    if (!read_entry(reader, message.entries.emplace_back())) return false;
  }
  return !reader.failed();
}

}  // namespace

MeetingMessage::Entry refusal_of(std::uint32_t rank, std::string_view why) {
  const auto text = std::as_bytes(std::span(why)).first(std::min<std::size_t>(why.size(), UINT16_MAX));
  return {rank, kNoMeeting, {text.begin(), text.end()}};
}

const MeetingMessage::Entry* find_refusal(const MeetingMessage& message) {
  const auto found = std::ranges::find(message.entries, kNoMeeting, &MeetingMessage::Entry::key);
  return found == message.entries.end() ? nullptr : &*found;
}

std::string text_of(const MeetingMessage::Entry& refusal) {
  return {reinterpret_cast<const char*>(refusal.value.data()), refusal.value.size()};
}

std::vector<std::byte> encode(const MeetingMessage& message) {
  std::vector<std::byte> bytes;
  append_little(bytes, kMagic);
  append_little(bytes, kModuleVersion);
  append_little(bytes, message.group);
  append_little(bytes, message.sender);
  append_little(bytes, message.round);
  for (const MeetingMessage::Entry& entry : message.entries) {
    append_little(bytes, entry.rank);
    append_little(bytes, static_cast<std::uint8_t>(entry.key.size()));
    append_little(bytes, static_cast<std::uint16_t>(entry.value.size()));
    append(bytes, std::as_bytes(std::span(entry.key)));
    append(bytes, entry.value);
  }
  return bytes;
}

bool decode(std::span<const std::byte> bytes, MeetingMessage& message, std::string& reason) {
  ByteReader reader(bytes);
  const std::uint32_t magic = reader.number();
  const std::uint32_t version = reader.number();
  if (reader.failed() || magic != kMagic) {
    reason = "it is no message of the rpi module 'lapi'";
    return false;
  }
  if (version != kModuleVersion) {
    reason = "it is of version " + std::to_string(version) +
             " of the rpi module 'lapi', and this process has version " + std::to_string(kModuleVersion);
    return false;
  }
  if (read_body(reader, message)) return true;
  reason = "it is damaged (" + std::to_string(bytes.size()) + " bytes)";
  return false;
}

}  // namespace openlapi::rpi
