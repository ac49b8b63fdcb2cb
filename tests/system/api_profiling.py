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


def listing(*options):
    """(value or None, name) of each symbol."""
    lines = subprocess.run(["nm", "-D", *options, LIBRARY], capture_output=True, text=True, check=True).stdout
    split = [line.split() for line in lines.splitlines()]
    return [(words[0] if len(words) == 3 else None, words[-1].split("@")[0]) for words in split
            if words[-2] in "TWViuUBDR"]


def symbols(*options):
    return {name for _, name in listing(*options)}


def in_fortran(call):
    """The eight names that LAPI_Call has in Fortran (table 10)."""
    names = [prefix + form for form in (call.lower(), call.upper()) for prefix in ("", "p" if form.islower() else "P")]
    return set(names) | {name + "_" for name in names}


def test_exactly_the_calls_of_the_header_are_exported(jobs):
    names = {name for name in declared() if name.startswith("LAPI_")}
    expect_equal({"P" + name for name in names}, declared() - names, "each call has its twin")
    fortran = {"lapi_fortran_null"}.union(*map(in_fortran, names))
    exported = symbols("--defined-only") - {"LIBLAPI_0"}
    expect_equal(sorted(exported), sorted(declared() | fortran), "exported symbols against lapi.h and table 10")


def test_the_names_of_a_call_in_fortran_are_one_function(jobs):
    value = {name: at for at, name in listing("--defined-only")}
    calls = [name for name in declared() if name.startswith("LAPI_")]
    expect(len(calls) >= 22, calls)
    for call in calls:
        expect_equal(len({value[name] for name in in_fortran(call)}), 1, in_fortran(call))


def test_the_library_needs_nothing_of_fortran(jobs):
    needed = subprocess.run(["readelf", "-dW", LIBRARY], capture_output=True, text=True, check=True).stdout
    expect("NEEDED" in needed and "fortran" not in needed, needed)


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
