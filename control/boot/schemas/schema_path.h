// Where schema files are looked for.
#pragma once

#include <string>
#include <vector>

#include "control/boot/include/all_opt.h"

namespace openlapi::boot {

// The path of a file that can be read: `name` itself if it is absolute; else in the present directory,
// $TROLLIUSHOME/etc, $LAMHOME/etc and the folder of this installation. Throws BootError that says where it was looked
// for. `what`: what the file is, for the message.
std::string find_schema_file(const std::string& name, const std::string& what);

// The words of the command line that are no option, without the program; those behind "--" too.
std::vector<std::string> plain_words(OPT* options);

}  // namespace openlapi::boot
