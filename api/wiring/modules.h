// Loads transports that are modules (dataplane/transport/transport_module.h).
//
// libopenlapi-NAME.so is searched for in a folder `openlapi` beside liblapi.so, then beside the folder that contains
// liblapi.so (for the tracing library, and for build folders); or only in OPENLAPI_LIBRARY_FOLDER if that is set. A
// module stays loaded until the process ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dataplane/transport/transport_module.h"

namespace openlapi {

// Where this library's code is: the path of liblapi.so, or of a program that is linked with parts of it.
std::string own_library_path();

// The folders to search, in order. `named`: the value of OPENLAPI_LIBRARY_FOLDER, which is ignored in programs that run
// with more rights than their caller (set-user-ID).
std::vector<std::string> module_folders(const std::string& library_path, const std::string& named);

// Null: `reason` says which files were searched for, or what is wrong with the one that was found. Any thread.
TransportModule* load_module(std::string_view name, const std::vector<std::string>& folders, std::string& reason);

}  // namespace openlapi
