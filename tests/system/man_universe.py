#!/usr/bin/env python3
"""The commands that the pages of a universe's tools print: each ends with status 0, typed as it stands where openlapi is
installed. The universe is of this machine alone, whatever its nodes are called.

    man_universe.py BUILD_FOLDER [test...]      (API_LIBRARY and API_SOURCE as for man_programs.py)

A case is a page.
"""
import re
import shutil
import subprocess
import sys
import types

from api_jobs import expect, expect_equal, run_cases
from man_commands import Installed
from man_programs import EXAMPLE, PAGES, plain

NODES = ["inky", "pinky cpu=2", "clyde cpu=4", "blinky"]
# How many of them are booted before; 0: the page boots them itself. hboot, lamd and lamtree are for boot modules:
# tests/beds/hosts_pages.py.
BOOTED = {"lamboot": 0, "lamclean": 2, "lamexec": 4, "lamgrow": 2, "lamhalt": 0, "lamnodes": 3, "lamshrink": 3, "lamwipe": 2,
          "lapi_ntbl": 0, "lapirun": 4, "recon": 0, "tkill": 2}
COMMAND = re.compile(r"(?:lam\w+|recon|tkill|lapi_ntbl|printf)\b.*|lapirun (?:-n 8 (?:-N 2 n0-3 )?\./|C ).*")
# Hosts that have no name here, a folder that may be another program's, a minute.
INSTEAD = {" 4 clyde": " 4 127.0.0.5", " 7 blinky": " 7 127.0.0.6", "/tmp/scratch": "scratch", " -w 60 ": " -w 1 "}
PRINTED = {"lamnodes": "n0\tinky:1:origin,this_node", "lapi_ntbl reserve": "4711\t0\tn0\t@1:0,sn0\t"}


def commands_of(name):
    examples = [plain(re.sub(r"\\f[A-Z]", "", example))
                for example in EXAMPLE.findall((PAGES / f"man1/{name}.1").read_text(encoding="utf-8"))]
    return [line for example in examples for line in example.splitlines() if COMMAND.fullmatch(line)]


class Universe:
    """Commands of one session, in the folder where everything is installed."""

    def __init__(self, build):
        self.installed = Installed(build)
        self.work = self.installed.work
        # hboot looks for the schema here, too; the folder where it is installed was to be another one.
        shutil.copy(next(self.work.parent.rglob("lam-conf.lamd")), self.work)
        self.environment = self.installed.environment | {"LAM_MPI_SSI_boot": "local", "LAM_MPI_SESSION_PREFIX": str(self.work)}

    def type(self, command):
        typed = command
        for word, other in INSTEAD.items():
            typed = typed.replace(word, other)
        return subprocess.run(["bash", "-c", typed], cwd=self.work, env=self.environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=100)

    def run(self, command):
        done = self.type(command)
        printed = done.stdout + done.stderr
        expect_equal(done.returncode, 0, f"{command}\n{printed}")
        for text in (text for start, text in PRINTED.items() if command.startswith(start)):
            expect(text in printed, f"{command}: no {text!r} in\n{printed}")

    def end(self):
        """No page leaves more than a universe behind; tkill ends what is there of the session."""
        self.type("tkill")
        expect(self.type("lamnodes").returncode != 0, "a universe is left")


def test_of(name):
    def test(universe):
        (universe.work / "hosts").write_text("".join(node + "\n" for node in NODES[:BOOTED[name] or 2]))
        try:
            if BOOTED[name]:
                universe.run("lamboot hosts")
            commands = commands_of(name)
            expect(commands, "the page has no command that runs here")
            for command in commands:
                universe.run(command)
        finally:
            universe.end()
    test.title = f"{name}.1"
    return test


def main():
    tests = {f"test_{name}": test_of(name) for name in BOOTED}
    return run_cases(types.SimpleNamespace(**tests), Universe(sys.argv[1]), sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
