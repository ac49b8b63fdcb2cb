// The plot, over size: latency with its 99th percentile (dotted), bandwidth, and the ratio to the floor; floors are
// dashed. The key of all three panels stands beside them. gnuplot gets the figures with its commands, so no other file
// is left behind.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <iterator>

#include "api/include/lapi.h"
#include "bench/perf/report.h"

namespace openlapi::bench {
namespace {

struct Curve {
  std::string title;
  std::string block;  // name of its data in gnuplot
  bool floor = false;
  std::size_t style = 0;
  std::string points;  // lines "size latency bandwidth p99 ratio"
};

// Told apart by people who do not see all colours, and in print: each operation has a colour of a lightness of its own,
// each operation over each transport a mark.
constexpr const char* kColours[] = {"#003f7f", "#c4510a", "#2fa88a"};
constexpr std::size_t kOperations = std::size(kColours);
constexpr int kMarks[][kOperations] = {
    {7, 5, 9},     // filled circle, square, triangle
    {6, 4, 8},     // open ones
    {13, 11, 15},  // filled diamond, triangle that points down, pentagon
    {12, 10, 14},  // open ones
};
constexpr const char* kMissing = "nan";  // gnuplot draws nothing there

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return value > 0 ? text : kMissing;
}

void add_point(Curve& curve, const Row& row, double nanoseconds) {
  if (nanoseconds <= 0) return;
  curve.points += std::to_string(row.size) + " " + number(nanoseconds / 1000) + " " + number(row.bytes / nanoseconds);
  curve.points += " " + number(row.figures.p99 / 1000) + " " + number(row.figures.ratio) + "\n";
}

std::vector<Curve> make_curves(const std::vector<Row>& rows) {
  std::vector<Curve> curves;
  std::size_t style = 0;
  for (const Wire wire : {Wire::shm, Wire::udp, Wire::verbs, Wire::dpdk}) {
    for (const char* operation : {"put", "get", "am"}) {
      Curve library{.title = std::string(name_of(wire)) + " " + operation,
                    .block = "",
                    .floor = false,
                    .style = style,
                    .points = ""};
      Curve floor{.title = library.title + ": floor", .block = "", .floor = true, .style = style, .points = ""};
      ++style;
      for (const Row& row : rows) {
        if (row.wire != wire || row.operation != operation || !row.variant.empty()) continue;
        add_point(library, row, row.figures.median);
        add_point(floor, row, row.figures.floor);
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

// gnuplot's columns of a curve's points.
constexpr int kLatency = 2, kBandwidth = 3, kHighLatency = 4, kRatio = 5;

// What gnuplot draws a curve with.
std::string look_of(const Curve& curve, bool high) {
  const std::size_t operation = curve.style % kOperations;
  const std::string mark = std::to_string(kMarks[curve.style / kOperations][operation]);
  const std::string dashes = high ? "3" : curve.floor ? "2" : "1";
  return " with " + (high ? "lines" : "linespoints ps 0.7 pt " + mark) + " lw 1.5 dt " + dashes + " lc rgb '" +
         kColours[operation] + "'";
}

std::string line_of(const Curve& curve, int column) {
  return curve.block + " using 1:" + std::to_string(column) + look_of(curve, column == kHighLatency) + " notitle";
}

// Shares of the whole plot: of its width the panels', behind which the key stands, and of its height below the title.
constexpr double kPanelWidth = 0.29, kHeight = 0.95;

std::string place(unsigned panel, double width) {
  return "set origin " + std::to_string(panel * kPanelWidth) + ",0\nset size " + std::to_string(width) + "," +
         std::to_string(kHeight) + "\n";
}

// `columns`: each curve's, one after the other; what a floor has none of is left out.
std::string panel(const std::vector<Curve>& curves, const char* title, const char* unit,
                  std::initializer_list<int> columns) {
  std::string lines;
  for (const Curve& curve : curves) {
    for (const int column : columns) {
      if (curve.floor && (column == kHighLatency || column == kRatio)) continue;
      lines += (lines.empty() ? "" : ", \\\n  ") + line_of(curve, column);
    }
  }
  return "set title '" + std::string(title) + "'\nset ylabel '" + unit + "'\nplot " + lines + "\n";
}

// Draws nothing but the titles of the curves, with their lines and marks.
std::string key_of(const std::vector<Curve>& curves) {
  std::string lines;
  for (const Curve& curve : curves) {
    lines +=
        std::string(lines.empty() ? "" : ", \\\n  ") + "NaN" + look_of(curve, false) + " title '" + curve.title + "'";
  }
  return "unset border\nunset tics\nunset grid\nunset title\nunset xlabel\nunset ylabel\nunset logscale\n"
         "set key inside left center reverse Left\nplot [0:1] [0:1] " +
         lines + "\n";
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

std::string make_script(const std::string& file, const RunDescription& run, const std::vector<Curve>& curves) {
  std::string script =
      "set terminal svg size 2000,600 font 'sans,12' background '#ffffff'\nset output " + quoted(file) + "\n";
  for (const Curve& curve : curves) script += curve.block + " << END\n" + curve.points + "END\n";
  script += "set multiplot title " +
            quoted("openlapi " OPENLAPI_VERSION " between two tasks, " + std::string(name_of(run.mode)) +
                   " mode; floors dashed, 99th percentiles dotted; " + run.processor + ", " + run.kernel) +
            " noenhanced\n";
  script += "set logscale xy\nset logscale x 2\nset format x '%.0b%B'\nset xlabel 'bytes'\nset grid\nunset key\n";
  script += place(0, kPanelWidth) + panel(curves, "Latency", "microseconds", {kLatency, kHighLatency});
  script += place(1, kPanelWidth) + panel(curves, "Bandwidth", "GB/s", {kBandwidth});
  script += "set nologscale y\nset yrange [0:*]\n";
  script += place(2, kPanelWidth) + panel(curves, "Ratio to the floor", "library / floor", {kRatio});
  return script + place(3, 1 - 3 * kPanelWidth) + key_of(curves) + "unset multiplot\n";
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
