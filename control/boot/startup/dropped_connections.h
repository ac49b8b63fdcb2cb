// Connections to the startup protocol that were dropped, of all servers of this process. Anybody can make any number of
// them, from any number of addresses: they are reported together, in one line at the end of the boot.
#pragma once

#include <netinet/in.h>

#include <string>

namespace openlapi::boot {

// Thread safe.
void count_dropped_connection(const sockaddr_in& from, const std::string& why);
// Prints the line, if there were any since the last.
void report_dropped_connections();

}  // namespace openlapi::boot
