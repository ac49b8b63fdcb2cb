#!/usr/bin/env python3
"""Makes every small mistake in the engine that can be chosen at run time, and looks whether a test objects.

    all_mutants.py build [PLACE...]   a copy of the source tree with all mistakes, and its tests (default: dataplane)
    all_mutants.py reach              which unit tests and seeds come by which mistake, and how long each takes
    all_mutants.py run [PLACE...]     tries each against what comes by it, the quickest first; goes on where it ended
    all_mutants.py report [PLACE...]  a table, and what nothing has found and has no reason in survivors/

  --folder DIR     where all this is kept (default build-mutants)
  --record FILE    a line per mistake and round, as JSON (default FOLDER/record.jsonl)
  --rounds A..B    1: quick unit tests, and the 3 quickest of seeds 1..24; 2: what is left, with all unit tests and 12
                   seeds (default 1..2)
  --minutes N      ends after that time
  --only WORD      run, report: mistakes whose source or name has WORD; they are tried again, whatever the record says
                   reach: programs whose name has WORD, what is known of the others stays

`MUTANT=17 FOLDER/build/tests/unit/...` is one test with mistake 17 (numbers: report)."""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import mutant_tree
import survivor_reasons

SEEDS = 24
QUICK = 400  # ms: the cases of one program that come by a mistake
SLOWEST = 3000  # ms: a case that takes longer is not used
LEAST, TIMES = 500, 10  # ms of computing, and how often the usual
REAL_TIME = ("poller_", "udp_", "shm_", "base_")  # tests that wait: what they find must be found twice
SIMULATION = "tests/simulation/simulate"


