#!/usr/bin/env python3
"""Programs in Fortran whose tasks are started by hand, over UDP on the loopback.

    standalone_test.py LAPIRUN PROGRAM_DIRECTORY [test...]
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from api_jobs import expect_equal, free_ports, main  # noqa: E402


def run_all(jobs, program, tasks):
    for mode in ("interrupt", "polling"):
        ports = ",".join(f"127.0.0.1:{port}" for port in free_ports(tasks))
        results = jobs.standalone(tasks, [program, mode], LAPI_USE_SHM="no", API_UDP_LIST=ports)
        for result in results:
            expect_equal(result.status, 0, f"{mode}: {result}")
        expect_equal(results[0].out.splitlines()[-1].split("..")[0], "1", f"{mode}: {results[0]}")


def test_ports_are_added(jobs):
    for tasks in (2, 4):
        run_all(jobs, "fortran_ports", tasks)


def test_tasks_are_purged_and_resumed(jobs):
    for tasks in (2, 5):
        run_all(jobs, "fortran_recovery", tasks)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
