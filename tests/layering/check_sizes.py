#!/usr/bin/env python3
"""Refuses files over 500 lines, lines over 120 characters and marks of unfinished work in C and C++ sources.

    check_sizes.py [ROOT]

api/include/lapi.h and api/include/lapif.h may be longer: one header for each language is what users of LAPI expect.
"""
import pathlib
import re
import sys

FOLDERS = ["api", "bench", "control", "dataplane", "libtrace", "nic", "samples", "shm", "tests"]
SUFFIXES = {".h", ".cc", ".c"}
MOST_LINES = 500
MOST_COLUMNS = 120
MAY_BE_LONG = {"api/include/lapi.h", "api/include/lapif.h"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b|#\s*if 0\b")


def complaints_of(path, text):
    lines = text.splitlines()
    if len(lines) > MOST_LINES and path not in MAY_BE_LONG:
        yield f"{path}: {len(lines)} lines; {MOST_LINES} at most"
    for number, line in enumerate(lines, 1):
        if len(line) > MOST_COLUMNS:
            yield f"{path}:{number}: {len(line)} characters; {MOST_COLUMNS} at most"
        if UNFINISHED.search(line):
            yield f"{path}:{number}: unfinished: {line.strip()}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    files = [file for folder in FOLDERS for file in sorted((root / folder).rglob("*"))
             if file.suffix in SUFFIXES and file.is_file()]
    complaints = [line for file in files
                  for line in complaints_of(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))]
    print("\n".join([*complaints, f"{len(files)} files, {len(complaints)} complaints"]))
    return 1 if complaints or not files else 0


if __name__ == "__main__":
    sys.exit(main())
