// The process's one connection to its PMIx launcher: opened at most once, closed when the process exits. libpmix counts
// initialisations and cannot be opened again cheaply, while LAPI may be initialised and terminated many times.
#pragma once

#include <cstdint>
#include <string>

namespace openlapi {

// Who this process is, as the launcher says.
struct PmixIdentity {
  std::string name_space{};
  std::uint32_t rank = 0;
};

// Null with the reason in `error` when no launcher answers; the answer is the same for the life of the process. The
// caller's signal mask and affinity are as before; libpmix's own thread takes no signals.
const PmixIdentity* open_pmix_session(std::string& error);

}  // namespace openlapi
