#!/usr/bin/env python3
"""Heaps that neighbours reach from the first operation on (lapirun --direct-heap): whoever runs the tasks, and where that
is not possible the same results and the reason.

    api_direct_heap.py LAPIRUN PROGRAM_DIRECTORY [test...]
"""
import os
import subprocess
import sys

from api_direct_rights import FORBID, forbid_userfaultfd_and_run
from api_faults import ORDINARY, no_ordinary_user
from api_jobs import Skip, clean_environment, expect, expect_equal, main

ALLOCATOR = "libmimalloc.so.2"
HOLDS = "neighbours reach memory directly: the heap, static data"
MODES = ("interrupt", "polling")


def need_allocator():
    if subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL('{ALLOCATOR}')"], capture_output=True,
                      check=False).returncode != 0:
        raise Skip(f"{ALLOCATOR} is not installed")


def heap_library(jobs):
    library = os.path.join(os.path.dirname(os.path.dirname(jobs.lapirun)), "openlapi", "libopenlapi-heap.so")
    if not os.path.exists(library):
        raise Skip("no library to preload is built: sanitizers have an allocator of their own")
    return library


def run(jobs, program, mode, wrap=(), options=("--direct-heap",), **variables):
    command = [*wrap, jobs.lapirun, "-n", "3", *options, jobs.program(program), mode]
    environment = clean_environment(LAPI_USE_SHM="only", MP_INFOLEVEL="2", **variables)
    result = jobs.finish(jobs.start(command, environment), 200)
    expect_equal(result.status, 0, result)
    return result


def run_all(jobs, wrap=()):
    need_allocator()
    heap_library(jobs)
    for mode in MODES:
        expect_equal(run(jobs, "api_direct_heap", mode, wrap, API_DIRECT="yes").err.count(HOLDS), 3, mode)
        expect_equal(run(jobs, "api_direct", mode, wrap, API_DIRECT="yes").err.count(HOLDS), 3, mode)


def test_first_operations_are_direct(jobs):
    run_all(jobs)


def user(jobs):
    return [] if no_ordinary_user(jobs) else ORDINARY


def test_an_ordinary_user(jobs):
    run_all(jobs, user(jobs))


def test_userfaultfd_is_forbidden(jobs):
    run_all(jobs, [*user(jobs), sys.executable, __file__, FORBID])


def test_the_window_has_a_size(jobs):
    """Memory that has no room in it is ordinary memory."""
    need_allocator()
    heap_library(jobs)
    for size in ("64M", "32G"):
        result = run(jobs, "api_direct_heap", "interrupt", options=("-x", f"OPENLAPI_DIRECT_HEAP={size}"))
        expect_equal(result.err.count(HOLDS), 3, result)
    for wrong in ("63M", "5T", "some"):
        options = ["-n", "2", "-x", f"OPENLAPI_DIRECT_HEAP={wrong}", jobs.program("api_init_probe"), "silent"]
        result = jobs.finish(jobs.start([jobs.lapirun, *options], clean_environment()))
        expect(f"OPENLAPI_DIRECT_HEAP={wrong}: allowed is" in result.err, result)


def refused(jobs, reason, wrap=(), **variables):
    for mode in MODES:
        result = run(jobs, "api_direct_heap", mode, wrap, **variables)
        expect(reason in result.err and HOLDS not in result.err, f"{reason}\n{result}")


def test_files_are_limited(jobs):
    need_allocator()
    heap_library(jobs)
    refused(jobs, "no direct access: files may have", ["prlimit", f"--fsize={1 << 30}", "--"])


def test_addresses_are_limited(jobs):
    need_allocator()
    heap_library(jobs)
    refused(jobs, "the heap (addresses are limited (ulimit -v)", ["prlimit", f"--as={1 << 36}", "--"])


def test_another_allocator_is_preloaded(jobs):
    """Whoever is first counts; the C library's own stands for all others."""
    heap_library(jobs)
    refused(jobs, "the heap (malloc() is not that of a libmimalloc.so", LD_PRELOAD="libc.so.6")


def test_who_lacks_the_heap_is_told_once(jobs):
    library = heap_library(jobs)
    words = ["-n", "3", jobs.program("api_init_probe"), "silent"]
    environment = clean_environment(LAPI_USE_SHM="only", OPENLAPI_DIRECT="auto", OPENLAPI_DIRECT_HEAP="yes",
                                    LD_PRELOAD="libc.so.6")
    result = jobs.finish(jobs.start([jobs.lapirun, *words], environment))
    expect_equal((result.status, result.err.count("the heap is not reached directly: malloc() is not")), (0, 1), library)
    environment["OPENLAPI_DIRECT_HEAP"] = "no"
    result = jobs.finish(jobs.start([jobs.lapirun, *words], environment))
    expect("heap" not in result.err, result)


if __name__ == "__main__":
    if sys.argv[1] == FORBID:
        forbid_userfaultfd_and_run(sys.argv[2:])
    sys.exit(main(sys.modules[__name__]))
