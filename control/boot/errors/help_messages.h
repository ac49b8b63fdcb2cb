// Messages of LAM's help files: blocks that begin with a line -*-PROGRAM:TOPIC-*-.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace openlapi::boot {

// The block of this name in the text of a help file, without its comments. False: it has none.
bool find_help(std::string_view text, const std::string& program, const std::string& topic, std::string& block);

// With arguments in place of %1, %2, ...; what `error` means in place of %perror and %terror, its number in place of
// %errno.
std::string with_arguments(std::string_view block, const std::vector<std::string>& arguments, int error);

}  // namespace openlapi::boot
