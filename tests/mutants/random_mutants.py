#!/usr/bin/env python3
"""Makes small mistakes in the engine, one at a time, and looks whether a test objects.

    random_mutants.py SOURCE... [options]

Each SOURCE (dataplane/.../x.cc) is changed in every way that source_changes.py knows, or in --count ways chosen by
--random. The changed copy is compiled; where the object is what it was, no test can find a mistake. Otherwise it is
linked in front of the libraries, so that it takes the place of the right one: first into the unit tests of the source,
then into the quick ones of its folder and of others that have its library, then into the simulation, at last into the
slow ones. The first that fails, crashes or hangs has found the mistake. Nothing of the source tree is changed.

Needs a build whose unit tests and simulation are up to date and without unity:
    ninja -C build-test; tests/mutants/random_mutants.py dataplane/reliability/*.cc

  --build DIR      that build (default build-test)
  --record FILE    a line per mutant tried, as JSON; those in it are not tried again (default BUILD/mutants.jsonl)
  --random SEED    which ways, with --count
  --count N        how many of each SOURCE
  --line N         those of one line, tried again
  --minutes N      ends after that time; the mutants of all SOURCEs in one random order
  --again          those that the record calls survivors, with the tests and seeds that there are now
  --seeds A..B     of the simulation (default 1..40); none: not at all
  --tests WORDS    only unit tests with one of these words in their names
  --old TEXT --new TEXT   one mistake by hand: TEXT is once in SOURCE
  --survivors      only prints what the record has of mutants that nothing has found

Status 0: all were found; 1: some survived, and are printed with their lines.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import sys
import tempfile
import time

import mutant_build
import source_changes

SECONDS_PER_TEST = 30  # and ten times what it takes without a mistake
SECONDS_PER_SEED = 5
WHY = re.compile(r"^\[  FAILED  \] ([^\s,]+)|^(seed \d+ failed[^\n]*)|^\[ RUN      \] (\S+)\n(?!\[)", re.MULTILINE)


def objection(programs, tests, seconds, mutant, work):
    """What the tests say against the mutant; None: nothing."""
    program = programs.link(tests, mutant, work / "program")
    if program is None:
        each = (objection(programs, [test], seconds, mutant, work) for test in tests)
        return next(filter(None, each), None)
    status, output = mutant_build.run([program], work, seconds)
    return describe(tests[0] if len(tests) == 1 else "unit tests", status, output, seconds)


def describe(name, status, output, seconds):
    if status == 0:
        return None
    why = WHY.search(output)
    ended = f"hangs for {seconds:.0f} s" if status is None else f"status {status}"
    return f"{name}: {next(filter(None, why.groups()))}" if why else f"{name}: {ended}"


def simulate(source, mutant, seeds, work):
    first, last = map(int, seeds.split(".."))
    seconds = 20 + SECONDS_PER_SEED * (last - first + 1)
    program = source.programs.link(["tests/simulation/simulate"], mutant, work / "program")
    return describe("simulate", *mutant_build.run([program, "--seeds", seeds], work, seconds), seconds)


def try_mutant(source, text, seeds):
    """(verdict, by whom): does not compile, same program, found, survives."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        mutant = source.compile(text, work)
        if not mutant:
            return ("does not compile" if mutant is None else "same program"), ""
        first, last = source.groups()
        steps = [(lambda tests=tests: objection(source.programs, tests, SECONDS_PER_TEST + 10 * sum(
            map(source.programs.seconds_of, tests)), mutant, work)) for tests in first + last]
        if seeds != "none" and source.simulated:
            steps.insert(len(first), lambda: simulate(source, mutant, seeds, work))
        for step in steps:
            why = step()
            if why:
                return "found", why
        return "survives", ""


def mutants_of(source, text, options):
    """(name, changed text) of each."""
    if options.old is not None:
        if text.count(options.old) != 1:
            sys.exit(f"{source}: --old is {text.count(options.old)} times in it, not once")
        return [(f"by hand: {options.old.strip()} -> {options.new.strip()}", text.replace(options.old, options.new))]
    changes = source_changes.changes_of(text)
    if options.line is not None:
        changes = [change for change in changes if change.line == options.line]
    if options.count is not None:
        chosen = random.Random(f"{options.random} {source}").sample(range(len(changes)),
                                                                    min(options.count, len(changes)))
        changes = [changes[at] for at in sorted(chosen)]
    return [(change.name, source_changes.apply(text, change)) for change in changes]


def read_record(path):
    if not path.exists():
        return {}
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(entry["source"], entry["mutant"]): entry for entry in entries}


def print_survivors(record):
    survivors = [entry for entry in record.values() if entry["verdict"] == "survives"]
    for entry in survivors:
        print(f"SURVIVES {entry['source']}:{entry['mutant']}")
    count = collections.Counter(entry["verdict"] for entry in record.values())
    print(f"{sum(count.values())} mutants, {count['does not compile']} do not compile, {count['same program']} make the "
          f"same program, {count['found']} found, {count['survives']} survive")
    return 1 if survivors else 0


def parse():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--build", default="build-test")
    parser.add_argument("--record")
    parser.add_argument("--random", default="1")
    parser.add_argument("--count", type=int)
    parser.add_argument("--line", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seeds", default="1..40")
    parser.add_argument("--tests", nargs="+", metavar="WORD")
    parser.add_argument("--old")
    parser.add_argument("--new")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--survivors", action="store_true")
    options = parser.parse_args()
    if not options.sources and not options.survivors and not options.again:
        parser.error("no SOURCE")
    if (options.old is None) != (options.new is None):
        parser.error("--old and --new go together")
    return options


def planned(options, root, record):
    """(source, name, changed text) of each mutant that is to be tried."""
    chosen = options.sources
    if options.again:
        chosen = sorted({root / source for (source, _), entry in record.items() if entry["verdict"] == "survives"})
    plan = []
    for source in chosen:
        source = str(pathlib.Path(source).resolve().relative_to(root))
        text = (root / source).read_text(encoding="utf-8")
        plan += [(source, name, changed) for name, changed in mutants_of(source, text, options)]
    if options.minutes is not None:
        random.Random(options.random).shuffle(plan)
    if options.old is not None or options.line is not None:
        return plan
    verdict = lambda source, name: record.get((source, name), {}).get("verdict")
    return [(source, name, changed) for source, name, changed in plan
            if verdict(source, name) == ("survives" if options.again else None)]


def main():
    options = parse()
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = pathlib.Path(options.build).resolve()
    path = pathlib.Path(options.record or folder / "mutants.jsonl")
    record = read_record(path)
    programs, sources, tried = mutant_build.Programs(folder), {}, {}
    end = time.monotonic() + 60 * options.minutes if options.minutes is not None else None
    for source, name, changed in planned(options, root, record) if options.sources or options.again else []:
        if end is not None and time.monotonic() > end:
            break
        if source not in sources:
            sources[source] = mutant_build.Source(programs, root, source)
            if options.tests:
                sources[source].only(options.tests)
        start = time.monotonic()
        verdict, by = try_mutant(sources[source], changed, options.seeds)
        entry = {"source": source, "mutant": name, "verdict": verdict, "by": by}
        print(f"{verdict:8} {source}:{name} [{by}] {time.monotonic() - start:.1f} s", flush=True)
        tried[(source, name)] = record[(source, name)] = entry
        if options.old is None:
            with path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(entry) + "\n")
    return print_survivors(tried if options.old is not None or options.line is not None else record)


if __name__ == "__main__":
    sys.exit(main())
