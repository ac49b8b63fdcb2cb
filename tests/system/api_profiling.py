#!/usr/bin/env python3
"""The profiling interface (chapter 9): what liblapi.so shows, and a profiling library that is preloaded.

    api_profiling.py LAPIRUN PROGRAM_DIRECTORY [test...]      (API_LIBRARY: liblapi.so, API_HEADER: lapi.h)
"""
import os
import re
import subprocess
import sys

from api_jobs import expect, expect_equal, main


def declared():
    with open(LIBRARY_HEADER, encoding="utf-8") as header:
        return set(re.findall(r"LAPI_PUBLIC\s+\w+\s+(P?LAPI_\w+)\(", header.read()))


def symbols(*options):
    listing = subprocess.run(["nm", "-D", *options, LIBRARY], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines() if line.split()[-2] in "TWViuUBDR"}


def test_exactly_the_calls_of_the_header_are_exported(jobs):
    exported = symbols("--defined-only")
    expect_equal(sorted(exported - {"LIBLAPI_0"}), sorted(declared()), "exported symbols against lapi.h")
    names = {name for name in declared() if name.startswith("LAPI_")}
    expect_equal({"P" + name for name in names}, declared() - names, "each call has its twin")


def test_the_library_never_calls_itself_by_these_names(jobs):
    undefined = {name for name in symbols("--undefined-only") if "LAPI" in name}
    expect_equal(undefined, set(), "undefined symbols of the library")
    relocations = subprocess.run(["readelf", "-rW", LIBRARY], capture_output=True, text=True, check=True).stdout
    found = sorted(set(re.findall(r"\bP?LAPI_\w+", relocations)))
    expect_equal(found, [], "relocations against its own calls")


def test_a_preloaded_library_counts_the_users_calls(jobs):
    for shared in ("only", "no"):
        preload = ["-x", f"LD_PRELOAD={jobs.program('libapi_profiling.so')}"]
        result = jobs.launch(3, ["api_profiling_plain"], options=preload, LAPI_USE_SHM=shared)
        expect_equal(result.status, 0, result)
        expect_equal(result.err.count("profiled 1 100 100 1\n"), 3, result)


def test_the_programs_own_calls_are_counted(jobs):
    for shared in ("only", "no"):
        result = jobs.launch(3, ["api_profiling_own"], LAPI_USE_SHM=shared)
        expect_equal((result.status, "ok 1 " in result.out), (0, True), result)


LIBRARY = os.environ["API_LIBRARY"]
LIBRARY_HEADER = os.environ["API_HEADER"]

if __name__ == "__main__":
    expect(os.path.exists(LIBRARY) and os.path.exists(LIBRARY_HEADER), "API_LIBRARY and API_HEADER must exist")
    sys.exit(main(sys.modules[__name__]))
