// namstat: prints the network availability matrix: the adapters of all nodes, and which of them are down.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "control/daemon/session/tool_client.h"
#include "control/tools/matrix_text.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: namstat [options]\n"
    "  prints the network availability matrix: the adapters of all nodes of the universe, and what is down, since "
    "when\n"
    "  and why\n"
    "  --watch    go on: print it again whenever something changes\n"
    "  --history  print what has changed since the daemon here was started, the oldest first\n"
    "  --json     for programs: one JSON object on a line; with --history one for each change\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n"
    "  exit status: 0: all is up. 1: an adapter is down or unknown, or a daemon lost. 2: it could not be found out\n";

constexpr int kExitDown = 1;
constexpr int kExitUnknown = 2;
constexpr char kClearScreen[] = "\033[H\033[2J";

// As soon as it is another than version `known`.
Matrix ask_matrix(ToolClient& daemon, std::uint64_t known, bool history) {
  Matrix matrix;
  MatrixRequest request{known, 0, history ? std::uint8_t{1} : std::uint8_t{0}};
  do {
    MatrixMessage part =
        request.known != 0 ? daemon.await_news<MatrixMessage>(request) : daemon.ask_here<MatrixMessage>(request);
    if (request.first_node == 0) matrix.version = part.version;
    if (history && request.first_node == 0) matrix.changes = std::move(part.changes);
    matrix.rows.insert(matrix.rows.end(), part.rows.begin(), part.rows.end());
    request = {0, part.next_node, 0};
  } while (request.first_node != 0);
  matrix.universe = daemon.ask_here<UniverseMessage>(UniverseRequest{0});
  return matrix;
}

std::string text_of(const Matrix& matrix, std::uint64_t known_changes, const BootOptions& options) {
  const bool json = options.has("-json");
  if (options.has("-history")) return json ? json_history_of(matrix, known_changes) : history_of(matrix, known_changes);
  if (json) return json_of(matrix);
  return (options.has("-watch") && isatty(STDOUT_FILENO) != 0 ? kClearScreen : "") + table_of(matrix);
}

int show(const BootOptions& options) {
  ToolClient daemon(session_path(options.session_name()));
  daemon.end_with_reader(STDOUT_FILENO);
  std::uint64_t known = 0, known_changes = 0;
  while (true) {
    const Matrix matrix = ask_matrix(daemon, known, options.has("-history"));
    const std::string text = text_of(matrix, known_changes, options);
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
      throw std::runtime_error(std::string("standard output: ") + std::strerror(errno));
    }
    if (!options.has("-watch")) return is_all_up(matrix) ? 0 : kExitDown;
    known = matrix.version;
    if (!matrix.changes.empty()) known_changes = matrix.changes.back().number;
  }
}

// Status 1 says that something is down.
int run(BootOptions& options) {
  options.check_words(0, 0, "word");
  try {
    return show(options);
  } catch (const std::runtime_error& wrong) {
    std::fprintf(stderr, "namstat: %s\n", wrong.what());
    return kExitUnknown;
  }
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("h");
  options.add_words({"-watch", "-json", "-history"});
  options.add_common();
  return openlapi::daemon::tool_main("namstat", openlapi::daemon::kUsage, options, count, words, openlapi::daemon::run);
}
