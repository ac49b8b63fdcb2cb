// Names that lapirun and the tasks agree on.
#pragma once

namespace openlapi {

// 64 random bits, unsigned: part of the job's data under lapirun, put by task 0 under other launchers. It
// travels through PMIx only, so that no file, argument or environment variable holds it.
inline constexpr const char* kJobCookieKey = "openlapi.job.cookie";
// 64 more, in the same way: the second half of the packets' key. Task 0 puts both in one value of 16 bytes.
inline constexpr const char* kPacketKeyKey = "openlapi.job.packet_key";

// The exchange has already brought the cookie when it is asked for; only a launcher in trouble needs any of this time.
inline constexpr unsigned kJobCookieWaitSeconds = 60;

}  // namespace openlapi
