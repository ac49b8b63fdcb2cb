#include "nic/dpdk/driver_timers.h"

#include <rte_lcore.h>
#include <rte_timer.h>

#include "dataplane/base/cancellation.h"
#include "nic/dpdk/dpdk_environment.h"

namespace openlapi::dpdk {

// A thread that is none of EAL's gives its timers to EAL's first one, which here has ended, or only waits for work. By
// its number, which nobody else uses (the lock), they are run; without a number DPDK would end the process.
void run_driver_timers() {
  if (!is_own_environment()) return;
  const CancellationOff off;
  const ControlLock lock(ControlLock::Patience::look);
  if (!lock.held()) return;
  unsigned& number = RTE_PER_LCORE(_lcore_id);
  const unsigned own = number;
  number = rte_get_next_lcore(-1, 0, 1);
  rte_timer_manage();
  number = own;
}

}  // namespace openlapi::dpdk
