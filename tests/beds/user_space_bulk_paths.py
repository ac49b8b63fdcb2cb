#!/usr/bin/env python3
"""Bulk transfers of 64 MiB between two tasks with two RDMA devices each: both carry, and one fails in the middle. Runs
inside the bed:

    tests/beds/soft-roce --devices 4 -- user_space_bulk_paths.py BUILD

Prints TAP."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from paths_probe import Job, wait_until  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
# Task 0 has rxe0 and rxe2, task 1 has rxe1 and rxe3.
WITH_DEVICES = 'MP_LAPI_NETWORK=@2:1,rxe$PMIX_RANK:2,rxe$((PMIX_RANK + 2)) exec "$0" "$@"'
MIB = 1 << 20
LENGTH = 64


def start(mode):
    environment = {**os.environ, "MP_EUILIB": "us", "OPENLAPI_MODULES": "verbs", "LAPI_USE_SHM": "no", "MP_INFOLEVEL": "2",
                   "OPENLAPI_LIBRARY_FOLDER": os.path.join(BUILD, "openlapi")}
    job = Job([os.path.join(BUILD, "control/lapirun"), "-n", "2", "/bin/sh", "-c", WITH_DEVICES,
               os.path.join(BUILD, "tests/system/api_bulk_paths_probe"), mode, str(LENGTH)], environment)
    check(f"it begins ({mode})", job.begun, job)
    return job


def total(job, what):
    return sum(int(count) for count in re.findall(rf"{what} +(\d+)$", "\n".join(job.lines), re.MULTILINE))


def end(job, what):
    """Its transfers, and those that went in packets: where the machine is late soft-RoCE gives reads up."""
    check(f"nothing is wrong: {what}", job.ends_well(), job)
    transfers = job.number("transfers") or 0
    received, failures = total(job, "bulk transfers received"), total(job, "in packets after a failure")
    print(f"# {what}: {transfers} transfers, the slowest took {job.number('slowest')} ms, {received} received in bulk, "
          f"{failures} in packets after a failure", flush=True)
    check(f"most is read by the adapters: {what}", received > 0 and received >= 0.5 * transfers, job)
    return transfers, transfers - received - failures


def link(name, state):
    subprocess.run(["ip", "link", "set", name, state], check=True)


def carried():
    """Bytes over the cables of task 0's two devices, so far."""
    sums = []
    for port in (0, 2):
        folder = f"/sys/class/net/port{port}/statistics"
        sums.append(sum(int(open(f"{folder}/{way}_bytes").read()) for way in ("rx", "tx")))
    return sums


def since(before):
    return [now - then for now, then in zip(carried(), before)]


def while_it_goes_on(job):
    """What the two have carried."""
    before = carried()
    return since(before) if job.goes_on() else [0, 0]


def are_shared(job, part):
    """Whether a device carries at least that part of what the other one does, sooner or later; and what they carried then. On a
    slow machine a path's answers may be late at first, and one that has failed is probed for a while."""
    seen = []

    def shared():
        seen[:] = while_it_goes_on(job)
        return job.has_ended() or min(seen) > part * max(seen)

    return wait_until(shared) and not job.has_ended(), [amount // MIB for amount in seen]


def test_both_carry():
    before = carried()
    job = start("polling")
    shared, seen = are_shared(job, 0.25)
    print(f"# MiB over the two: {seen}")
    check("both carry a good part", shared, (seen, job))
    transfers, others = end(job, "both carry")
    check("no other one goes in packets", others <= 0.1 * transfers, (others, transfers))
    check("and all of it", sum(since(before)) > transfers * LENGTH * MIB, (since(before), transfers))


def test_one_fails(mode, what, name, dead):
    """`dead`: which of the two paths."""
    job = start(mode)
    check(f"it goes on at first: {what}", job.goes_on(2), job)
    link(name, "down")
    check(f"it goes on over the other one: {what}", job.goes_on(2), job)
    alone = while_it_goes_on(job)
    check(f"which carries alone: {what}", alone[1 - dead] > LENGTH * MIB and alone[dead] < 0.1 * alone[1 - dead], (alone, job))
    link(name, "up")
    shared, seen = are_shared(job, 0.1)
    print(f"# MiB over the two while one was down: {[amount // MIB for amount in alone]}, and {seen} when it was back")
    check(f"it is used again: {what}", shared and job.goes_on(3), (seen, job))
    end(job, what)


if __name__ == "__main__":
    test_both_carry()
    test_one_fails("polling", "a cable is pulled", "port0", dead=0)
    test_one_fails("interrupt", "an adapter fails, and its queue pairs", "rdma0", dead=0)
    test_one_fails("polling", "an adapter of the other task fails", "rdma3", dead=1)
    sys.exit(finish())
