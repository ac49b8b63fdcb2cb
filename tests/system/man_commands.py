#!/usr/bin/env python3
"""The commands that the man pages, README.md and the pages that it names print: each ends with status 0, typed as it
stands where openlapi is installed.

    man_commands.py BUILD_FOLDER [test...]      (API_LIBRARY and API_SOURCE as for man_programs.py)

A case is a page. Its commands run one after the other in a folder that has what they name. Those that begin with the
name of one of our programs, or with cc, run; but for those below.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

from api_jobs import Skip, clean_environment, expect, expect_equal, run_cases
from man_programs import (EXAMPLE, INDENTED, MAIN, PAGES, README, TUTORIAL, documents, plain, programs_of,
                          title_of)

COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(?:lapirun|lapicc|lapicxx|lapifort|lapi_info|lapi_perf|cc)\b(?!:| -- ).*")  # no messages of theirs, no drawings
# Beginnings of commands; a program without which a command is left out.
NOT_HERE = {
    "lapirun -n 8 -N 2 n0-3 ": "a universe",
    "lapirun C ": "a universe",
    "lapicc -m32 ": "the 32-bit library",
    "lapirun --standalone ": "the 32-bit library",
    "lapirun -n 2 lapi_perf\n": "a minute",
}
# Words of commands, and the program that has to be here for them.
NEEDED = {"lapifort": "gfortran"} | {name: name for name in ("valgrind", "gdb", "clang", "clang++", "gfortran-12")}
STATUS = {"lapirun -n 2 --tag-output gdb -batch": 1}  # lapi-debugging(7) says why
# What is printed, among other things.
PRINTED = {
    "lapirun -n 2 -x MP_LAPI_TRACE_LEVEL=2 ": "LAPI_Put(",
    "lapirun -n 4 --tag-output ": "[3] task 3 ",
    "lapicc --show ": " -llapi ",
    "lapirun -n 8 --report-bindings ": "lapirun: task 7: ",
    "lapirun -n 4 lapi_info --job": "shm: 1-3",
}


def commands_of(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        examples = [re.sub("^    ", "", example, flags=re.M) for example in INDENTED.findall(text)]
    else:
        examples = [plain(re.sub(r"\\f[A-Z]", "", example)) for example in EXAMPLE.findall(text)
                    if not MAIN.search(example) and "program neighbours" not in example]
    commands = []
    for example in examples:
        if example.startswith("export "):  # which is for all that follows
            commands.append(example)
        else:
            commands += [line for line in example.splitlines() if COMMAND.fullmatch(line)]
    return commands


def fortran_program():
    page = (PAGES / "man7/lapif.7").read_text(encoding="utf-8")
    return next(plain(example) for example in EXAMPLE.findall(page) if "end program" in example)


class Installed:
    """A copy of what is installed, and a folder with the programs that pages name."""

    def __init__(self, build):
        self.folder = tempfile.TemporaryDirectory(prefix="openlapi-commands-")
        root = pathlib.Path(self.folder.name)
        subprocess.run(["meson", "install", "--no-rebuild", "--quiet", "-C", build, "--destdir", root], check=True,
                       stdout=subprocess.DEVNULL)
        self.prefix = next(path.parent.parent for path in root.rglob("lapi.h"))
        description = next(root.rglob("lapi.pc"))
        library = description.parent.parent
        # As if `meson setup --prefix` had named this folder, and the loader and the compiler knew it.
        description.write_text(re.sub("^prefix=.*", f"prefix={self.prefix}", description.read_text(), flags=re.M))
        self.environment = clean_environment(
            PATH=f"{self.prefix}/bin:{os.environ['PATH']}", PREFIX=str(self.prefix), HOME=str(root),
            PKG_CONFIG_PATH=str(description.parent), CPATH=f"{self.prefix}/include", LIBRARY_PATH=str(library),
            LD_RUN_PATH=str(library))
        self.work = root / "work"
        self.work.mkdir()
        hello, program, *_ = programs_of(TUTORIAL)
        for name, text in (("hello.c", hello), ("program.c", program), ("program.f90", fortran_program()),
                           ("program.cc", programs_of(README)[0])):
            (self.work / name).write_text(text)
        self.run("lapicc program.c -o program && for name in ping solver threaded_solver; do cp program $name; done")

    def run(self, command):
        status = next((status for start, status in STATUS.items() if command.startswith(start)), 0)
        typed = command.replace("MP_PARTITION=77", f"MP_PARTITION={os.getpid()}")  # no other job's
        done = subprocess.run(["bash", "-c", typed], cwd=self.work, env=self.environment, input="run\n", text=True,
                              capture_output=True, check=False, timeout=100)
        printed = done.stdout + done.stderr
        expect_equal(done.returncode, status, f"{command}\n{printed}")
        for text in (text for start, text in PRINTED.items() if command.startswith(start)):
            expect(text in printed, f"{command}: no {text!r} in\n{printed}")


def never_here(command):
    return [reason for start, reason in NOT_HERE.items() if f"{command}\n".startswith(start)]


def lacking(command):
    """Programs that the command needs and this machine does not have."""
    return [program for word, program in NEEDED.items()
            if word in re.split(r"[ =]", command) and shutil.which(program) is None]


def missing(command):
    return never_here(command) + lacking(command)


def test_of(page, commands):
    def test(installed):
        here = [command for command in commands if not missing(command)]
        if not here:
            raise Skip("; ".join(reason for command in commands for reason in missing(command)))
        for command in here:
            installed.run(command)
    test.title = title_of(page)
    return test


def test_left_out(page, program):
    def test(_):
        raise Skip(f"there is no {program}")
    test.title = f"{title_of(page)}: commands that need {program}"
    return test


def tests_of(commands):
    """A case for each page, and one for each program for want of which commands of a page are left out."""
    tests = {}
    for page, found in commands.items():
        if found:
            tests[f"test_{title_of(page)}"] = test_of(page, found)
        for program in sorted({program for command in found if not never_here(command) for program in lacking(command)}):
            tests[f"test_{title_of(page)}_{program}"] = test_left_out(page, program)
    return tests


def main():
    pages = [*documents(), *sorted(PAGES.glob("man1/*.1")), *sorted(PAGES.glob("man7/*.7"))]
    tests = tests_of({page: commands_of(page) for page in pages})
    installed = Installed(sys.argv[1])
    return run_cases(types.SimpleNamespace(**tests), installed, sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
