#!/usr/bin/env python3
"""Counts test cases in a log that `meson test` wrote.

    count_cases.py LOG.json      prints "PASSED FAILED SKIPPED", then one line for each case that failed or was skipped

A GoogleTest program, or one that prints TAP, counts as its cases; any other test counts as one. A test that fails
without a failed case (it crashed, timed out, was not built) counts as one failed case more.
"""
import json
import re
import sys

# What a program prints for each case: GoogleTest, then TAP. Lines may come with a task's tag before them.
PASSED = re.compile(r"\[       OK \] (\S+) \(|^ok \d+(?! .*# (?:SKIP|skip))(.*)", re.MULTILINE)
FAILED = re.compile(r"\[  FAILED  \] (\S+?),? .*\(\d+ ms\)$|^not ok \d+(.*)", re.MULTILINE)
SKIPPED = re.compile(r"\[  SKIPPED \] (\S+) \(|^ok \d+(.*# (?:SKIP|skip).*)", re.MULTILINE)


def cases(pattern, text):
    return [(match[1] or match[2] or "").strip(" -") for match in pattern.finditer(text)]


def count(test):
    """Passed, failed and skipped cases of one meson test, as lists of names."""
    name, result, text = test["name"], test["result"], test.get("stdout", "")
    passed, failed, skipped = (cases(pattern, text) for pattern in (PASSED, FAILED, SKIPPED))
    succeeded = result in ("OK", "EXPECTEDFAIL")
    if result == "SKIP":
        skipped = skipped or ["whole test"]
    elif succeeded and not passed and not skipped:
        passed = ["whole test"]
    elif not succeeded and not failed:
        failed = [f"{result.lower()} (exit status {test.get('returncode')})"]
    return passed, [f"{name}: {case}" for case in failed], [f"{name}: {case}" for case in skipped]


def main():
    all_passed, all_failed, all_skipped = 0, [], []
    with open(sys.argv[1], encoding="utf-8") as log:
        for line in log:
            passed, failed, skipped = count(json.loads(line))
            all_passed += len(passed)
            all_failed += failed
            all_skipped += skipped
    print(all_passed, len(all_failed), len(all_skipped))
    for case in all_failed:
        print(f"  failed: {case}")
    for case in all_skipped:
        print(f"  skipped: {case}")


if __name__ == "__main__":
    main()
