// How lapirun understands what users of LAM's mpirun write.
#pragma once

#include <string>
#include <vector>

namespace openlapi {

// lapirun's own name of an option of mpirun: "--np" for -np, "--np" for -c, "--wd" for -wd. Others come back as they
// are.
std::string own_name_of(const std::string& word);

// An option of mpirun, without a value, that asks for what lapirun does anyway, or for what does not exist here.
bool is_without_effect(const std::string& word);

// What -x names, one variable each: "A,B=1,C=2". A comma in a value belongs to it unless NAME= follows.
std::vector<std::string> split_variables(const std::string& text);

}  // namespace openlapi
