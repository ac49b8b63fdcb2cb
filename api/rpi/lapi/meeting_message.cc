#include "api/rpi/lapi/meeting_message.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/little_endian.h"

namespace openlapi::rpi {

namespace {

constexpr std::uint32_t kMagic = 0x4d504c4f;  // "OLPM"

class Writer {
 public:
  template <class Number>
  void number(Number value) {
    bytes_.resize(bytes_.size() + sizeof value);
    store_little(bytes_.data() + bytes_.size() - sizeof value, value);
  }
  void text(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class Number>
  bool number(Number& value) {
    std::span<const std::byte> bytes;
    if (!text(sizeof value, bytes)) return false;
    value = load_little<Number>(bytes.data());
    return true;
  }
  bool text(std::size_t length, std::span<const std::byte>& bytes) {
    if (length > rest_.size()) return false;
    bytes = rest_.first(length);
    rest_ = rest_.subspan(length);
    return true;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

bool read_entry(Reader& reader, MeetingMessage::Entry& entry) {
  std::uint8_t key_length = 0;
  std::uint16_t value_length = 0;
  std::span<const std::byte> key, value;
  if (!reader.number(entry.rank) || !reader.number(key_length) || key_length == 0 || !reader.number(value_length) ||
      !reader.text(key_length, key) || !reader.text(value_length, value)) {
    return false;
  }
  entry.key.assign(reinterpret_cast<const char*>(key.data()), key.size());
  entry.value.assign(value.begin(), value.end());
  return true;
}

bool read_body(Reader& reader, MeetingMessage& message) {
  if (!reader.number(message.group) || !reader.number(message.sender) || !reader.number(message.round)) return false;
  message.entries.clear();
  while (!reader.at_end()) {
    if (!read_entry(reader, message.entries.emplace_back())) return false;
  }
  return true;
}

}  // namespace

std::vector<std::byte> encode(const MeetingMessage& message) {
  Writer writer;
  writer.number(kMagic);
  writer.number(kModuleVersion);
  writer.number(message.group);
  writer.number(message.sender);
  writer.number(message.round);
  for (const MeetingMessage::Entry& entry : message.entries) {
    writer.number(entry.rank);
    writer.number(static_cast<std::uint8_t>(entry.key.size()));
    writer.number(static_cast<std::uint16_t>(entry.value.size()));
    writer.text(std::as_bytes(std::span(entry.key)));
    writer.text(entry.value);
  }
  return writer.take();
}

bool decode(std::span<const std::byte> bytes, MeetingMessage& message, std::string& reason) {
  Reader reader(bytes);
  std::uint32_t magic = 0, version = 0;
  if (!reader.number(magic) || magic != kMagic || !reader.number(version)) {
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
