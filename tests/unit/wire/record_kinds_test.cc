// What a record of each kind may have, and where its parts lie: all kinds with all flags, with and without a user
// header and a payload, against the table of record_format.md.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "dataplane/wire/operation_header.h"

namespace openlapi::wire {
namespace {

struct KindRules {
  std::size_t body;  // bytes
  bool payload;
  std::set<unsigned> flags;
};

constexpr unsigned kAttach = kFlagLong | kFlagAttach;

const KindRules& rules_of(unsigned kind) {
  static const std::vector<KindRules> rules = [] {
    const std::set<unsigned> none{0}, may_be_long{0, kFlagLong};
    const std::set<unsigned> put{0, kFlagLong, kAttach, kAttach | kFlagLayout, kAttach | kFlagBulk};
    std::set<unsigned> message;
    for (const unsigned flags : put) {
      for (const unsigned also : {0u, 0u + kFlagVector, 0u + kFlagAtoms, 0u + kFlagVector + kFlagAtoms}) {
        message.insert(flags | also);
      }
    }
    return std::vector<KindRules>{{0, false, {}},
                                  {24, true, put},
                                  {24, true, message},
                                  {16, true, none},
                                  {32, false, {0, kFlagBulk}},
                                  {16, true, none},
                                  {32, false, none},
                                  {16, false, none},
                                  {8, false, none},
                                  {8, false, none},
                                  {8, false, none},
                                  {8, false, none},
                                  {8, true, may_be_long},
                                  {16, false, none},
                                  {32, true, none},
                                  {64, true, none},
                                  {16, true, may_be_long},
                                  {8, false, none},
                                  {16, true, none},
                                  {8, true, {0, kFlagTargetCounter, kFlagCompletionCounter, kShortPutFlags}}};
  }();
  return rules[kind < rules.size() ? kind : 0];
}

bool is_allowed(unsigned kind, unsigned flags, unsigned user_header, unsigned payload) {
  const KindRules& rules = rules_of(kind);
  if (!rules.flags.contains(flags)) return false;
  if (user_header != 0 && (kind != static_cast<unsigned>(RecordKind::active_message) || user_header % 4 != 0)) {
    return false;
  }
  if ((flags & kFlagAttach) != 0 && (flags & kFlagBulk) != 0) return payload == 16 || payload == 128;
  return payload == 0 || (rules.payload && (flags & kFlagAttach) == 0);
}

TEST(RecordKinds, HaveOnlyWhatTheirTableSays) {
  std::vector<std::byte> packet(512, std::byte{0xff});  // any message is long enough for its first fragment
  for (unsigned kind = 0; kind < 32; ++kind) {
    if (kind == static_cast<unsigned>(RecordKind::short_put)) continue;  // has another header, below
    for (unsigned flags = 0; flags <= 0xff; ++flags) {
      for (const unsigned user_header : {0u, 1u, 2u, 4u, 8u}) {
        for (const unsigned payload : {0u, 1u, 8u, 16u, 24u, 128u, 144u}) {
          const RecordHeader header{static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(flags),
                                    static_cast<std::uint16_t>(user_header), payload};
          std::memcpy(packet.data(), &header, sizeof(header));
          std::span<std::byte> rest(packet);
          Record record;
          const bool found = next_record(rest, record);
          const bool allowed = is_allowed(kind, flags, user_header, payload);
          ASSERT_EQ(found, allowed) << kind << ", flags " << flags << ", " << user_header << " and " << payload;
          if (!found) continue;
          const bool is_long = (flags & kFlagLong) != 0;
          const std::size_t before = sizeof(header) + rules_of(kind).body + (is_long ? sizeof(LongExtension) : 0);
          ASSERT_EQ(record.body, packet.data() + sizeof(header));
          ASSERT_EQ(record.user_header, packet.data() + before);
          ASSERT_EQ(record.payload, packet.data() + before + user_header);
          ASSERT_EQ(rest.data(), packet.data() + align_record(before + user_header + payload));
          ASSERT_EQ(rest.data() + rest.size(), packet.data() + packet.size());
        }
      }
    }
  }
}

std::vector<std::byte> short_put(unsigned flags, std::size_t payload) {
  std::vector<std::byte> packet(short_put_fixed_part(static_cast<std::uint8_t>(flags)) + payload, std::byte{0xff});
  const ShortPutHeader header{static_cast<std::uint8_t>(RecordKind::short_put), static_cast<std::uint8_t>(flags),
                              static_cast<std::uint16_t>(payload)};
  std::memcpy(packet.data(), &header, sizeof(header));
  return packet;
}

TEST(RecordKinds, ShortPutsHaveOnlyFlagsOfCounters) {
  for (unsigned flags = 0; flags <= 0xff; ++flags) {
    for (const std::size_t payload : {0u, 1u, 4u, 5u, 8u, 256u, 65535u}) {
      auto packet = short_put(flags, payload);
      packet.resize(packet.size() + 64);
      std::span<std::byte> rest(packet);
      Record record;
      const bool found = next_record(rest, record);
      ASSERT_EQ(found, rules_of(static_cast<unsigned>(RecordKind::short_put)).flags.contains(flags)) << flags;
      if (!found) continue;
      const std::size_t counters = (flags >> 6 & 1) + (flags >> 7 & 1);
      const std::size_t before = 4 + 8 + 8 * counters;
      ASSERT_EQ(record.header.payload_length, payload);
      ASSERT_EQ(record.header.user_header_length, 0);
      ASSERT_EQ(record.body, packet.data() + 4);
      ASSERT_EQ(record.payload, packet.data() + before);
      ASSERT_EQ(rest.data(), packet.data() + align_record(before + payload));
      ASSERT_EQ(rest.data() + rest.size(), packet.data() + packet.size());
      ASSERT_FALSE(record.is_long() || record.is_attach() || record.is_vector() || record.has_layout() ||
                   record.in_atoms() || record.is_bulk());
    }
  }
}

TEST(RecordKinds, ShortPutsThatAreCutShortAreNone) {
  for (const unsigned flags : {0u, 64u, 128u, 192u}) {
    for (const std::size_t payload : {0u, 1u, 8u, 65535u}) {
      auto packet = short_put(flags, payload);
      std::span<std::byte> rest(packet);
      Record record;
      ASSERT_TRUE(next_record(rest, record));
      ASSERT_TRUE(rest.empty());
      const std::size_t fixed = packet.size() - payload;
      for (const std::size_t length : {fixed - 1, fixed, packet.size() - 1, std::size_t{8}, std::size_t{7}}) {
        if (length == packet.size()) continue;
        rest = std::span(packet).first(length);
        EXPECT_FALSE(next_record(rest, record)) << flags << ", " << payload << ", " << length;
      }
    }
  }
}

TEST(RecordKinds, HaveBodiesOfOneLength) {
  for (unsigned kind = 0; kind <= 0xff; ++kind) {
    EXPECT_EQ(body_size(static_cast<std::uint8_t>(kind)), rules_of(kind).body) << kind;
  }
}

TEST(RecordKinds, SayWhatTheirFlagsAre) {
  for (unsigned bit = 0; bit < 8; ++bit) {
    Record record{};
    record.header.flags = static_cast<std::uint8_t>(1u << bit);
    const std::vector<bool> said{record.is_long(),    record.is_attach(), record.is_vector(),
                                 record.has_layout(), record.in_atoms(),  record.is_bulk()};
    for (unsigned which = 0; which < said.size(); ++which) EXPECT_EQ(said[which], which == bit) << which;
  }
}

// The whole packet may be one record, which need not end at a multiple of 8; a byte less is too little for it.
TEST(RecordKinds, FitAPacketOfTheirLength) {
  for (const unsigned payload : {0u, 1u, 7u, 8u, 9u}) {
    std::vector<std::byte> packet(sizeof(RecordHeader) + sizeof(ActiveMessageBody) + 4 + payload);
    const RecordHeader header{static_cast<std::uint8_t>(RecordKind::active_message), 0, 4, payload};
    std::memcpy(packet.data(), &header, sizeof(header));
    std::span<std::byte> rest(packet);
    Record record;
    EXPECT_TRUE(next_record(rest, record));
    EXPECT_TRUE(rest.empty());
    for (std::size_t length = 0; length < packet.size(); ++length) {
      rest = std::span(packet).first(length);
      EXPECT_FALSE(next_record(rest, record)) << length;
    }
  }
}

// A message's first fragment may be all of it, and not more.
TEST(RecordKinds, AFragmentIsNoLongerThanItsMessage) {
  for (const std::uint64_t total : {7u, 8u, 9u}) {
    std::vector<std::byte> packet(sizeof(RecordHeader) + sizeof(PutBody) + sizeof(LongExtension) + 8);
    const RecordHeader header{static_cast<std::uint8_t>(RecordKind::put), kFlagLong, 0, 8};
    std::memcpy(packet.data(), &header, sizeof(header));
    std::memcpy(packet.data() + sizeof(header) + sizeof(PutBody), &total, sizeof(total));
    std::span<std::byte> rest(packet);
    Record record;
    EXPECT_EQ(next_record(rest, record), total >= 8) << total;
  }
}

}  // namespace
}  // namespace openlapi::wire
