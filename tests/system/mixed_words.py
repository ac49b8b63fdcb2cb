#!/usr/bin/env python3
"""Jobs with 32-bit and 64-bit tasks: mixed_words.py LAPIRUN FOLDER-OF-64-BIT-PROGRAMS FOLDER-OF-32-BIT-PROGRAMS [CASE...]

Tasks start with the standalone environment, each a program of its own, and under lapirun --standalone.
"""
import os
import sys

import api_jobs
from api_jobs import clean_environment, expect, expect_equal, free_ports
from narrow_programs import narrow_command

NARROW = ""  # the folder of the 32-bit programs
CASES = {"api_mixed": 9, "api_mixed_layouts": 7}  # of each program


def command_of(jobs, bits, name):
    if bits == 32:
        return narrow_command(os.path.join(NARROW, name))
    return [os.path.join(jobs.programs, name)]


def run_job(jobs, bits, mode, udp, name):
    jobs.partition += 1
    mixed = "mixed" if len(set(bits)) > 1 else "same"
    variables = {"LAPI_USE_SHM": "no" if udp else "only"}
    if udp:
        variables["API_UDP_LIST"] = ",".join(f"127.0.0.1:{port}" for port in free_ports(len(bits)))
    processes = [jobs.start([*command_of(jobs, width, name), mode, mixed],
                            jobs.task_environment(len(bits), task, **variables)) for task, width in enumerate(bits)]
    try:
        results = [jobs.finish(process, 120) for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
    text = "\n".join(f"task {task} ({width} bits): {result}" for task, (width, result) in enumerate(zip(bits, results)))
    expect(all(result.status == 0 for result in results), text)
    expect(f"1..{CASES[name]}" in results[0].out, text)


def add_job(bits, mode, udp, name):
    def test(jobs):
        run_job(jobs, bits, mode, udp, name)
    kind = "layouts" if name == "api_mixed_layouts" else "tasks"
    globals()["_".join(["test", kind, *map(str, bits), "udp" if udp else "shm", mode])] = test


# In a job of two tasks each one is the other's target, so one order of them has both directions.
for order in ((64, 32), (32, 32), (64, 32, 32, 64)):
    for over_udp in (False, True):
        for way in ("interrupt", "polling"):
            add_job(order, way, over_udp, "api_mixed")
            if len(set(order)) > 1:
                add_job(order, way, over_udp, "api_mixed_layouts")


def launched(jobs, script, *options, **variables):
    command = [jobs.lapirun, "--standalone", *options, "sh", "-c", script, *command_of(jobs, 64, "api_mixed"),
               *command_of(jobs, 32, "api_mixed")]
    return jobs.finish(jobs.start(command, clean_environment(**variables)), 120)


def test_lapirun_starts_both(jobs):
    result = launched(jobs, 'if [ $MP_CHILD = 0 ]; then exec "$0" polling mixed; else exec "$@" polling mixed; fi',
                      "-n", "2")
    expect_equal(result.status, 0, result)
    expect(f"1..{CASES['api_mixed']}" in result.out, result)


def test_without_standalone_a_32_bit_task_says_how_to_start_it(jobs):
    command = [jobs.lapirun, "-n", "1", *command_of(jobs, 32, "api_mixed"), "polling", "same"]
    result = jobs.finish(jobs.start(command, clean_environment()))
    expect(result.status != 0, result)
    expect("lapirun --standalone" in result.err, result)


if __name__ == "__main__":
    NARROW = sys.argv.pop(3)
    sys.exit(api_jobs.main(sys.modules[__name__]))
