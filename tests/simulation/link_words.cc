#include "tests/simulation/link_words.h"

namespace openlapi::simulation {

namespace {
constexpr std::uint64_t kLinkStream = 0x6c696e6b;
constexpr std::uint64_t kMatrixStream = 0x6e616d;
}

LinkWords::LinkWords(const Scenario& scenario, VirtualTime& time, SimulatedNetwork& network)
    : scenario_(scenario),
      time_(time),
      network_(network),
      random_(scenario.options.seed, kLinkStream),
      matrix_random_(scenario.options.seed, kMatrixStream) {}

void LinkWords::cut(PeerIndex task, std::uint32_t adapter, Nanoseconds length) {
  if (scenario_.has_matrix) cut_in_matrix(task, adapter, length);
  if (!scenario_.links_told || random_.chance(0.2)) return;
  const auto pause = [&] {
    return random_.below(scenario_.links_told_wrong && random_.chance(0.3) ? 100 * kMillisecond : 200 * kMicrosecond);
  };
  tell_after(pause(), task, adapter, false);
  tell_after(length + pause(), task, adapter, true);
}

// The daemon of the task's node says so, in time or long after; or it has died in between.
void LinkWords::cut_in_matrix(PeerIndex task, std::uint32_t adapter, Nanoseconds length) {
  if (matrix_random_.chance(0.2)) return;
  const auto pause = [&] { return matrix_random_.below((matrix_random_.chance(0.2) ? 300 : 20) * kMillisecond); };
  row_after(pause(), task, adapter, false);
  if (!matrix_random_.chance(0.1)) row_after(length + pause(), task, adapter, true);
}

void LinkWords::row_after(Nanoseconds pause, PeerIndex task, std::uint32_t adapter, bool up) {
  time_.after(pause, [this, task, adapter, up] {
    ++told_;
    network_.tell_in_matrix(task, adapter, up);
  });
}

void LinkWords::lie() {
  if (scenario_.has_matrix && matrix_random_.chance(0.1)) {
    const auto task = static_cast<PeerIndex>(matrix_random_.below(scenario_.options.tasks));
    row_after(0, task, static_cast<std::uint32_t>(matrix_random_.below(scenario_.networks)),
              matrix_random_.chance(0.5));
  }
  if (!scenario_.links_told_wrong || !random_.chance(0.1)) return;
  const auto task = static_cast<PeerIndex>(random_.below(scenario_.options.tasks));
  tell_after(0, task, static_cast<std::uint32_t>(random_.below(scenario_.networks)), random_.chance(0.5));
}

void LinkWords::tell_after(Nanoseconds pause, PeerIndex task, std::uint32_t adapter, bool up) {
  time_.after(pause, [this, task, adapter, up] {
    ++told_;
    network_.tell_of_link(task, adapter, up);
  });
}

}  // namespace openlapi::simulation
