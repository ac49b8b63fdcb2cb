// Timers of drivers, which run when the program runs them. Of DPDK 22.11's drivers ENA alone has one, by which it
// notices once a second that the adapter does not answer any more, and asks for a reset.
#pragma once

namespace openlapi::dpdk {

// Runs those that are due. Where the program has started EAL by itself they are the program's. Does nothing while
// another thread makes, starts or removes a device. Costs next to nothing where there are none.
void run_driver_timers();

}  // namespace openlapi::dpdk
