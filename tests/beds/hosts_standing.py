#!/usr/bin/env python3
"""Where the tasks of a job over several hosts stand when --timeout ends it. Runs inside the bed:

    tests/beds/hosts 4 --sshd -- hosts_standing.py BUILD PROCESS-SCHEMA

One task on each host, at a place of its own (tests/system/control_standing_probe.cc). Prints TAP."""
import os
import re
import sys

sys.dont_write_bytecode = True
from hosts_programs import Done, daemons, install, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
PROBE = os.path.join(BUILD, "tests/system/control_standing_probe")
HOSTS = os.environ["HOSTS_NAMES"].split()
OVER = "the time of --timeout is over; ending the tasks"
TIME = r"for (\d+ to )?\d+ s"
SECONDS = (3, 10, 30)  # for tasks to get to their places; the places do not change with time
PLACES = {
    "stopped": "stopped by a signal, outside of LAPI",
    "waitcntr": f"in LAPI_Waitcntr {TIME}: the counter is 1, waited for is 3",
    "gfence": f"in LAPI_Gfence {TIME}",
    "asleep": "outside of LAPI, asleep",
}


def said_of(places, *lines):
    """Whether lapirun says these lines, in order, and no others; and all that it has said."""
    wanted = [OVER, *lines]
    for seconds in SECONDS:
        done = Done(["lapirun", "-n", str(len(places)), "N", "--timeout", str(seconds), PROBE, *places])
        said = [line.removeprefix("lapirun: ") for line in done.err.splitlines() if line.startswith("lapirun: ")]
        if done.status == 124 and len(said) == len(wanted) and all(map(re.fullmatch, wanted, said)):
            return True, done
    return False, done


def alone(task, place):
    return rf"task {task} \(process \d+\) on n{task} \({HOSTS[task]}\): {PLACES[place]}"


def test_each_host_has_a_task_at_another_place():
    good, done = said_of(list(PLACES), *(alone(task, place) for task, place in enumerate(PLACES)))
    check("each task is named with its host and its place", good, done)


def test_those_at_one_place_share_a_line():
    good, done = said_of(["gfence", "stopped", "gfence", "gfence"], rf"tasks 0,2-3 on 3 nodes: {PLACES['gfence']}",
                         alone(1, "stopped"))
    check("tasks of several hosts at one place share a line", good, done)


def main():
    install(BUILD)
    booted = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1")
    check("the hosts are a universe", booted.status == 0, booted)
    test_each_host_has_a_task_at_another_place()
    test_those_at_one_place_share_a_line()
    left = {host: said for host in HOSTS if (said := Done(["ssh", host, "pgrep -x control_standin"]).out)}
    check("no task is left on any host", not left, left)
    halted = Done(["lamhalt"])
    check("nothing of the universe is left", halted.status == 0 and not daemons(HOSTS), (halted, daemons(HOSTS)))
    return finish()


if __name__ == "__main__":
    sys.exit(main())
