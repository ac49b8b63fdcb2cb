// Loading transports that are modules (dataplane/transport/transport_module.h).
//
// libopenlapi-NAME.so is looked for in a folder `openlapi` beside liblapi.so, then beside the folder that liblapi.so is
// in (the tracing library's place, and a build folder's), or only in OPENLAPI_LIBRARY_FOLDER if that is set. A module
// stays loaded until the process ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dataplane/transport/transport_module.h"

namespace openlapi {

// Where the code of this library is: the path of liblapi.so, or of a program that is linked with its parts.
std::string own_library_path();

// Where modules are looked for, in this order. `named` is OPENLAPI_LIBRARY_FOLDER; programs that run with more rights
// than their caller do not obey it.
std::vector<std::string> module_folders(const std::string& library_path, const std::string& named);

// Null: `reason` says which files were looked for or what is wrong with the one that was found. Any thread.
TransportModule* load_module(std::string_view name, const std::vector<std::string>& folders, std::string& reason);

}  // namespace openlapi
