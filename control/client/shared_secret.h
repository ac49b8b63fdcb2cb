// The secret that a user's tasks share although no launcher gave them one: 128 bits in a file that no other user can
// read. Their job's cookie is made with it, so that it is not enough to know or guess MP_PARTITION.
#pragma once

#include <string>

#include "dataplane/base/siphash.h"

namespace openlapi {

// Where such a secret lies unless the user names a file: below the home folder.
inline constexpr const char* kSecretFolder = ".openlapi";
inline constexpr const char* kSecretName = "secret";

// From `file`, which has to be there; empty: from the user's own file below `home` (null or empty: there is none),
// which whoever comes first makes, unless the home is another user's. It is taken only if it is a plain file of this
// user's that nobody else may read. False: `error` says what is wrong and how to mend it.
bool read_shared_secret(const std::string& file, const char* home, SipKey& secret, std::string& error);

}  // namespace openlapi
