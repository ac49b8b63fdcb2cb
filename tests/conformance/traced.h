// The tracing library's transport around another one keeps the contract, too. What it writes down goes nowhere
// (silent_trace.cc).
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "api/wiring/trace.h"
#include "tests/support/transport_tasks.h"

namespace openlapi::test {

// Of everything that a transport can have, whether this one has it.
inline auto present(Transport& transport) {
  std::array<bool, sizeof(TransportCapabilities) / sizeof(void*)> all;
  const auto pointers = std::bit_cast<std::array<const void*, all.size()>>(transport.capabilities());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = pointers[i] != nullptr;
  return all;
}

template <std::unique_ptr<Transport> (*open)(const OpenRequest&, std::string&)>
std::unique_ptr<Transport> open_traced(const OpenRequest& request, std::string& error) {
  std::unique_ptr<Transport> transport = open(request, error);
  if (transport == nullptr) return nullptr;
  const auto untraced = present(*transport);
  transport = traced(std::move(transport));
  EXPECT_EQ(present(*transport), untraced);
  return transport;
}

}  // namespace openlapi::test
