// Where the programs of one installation are. In bin are those that users start, and the two that boot modules start on
// hosts, hboot and tkill; in a folder of libexec those that only other programs start (lamd, lamtasks, lamtree). They
// may also be all in one folder, as in a build folder.
#pragma once

#include <string>
#include <vector>

namespace openlapi {

extern const char kBinToHelpers[];   // relative path from bin to the folder of libexec
extern const char kBinToSettings[];  // to that of etc

// `folder` and, if there is one, the other folder with programs of its installation; that of libexec first.
std::vector<std::string> folders_of_installation(const std::string& folder);

// Puts the programs of the installation that `folder` belongs to first into PATH.
void prefer_programs_of(const std::string& folder);

// The same for this program: for the folder of its name, then for the one that this may be a link to.
void prefer_own_programs();

// The folder in etc of the installation to which `folder`, or this program, belongs, wherever the installation was
// moved to. Empty if there is none, as in a build folder.
std::string settings_of_installation(const std::string& folder);
std::string own_settings();

// The path of a program that is installed below `prefix`; of one that is not: its path in bin.
std::string program_below(const std::string& prefix, const std::string& name);

// The path of a library of this installation that is loaded when it is asked for. Empty: it is not installed.
std::string own_module(const std::string& name);

// Whether a command of this name would be found.
bool is_in_search_path(const std::string& name);

// "hboot NAME ..." runs a program of the installation of hboot. Whoever finds that program by itself leaves out the
// first word.
char** without_hboot(char** words);

}  // namespace openlapi
