// The order in which nodes are booted (specification, sections 1.2 and 2.5.11).
#pragma once

#include "control/boot/algorithms/boot_run.h"

namespace openlapi::boot {

// One node after the other: the next one is launched when the daemon of the last one has reported.
BootReport boot_linear(const BootRequest& request, NodeOperations& operations);

// One launch at a time, but up to `window` nodes are launched without having reported. Without the startup protocol the
// same as linear.
BootReport boot_windowed(const BootRequest& request, NodeOperations& operations, int window);

// Up to `threads` launches at the same time, and up to as many nodes launched without having reported: a thread goes on
// to its next node when its last one has reported.
BootReport boot_threaded(const BootRequest& request, NodeOperations& operations, int threads);

// The same, without begin() and finish() of the run.
void run_windowed(BootRun& run, int window);
void run_threaded(BootRun& run, int threads);

}  // namespace openlapi::boot
