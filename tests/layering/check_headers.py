#!/usr/bin/env python3
"""Compiles every header but those of tests alone: each must bring all that it needs, and must bear being included twice.
Not those that the build compiles so: a source includes them before all else, and they begin with #pragma once.

    check_headers.py ROOT C_COMPILER CXX_COMPILER

The installed C headers are also compiled as users do, as strict C11 and C++17. Prints the compiler's words for each header that
fails and ends with status 1 if there is any.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys

FOLDERS = ["api", "bench", "control", "dataplane", "libtrace", "nic", "samples", "shm"]
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
LIBRARIES = ["pmix", "hwloc", "gtest", "benchmark", "spdlog", "nlohmann_json", "libibverbs"]
FOR_USERS = ["api/include/lapi.h", *("control/boot/include/" + name for name in (
    "all_list.h", "all_opt.h", "boot.h", "lam-ssi-boot.h", "lam-ssi.h", "lamdebug.h", "lamnet.h", "sfh.h", "typical.h")),
             *("api/rpi/include/" + name for name in (
                 "app_mgmt.h", "lam-ssi-rpi.h", "lam_mpi.h", "mpisys.h", "rpisys.h"))]
# What is installed in one folder with others, which it names without theirs.
BESIDE = {"api/rpi": "control/boot/include"}
NOT_ALONE = {"api/include/lapif.h"}  # Fortran's


def library_flags():
    """Compiler flags of those libraries that are here; a header that needs another one fails and says so."""
    flags = []
    for library in LIBRARIES:
        done = subprocess.run(["pkg-config", "--cflags", library], capture_output=True, text=True, check=False)
        flags += shlex.split(done.stdout) if done.returncode == 0 else []
    return flags


def compile_alone(compiler, language, flags, root, header):
    """What the compiler says when `header` is included twice and nothing else is; empty: it compiles."""
    # The compiler looks for the unit's includes where it runs first: that must be `root`.
    unit = f'#include "{header}"\n#include "{header}"\n'
    command = [*compiler, "-fsyntax-only", "-x", language, *flags, "-I", str(root), "-"]
    done = subprocess.run(command, input=unit, cwd=root, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{header} does not compile alone ({shlex.join(command)}):\n{done.stderr}"


def beside(root, header):
    """Flags for the headers that lie beside this one where it is installed."""
    return [flag for part, folder in BESIDE.items() if header.startswith(part + "/") for flag in ("-I", str(root / folder))]


def compiled_by_the_build(root):
    """Headers that sources include first."""
    first = set()
    for folder in FOLDERS:
        for source in (root / folder).rglob("*.cc"):
            included = re.search(r'^#include (.*)', source.read_text(encoding="utf-8"), re.MULTILINE)
            if included and folder != "samples":
                first.add(included[1].strip('"<>'))
    return {header for header in first if (root / header).is_file()
            and re.search(r"^#.*", (root / header).read_text(encoding="utf-8"), re.MULTILINE)[0] == "#pragma once"}


def jobs(root, c_compiler, cxx_compiler):
    """One (compiler, language, flags, root, header) for each header; several for lapi.h."""
    not_alone = NOT_ALONE | compiled_by_the_build(root)
    cxx_flags = ["-std=c++20", "-D_GNU_SOURCE", *WARNINGS, *library_flags()]
    for folder in FOLDERS:
        for file in sorted([*(root / folder).rglob("*.h"), *(root / folder).rglob("*.hpp")]):
            header = file.relative_to(root).as_posix()
            # Samples use openlapi from outside, and name lapi.h as users do.
            as_users = ["-I", str(root / "api/include")] if folder == "samples" else []
            if header not in not_alone:
                yield cxx_compiler, "c++", [*cxx_flags, *as_users, *beside(root, header)], root, header
    for header in FOR_USERS:
        if (root / header).exists():
            yield c_compiler, "c", ["-std=c11", *WARNINGS, *beside(root, header)], root, header
            yield cxx_compiler, "c++", ["-std=c++17", *WARNINGS, *beside(root, header)], root, header


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    work = list(jobs(root, shlex.split(sys.argv[2]), shlex.split(sys.argv[3])))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for text in pool.map(lambda job: compile_alone(*job), work) if text]
    for text in failures:
        print(text)
    print(f"{len(work)} headers compiled alone, {len(failures)} failed")
    return 1 if failures or not work else 0


if __name__ == "__main__":
    sys.exit(main())
