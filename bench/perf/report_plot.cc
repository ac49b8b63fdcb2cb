// The plot: latency over size on the left, bandwidth over size on the right, each with its floor (dashed). gnuplot gets
// the figures with its commands, so no other file is left behind.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "bench/perf/report.h"

namespace openlapi::bench {
namespace {

struct Curve {
  std::string title;
  std::string block;  // name of its data in gnuplot
  bool floor = false;
  int colour = 1;
  std::string points;  // lines "size latency bandwidth"
};

void add_point(Curve& curve, std::size_t size, double nanoseconds, double bytes) {
  if (nanoseconds <= 0) return;
  char line[96];
  std::snprintf(line, sizeof line, "%zu %.6g %.6g\n", size, nanoseconds / 1000, bytes / nanoseconds);
  curve.points += line;
}

std::vector<Curve> make_curves(const std::vector<Row>& rows) {
  std::vector<Curve> curves;
  int colour = 0;
  for (const Wire wire : {Wire::shm, Wire::udp, Wire::verbs, Wire::dpdk}) {
    for (const char* operation : {"put", "get", "am"}) {
      ++colour;
      Curve library{.title = std::string(name_of(wire)) + " " + operation,
                    .block = "",
                    .floor = false,
                    .colour = colour,
                    .points = ""};
      Curve floor{.title = library.title + ": floor", .block = "", .floor = true, .colour = colour, .points = ""};
      for (const Row& row : rows) {
        if (row.wire != wire || row.operation != operation) continue;
        add_point(library, row.size, row.figures.median, row.bytes);
        add_point(floor, row.size, row.figures.floor, row.bytes);
      }
      for (Curve* curve : {&library, &floor}) {
        if (curve->points.empty()) continue;
        curve->block = "$curve" + std::to_string(curves.size());
        curves.push_back(*curve);
      }
    }
  }
  return curves;
}

std::string panel(const std::vector<Curve>& curves, const char* title, const char* unit, int column) {
  std::string text = "set title '" + std::string(title) + "'\nset ylabel '" + unit + "'\nplot ";
  for (const Curve& curve : curves) {
    if (&curve != &curves.front()) text += ", \\\n  ";
    text += curve.block + " using 1:" + std::to_string(column) + " with linespoints lw 1.5 ps 0.5 pt " +
            (curve.floor ? "6 dt 2" : "7 dt 1") + " lc " + std::to_string(curve.colour) + " title '" + curve.title +
            "'";
  }
  return text + "\n";
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

std::string make_script(const std::string& file, const RunDescription& run, const std::vector<Curve>& curves) {
  std::string script =
      "set terminal svg size 1200,560 font 'sans,12' background '#ffffff'\nset output " + quoted(file) + "\n";
  for (const Curve& curve : curves) script += curve.block + " << END\n" + curve.points + "END\n";
  script += "set multiplot layout 1,2 title " +
            quoted(std::string("openlapi between two tasks, ") + name_of(run.mode) + " mode; floors dashed") + "\n";
  script +=
      "set logscale xy\nset logscale x 2\nset format x '%.0b%B'\nset xlabel 'bytes'\nset grid\nset key left top\n";
  script += panel(curves, "Latency", "microseconds", 2);
  script += panel(curves, "Bandwidth", "GB/s", 3);
  return script + "unset multiplot\n";
}

// Runs gnuplot with the script as its input; its complaints go to our stderr.
bool run_gnuplot(const std::string& script) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[0], STDIN_FILENO);
    execlp("gnuplot", "gnuplot", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(pipe_ends[0]);
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  bool written = child > 0;
  for (std::size_t done = 0; written && done < script.size();) {
    const ssize_t count = write(pipe_ends[1], script.data() + done, script.size() - done);
    written = count > 0;
    if (written) done += static_cast<std::size_t>(count);
  }
  close(pipe_ends[1]);
  std::signal(SIGPIPE, before);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && written && status == 0;
}

}  // namespace

bool write_plot(const std::string& file, const RunDescription& run, const std::vector<Row>& rows, std::string& error) {
  const std::vector<Curve> curves = make_curves(rows);
  if (curves.empty()) {
    error = "--plot " + file + ": no row of put, get or am was measured, so there is nothing to draw";
    return false;
  }
  if (run_gnuplot(make_script(file, run, curves))) return true;
  error = "--plot " + file + ": gnuplot could not draw it (its own words are above)";
  return false;
}

}  // namespace openlapi::bench
