#!/usr/bin/env python3
"""As many tasks of one node as may share memory, and one more.

    api_many_tasks.py LAPIRUN PROGRAM_DIRECTORY [test...]
"""
import sys

from api_jobs import expect_equal, main

SHM_SETUP = 439
MOST = 1024
LIMIT = 240  # seconds; on two processors it takes 15


def test_1024_tasks_share_memory(jobs):
    result = jobs.launch(MOST, ["api_init_probe", "brief"], limit=LIMIT, MP_INFOLEVEL="1")
    lines = result.out.splitlines()
    said = {text: lines.count(text) for text in ("shm_tasks 1024", "shared_bytes 8", "network_bytes 0", "ended 1")}
    expect_equal((result.status, said), (0, dict.fromkeys(said, MOST)), str(result)[-3000:])
    # A slow machine's lapirun says for whom the others wait.
    of_tasks = [line for line in result.err.splitlines() if line.startswith("openlapi: ")]
    expect_equal(of_tasks, ["openlapi: task 0 talks to 1023 others: all through shared memory"], result.err)


def test_1025_tasks_do_not(jobs):
    """One of them, which believes what it is told of the others. The first one on its node says it, at any level."""
    text = "1025 tasks on this node, shared memory serves at most 1024"
    for task, said in ((0, 1), (1, 0)):
        others = ":".join(str(other) for other in range(MOST + 1) if other != task)
        job = {"MP_CHILD": str(task), "MP_PROCS": "1025", "MP_COMMON_TASKS": f"1024:{others}"}
        expect_equal(jobs.alone(LAPI_USE_SHM="only", **job).value("code"), SHM_SETUP, "")
        result = jobs.alone("silent", LAPI_USE_SHM="yes", **job)
        expect_equal((result.status, result.err.count(text)), (0, said), str(result)[-3000:])


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
