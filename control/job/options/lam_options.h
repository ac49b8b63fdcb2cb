// How lapirun understands what users of LAM's mpirun write.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace openlapi {

// lapirun's own name of an option of mpirun: "--np" for -np, "--np" for -c, "--wd" for -wd. Others come back as they
// are.
std::string own_name_of(const std::string& word);

// All options of other launchers that are known here, for advice to those who mistype one.
std::vector<std::string_view> foreign_options();

// An option of mpirun that is none of lapirun's.
struct LamOption {
  std::string_view word;
  std::size_t values;     // that follow it
  bool refused;           // else the job runs without it
  std::string_view text;  // why, and what to use instead; empty: it asks for what lapirun does anyway
};
const LamOption* find_lam_option(std::string_view word);

// The names of a list with commas between them.
std::vector<std::string> split_hosts(const std::string& list);

// Why a name of that list cannot be a host's: mpirun's NAME:SLOTS, or none. Empty: it can.
std::string host_mistake(const std::string& host, const std::string& list);

// MPICH's -f FILE; LAM's -f has no value, so that the file seems to be the program.
bool is_file_of_hosts(const std::vector<std::string>& arguments, std::size_t program);
// The message about it, by the launcher of that name.
std::string answer_to_file_of_hosts(const std::string& file, const std::string& launcher);

// What -x names, one variable each: "A,B=1,C=2". A comma in a value belongs to it unless NAME= follows, or the name of
// a variable that is set: these are `exported` as well, as they could have been meant otherwise.
struct Variables {
  std::vector<std::string> all{};
  std::vector<std::string> exported{};
};
Variables split_variables(const std::string& text, const std::function<bool(const std::string&)>& is_set);

}  // namespace openlapi
