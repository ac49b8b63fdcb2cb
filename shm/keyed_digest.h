// A keyed one-way function of a few numbers. The names of abstract sockets can be read by every user of the machine
// (/proc/net/unix), so what is derived from the job's cookie must not lead back to it.
#pragma once

#include <cstdint>
#include <span>

namespace openlapi::shm {

// SipHash-2-4 of the little-endian words, keyed with {cookie, domain}.
std::uint64_t keyed_digest(std::uint64_t cookie, std::uint64_t domain, std::span<const std::uint64_t> words);

}  // namespace openlapi::shm
