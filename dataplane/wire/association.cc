#include "dataplane/wire/association.h"

namespace openlapi::wire {

namespace {

// What a result is for: the same numbers give another one for each.
enum class Purpose : std::uint8_t {
  association = 1,
  first_sequence = 2,
  tag_key_low = 3,
  tag_key_high = 4,
  version = 5
};

std::uint64_t keyed(const SipKey& job_key, Purpose purpose, const PacketHeader& header,
                    std::uint8_t version = kPacketVersion) {
  const std::uint64_t words[] = {std::uint64_t{version} | std::uint64_t{static_cast<std::uint8_t>(purpose)} << 8 |
                                     std::uint64_t{header.instance} << 16 | std::uint64_t{header.path} << 24,
                                 std::uint64_t{header.source} | std::uint64_t{header.destination} << 32,
                                 header.source_epoch, header.destination_epoch};
  return siphash(job_key, words);
}

}  // namespace

std::uint64_t association_of(const SipKey& job_key, const PacketHeader& header) {
  return keyed(job_key, Purpose::association, header);
}

std::uint32_t first_sequence_of(const SipKey& job_key, const PacketHeader& header) {
  return static_cast<std::uint32_t>(keyed(job_key, Purpose::first_sequence, header));
}

std::uint64_t version_proof_of(const SipKey& job_key, std::uint8_t version, const PacketHeader& header) {
  return keyed(job_key, Purpose::version, header, version);
}

SipKey tag_key_of(const SipKey& job_key, const PacketHeader& header) {
  return {keyed(job_key, Purpose::tag_key_low, header), keyed(job_key, Purpose::tag_key_high, header)};
}

}  // namespace openlapi::wire
