// What processes tell each other over LAM's own messages when they meet: each tells the first one what it publishes,
// and that one tells all of them everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace openlapi::rpi {

// Of the messages of this file, and of all that the module's processes say to each other later.
extern const std::uint32_t kModuleVersion;

struct MeetingMessage {
  struct Entry {
    std::uint32_t rank = 0;  // who publishes it
    std::string key{};       // 1 to 255 bytes
    std::vector<std::byte> value{};
    bool operator==(const Entry&) const = default;
  };

  std::uint64_t group = 0;  // of these very processes, in their order
  std::uint32_t sender = 0;
  std::uint32_t round = 0;  // meetings before this one
  std::vector<Entry> entries{};
  bool operator==(const MeetingMessage&) const = default;
};

std::vector<std::byte> encode(const MeetingMessage& message);
// A message that says why there will be no meeting. Nobody waits for the rest of it: those of other versions see in the
// message which one this is.
MeetingMessage::Entry refusal_of(std::uint32_t rank, std::string_view why);
// Null: it is no such message.
const MeetingMessage::Entry* find_refusal(const MeetingMessage& message);
std::string text_of(const MeetingMessage::Entry& refusal);

// False: `reason` says why these bytes are no such message, or of another version.
bool decode(std::span<const std::byte> bytes, MeetingMessage& message, std::string& reason);

}  // namespace openlapi::rpi
