#include "api/info/lam_mpi.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "control/base/process_handle.h"
#include "control/base/spawned_program.h"

namespace openlapi::info {
namespace {

constexpr char kModule[] = "ssi_rpi_lapi.so";
constexpr char kListed[] = "SSI rpi: lapi ";  // as laminfo has it

// Empty: it is in none of them.
std::string folder_with(const std::vector<std::string>& folders, const std::string& file, int access_mode) {
  for (const std::string& folder : folders) {
    if (!folder.empty() && access((folder + "/" + file).c_str(), access_mode) == 0) return folder;
  }
  return {};
}

std::vector<std::string> program_folders() {
  std::vector<std::string> folders;
  if (const char* home = std::getenv("LAMHOME"); home != nullptr) folders.push_back(std::string(home) + "/bin");
  const char* const path = std::getenv("PATH");
  std::istringstream rest(path == nullptr ? "" : path);
  for (std::string folder; std::getline(rest, folder, ':');) folders.push_back(folder);
  return folders;
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t count; (count = read(descriptor, part.data(), part.size())) != 0;) {
    if (count > 0) text.append(part.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  return text;
}

// What the program prints on both streams, or why it could not be started.
std::string output_of(const std::string& program) {
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) return std::strerror(errno);
  std::vector<std::string> words{program};
  pid_t process = 0;
  const SpawnedStreams streams{.output = ends[1], .errors = ends[1]};
  const int error = spawn_program(program.c_str(), exec_words(words).data(), streams, SpawnedSession::kThis, process);
  close(ends[1]);
  const std::string text = error == 0 ? read_all(ends[0]) : std::strerror(error);
  close(ends[0]);
  if (error == 0) await_child(process);
  return text;
}

// The last line with anything in it: where a program that fails says why.
std::string last_words(const std::string& text) {
  std::string last;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" -\t") != std::string::npos) last = line;
  }
  return last;
}

}  // namespace

LamReport report_lam(const std::vector<std::string>& folders) {
  LamReport report;
  const std::string where = folder_with(program_folders(), "laminfo", X_OK);
  report.folder = folder_with(folders, kModule, R_OK);
  if (where.empty()) return report;
  report.program = where + "/laminfo";
  if (report.folder.empty()) {
    report.reason = std::string(kModule) + " is not installed";
    return report;
  }
  setenv("LAM_MPI_SSI_base_module_path", report.folder.c_str(), 1);
  const std::string text = output_of(report.program);
  report.found = text.find(kListed) != std::string::npos;
  if (!report.found) report.reason = "laminfo does not list it: " + last_words(text);
  return report;
}

std::string describe(const LamReport& report) {
  if (report.program.empty()) return "  not on this machine (no laminfo in LAMHOME and PATH)\n";
  if (!report.found) return "  " + report.program + "; its rpi module lapi is not usable: " + report.reason + "\n";
  return "  " + report.program + " finds the rpi module lapi: mpirun -ssi base_module_path " + report.folder +
         " -ssi rpi lapi\n";
}

}  // namespace openlapi::info
