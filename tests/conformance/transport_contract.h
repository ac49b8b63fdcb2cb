// The contract that every transport keeps (dataplane/transport/transport.h). The cases are in transport_contract.cc and
// transport_contract_processes.cc; <name>_contract.cc instantiates them for one transport:
//   INSTANTIATE_TEST_SUITE_P(Udp, TransportContract, testing::Values(TransportKind{...}), kind_name);
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/transport_tasks.h"

namespace openlapi::test {

class TransportContract : public testing::TestWithParam<TransportKind> {};

inline std::string kind_name(const testing::TestParamInfo<TransportKind>& info) { return info.param.name; }

// A packet's bytes, which follow from its source, number and length.
std::vector<std::byte> make_packet(PeerIndex source, std::uint32_t number, std::uint32_t length);

// Expects that `packet` is one of make_packet()'s, of at least 8 bytes; returns its number.
std::uint32_t check_packet(const IncomingPacket& packet, PeerIndex source);
PeerIndex packet_source(const IncomingPacket& packet);

// Offers one packet until it is taken. False after a minute.
bool send_one(Transport& transport, PeerIndex peer, const std::vector<std::byte>& bytes);

// Polls until one packet is here. False after `seconds`.
bool receive_one(Transport& transport, IncomingPacket& packet, unsigned seconds = 60);

}  // namespace openlapi::test