class Server:
    """One program, run as often as it is asked to (fork_server.h)."""

    def __init__(self, path):
        self.path, self.process = path, None

    def ask(self, mistake, milliseconds, what):
        """(ended, microseconds, name, reached)"""
        for _ in range(5):
            if self.process is None:
                environment = {"MUTANT": "serve", "FAULTING_MODULES": str(self.path.parent / "base")}
                self.process = subprocess.Popen(
                    [self.path], env={**os.environ, **environment}, cwd=tempfile.gettempdir(), text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.process.stdin.write(f"{mistake} {int(milliseconds)} {what}\n")
            self.process.stdin.flush()
            words = self.process.stdout.readline().split()
            if not words:  # a mistake has killed the server
                self.process.wait()
                self.process = None
                return 1, 0, "the server", []
            if words[2] == "0":
                break
        return int(words[0]), int(words[1]), words[3], list(map(int, words[4:]))


class Kept:
    def __init__(self, options):
        self.folder = pathlib.Path(options.folder).resolve()
        self.record = pathlib.Path(options.record or self.folder / "record.jsonl")
        self.servers = {}

    def load(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def server(self, program):
        return self.servers.setdefault(program, Server(self.folder / "build" / program))

    def entries(self):
        if not self.record.exists():
            return {}
        lines = map(json.loads, self.record.read_text(encoding="utf-8").splitlines())
        return {(entry["source"], entry["mutant"]): entry for entry in lines}


def build(kept, options):
    root = pathlib.Path(__file__).resolve().parents[2]
    mutant_tree.Tree(root, kept.folder, options.places or ["dataplane"]).make()


# ---- what comes by a mistake ----

def cases_of(program):
    listed = subprocess.run([program, "--gtest_list_tests"], stdout=subprocess.PIPE, text=True, check=True).stdout
    suite = ""
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if not name.startswith(" "):
            suite = name
        elif "DISABLED" not in suite + name:
            yield suite + name.strip()


def reach(kept, options):
    found = [entry for entry in kept.load("reach.json") if options.only not in entry[0]] if options.only else []
    for program in kept.load("programs.json"):
        if options.only and options.only not in program:
            continue
        cases = [str(seed) for seed in range(1, SEEDS + 1)] if program == SIMULATION else cases_of(
            kept.folder / "build" / program)
        for case in cases:
            ended, microseconds, _, reached = kept.server(program).ask(0, 20000, case)
            if ended != 0 or microseconds > 1000 * SLOWEST:
                why = "fails" if ended != 0 else f"{microseconds / 1e6:.1f} s"
                print(f"# not used: {program} {case}: {why}", flush=True)
                continue
            found.append([program, case, microseconds / 1000, reached])
    (kept.folder / "reach.json").write_text(json.dumps(found), encoding="utf-8")
    numbers = {number for case in found for number in case[3]}
    print(f"# {len(found)} cases and seeds, {sum(case[2] for case in found) / 1000:.0f} s; "
          f"they come by {len(numbers)} of {len(kept.load('numbers.json'))} mistakes")


# ---- the run ----

class Run:
    def __init__(self, kept):
        self.kept = kept
        self.cases = collections.defaultdict(lambda: collections.defaultdict(list))  # mistake, program: (ms, case)
        for program, case, milliseconds, reached in kept.load("reach.json"):
            for number in reached:
                self.cases[number][program].append((milliseconds, case))
        self.worth = collections.defaultdict(lambda: [1, 1])  # source and program: has found, has not

    def steps(self, number, source, stage):
        """(program, ms, what) that the mistake is tried with in a round, the most promising first."""
        units, seeds = [], []
        for program, cases in self.cases[number].items():
            if program == SIMULATION:
                seeds = [(program, milliseconds, case) for milliseconds, case in sorted(cases)]
                continue
            total = sum(milliseconds for milliseconds, _ in cases)
            if (total < QUICK) == (stage == 1):
                units.append((program, total, ":".join(case for _, case in cases)))
        found = lambda program: self.worth[(source, program)]
        units.sort(key=lambda step: (2 + step[1]) * found(step[0])[1] / found(step[0])[0])
        return units + (seeds[:3] if stage == 1 else seeds[3:12])

    def objection(self, number, step):
        program, milliseconds, what = step
        twice = any(f"/{room}" in program for room in REAL_TIME)
        for _ in range(2 if twice else 1):
            ended, _, name, _ = self.kept.server(program).ask(number, max(LEAST, TIMES * milliseconds), what)
            if ended == 0:
                return None
        how = " (limit)" if ended == 2 else ""
        return f"seed {what}{how}" if program == SIMULATION else f"{name}{how}"

    def attempt(self, number, source, stage):
        if number not in self.cases:
            return "not reached", ""
        for step in self.steps(number, source, stage):
            why = self.objection(number, step)
            self.worth[(source, step[0])][0 if why else 1] += 1
            if why:
                return "found", why
        return "survives", ""


def run(kept, options):
    work, entries, numbers = Run(kept), kept.entries(), kept.load("numbers.json")
    end = time.monotonic() + 60 * options.minutes
    first, last = map(int, options.rounds.split(".."))
    for stage in range(first, last + 1):
        plan = []
        for number, (source, _, _, name) in numbers.items():
            before = entries.get((source, name), {"verdict": "", "round": 0})
            if not asked_for(options, source, name):
                continue
            if options.only or before["verdict"] == "" or (before["verdict"] == "survives" and before["round"] < stage):
                plan.append((int(number), source, name))
        random.Random(1).shuffle(plan)
        print(f"# round {stage}: {len(plan)} mistakes", flush=True)
        for number, source, name in plan:
            if time.monotonic() > end:
                return
            if options.only and entries.get((source, name), {}).get("verdict") == "found" and stage > first:
                continue
            begun = time.monotonic()
            verdict, by = work.attempt(number, source, stage)
            entry = {"source": source, "mutant": name, "verdict": verdict, "by": by, "round": stage,
                     "seconds": round(time.monotonic() - begun, 2)}
            entries[(source, name)] = entry
            with kept.record.open("a", encoding="utf-8") as out:
                out.write(json.dumps(entry) + "\n")
            if options.only:
                print(f"{verdict:11} {number} {source}:{name} [{by}]", flush=True)


def asked_for(options, source, name):
    in_place = not options.places or any(source.startswith(place.rstrip("/")) for place in options.places)
    return in_place and (not options.only or options.only in f"{source}:{name}")


def column_of(entry, judge, source, name):
    if entry is None:
        return "not tried"
    if entry["verdict"] == "found":
        return "simulation" if entry["by"].startswith("seed ") else "unit tests"
    return "with a reason" if judge.reason(source, name) else "undecided"


def report(kept, options):
    entries = kept.entries()
    judge = survivor_reasons.Judge(survivor_reasons.load(pathlib.Path(__file__).resolve().parent / "survivors"))
    count = collections.defaultdict(collections.Counter)
    for number, (source, _, _, name) in kept.load("numbers.json").items():
        if not asked_for(options, source, name):
            continue
        entry = entries.get((source, name))
        column = column_of(entry, judge, source, name)
        if column == "undecided":
            print(f"{entry['verdict']:11} {number:>5} {source}:{name}")
        for row in ("/".join(source.split("/")[:-1]), "all"):
            count[row][column] += 1
    for reason in judge.unused():
        if not options.only and not options.places:
            print(f"# {reason.where}: nothing that survives needs this reason")
    columns = ["unit tests", "simulation", "with a reason", "undecided", "not tried"]
    print("| | made | " + " | ".join(columns) + " |")
    for row in sorted(count, key=lambda row: (row == "all", row)):
        print(f"| {row} | {sum(count[row].values())} | "
              + " | ".join(str(count[row][column]) for column in columns) + " |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("what", choices=["build", "reach", "run", "report"])
    parser.add_argument("places", nargs="*")
    parser.add_argument("--folder", default="build-mutants")
    parser.add_argument("--record")
    parser.add_argument("--rounds", default="1..2")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--only")
    options = parser.parse_intermixed_args()
    {"build": build, "reach": reach, "run": run, "report": report}[options.what](Kept(options), options)


if __name__ == "__main__":
    sys.exit(main())
