#!/usr/bin/env python3
"""Tries a model in every order of its steps, and each mistake that it can make on purpose.

    check_models.py MODEL [NAME...]

The model must hold; with -DBREAK_x, for each BREAK_x that its text has (or only those NAMEd), it must not. Spin makes a
program of the model, gcc compiles it. A search that was cut short (memory, depth) counts as a failure.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SECONDS = 1500
MEGABYTES = 4500


def search(model, definition):
    """(number of errors, what was seen, seconds of the search), or the reason why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        define = [f"-D{definition}"] if definition else []
        for command in (["spin", "-a", *define, str(model)],
                        ["gcc", "-O1", "-w", "-DSAFETY", f"-DMEMLIM={MEGABYTES}", "-o", "pan", "pan.c"]):
            done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            if done.returncode != 0 or not pathlib.Path(folder, "pan.c").exists():
                sys.exit(f"{' '.join(command)}:\n{done.stdout}")
        try:
            output = subprocess.run(["./pan", "-m20000"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True, timeout=SECONDS, check=False).stdout
        except subprocess.TimeoutExpired:
            sys.exit(f"{definition or 'the model'}: still searching after {SECONDS} s")
    errors = re.search(r"errors: (\d+)", output)
    states = re.search(r"(\d+) states, stored", output)
    whole = "max search depth too small" not in output and "Search not completed" not in output
    if errors is None or states is None or (errors.group(1) == "0" and not whole):
        sys.exit(f"{definition or 'the model'}: the search did not come to its end:\n{output}")
    why = re.search(r"^pan:1: (.*?) \(at depth", output, re.MULTILINE)
    return int(errors.group(1)), f"{states.group(1)} states" + (f", {why.group(1)}" if why else "")


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    model = pathlib.Path(sys.argv[1]).resolve()
    mistakes = sys.argv[2:] or sorted(set(re.findall(r"\bBREAK_[A-Z_]+[A-Z]\b", model.read_text(encoding="utf-8"))))
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for name, (errors, what) in zip(["", *mistakes], pool.map(lambda name: search(model, name), ["", *mistakes])):
            right = errors != 0 if name else errors == 0
            bad += not right
            verdict = ("found" if errors else "NOT FOUND") if name else ("holds" if right else "DOES NOT HOLD")
            print(f"{model.stem}{': ' + name if name else ''}: {verdict} ({what})", flush=True)
    print(f"{len(mistakes)} mistakes tried")
    return 1 if bad or not mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
