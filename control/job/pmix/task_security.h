// Who checks which user a task runs as.
#pragma once

#include <string>

namespace openlapi {

// Has libpmix check users by MUNGE where a munged runs that it can ask, unless the user's PMIX_MCA_psec says otherwise.
// libpmix's own way, "native", believes the user number that a process claims. Before libpmix begins; sets the
// environment.
void choose_task_security();

// Whether somebody answers at this socket. Never waits.
bool answers(const std::string& socket_path);

}  // namespace openlapi
