#!/usr/bin/env python3
"""Refuses a house that has lost its shape: folders at the top that include each other, classes of more than MOST_MEMBERS
members or in more than MOST_FILES files, functions of more than MOST_LINES lines.

    check_shape.py [ROOT]

It reads text: a member is what is defined as Class::name( at the beginning of a line of a .cc file, a function what
begins in the first column and ends with a brace there.
"""
import collections
import pathlib
import re
import sys

TOP = ("api", "control", "dataplane", "libtrace", "nic", "shm")
MOST_MEMBERS, MOST_FILES, MOST_LINES = 40, 3, 60

INCLUDE = re.compile(r'^#include "([^"/]+)/', re.MULTILINE)
MEMBER = re.compile(r"^[\w:<>*&,\[\] ]*\b([A-Z]\w+)::~?\w+\(", re.MULTILINE)
NO_FUNCTION = ("namespace", "class", "struct", "enum", "extern")


def sources(root):
    for folder in TOP:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in {".h", ".hpp", ".cc"} and file.is_file():
                yield file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")


def circles(texts):
    arrows = {(path.split("/")[0], other) for path, text in texts for other in INCLUDE.findall(text) if other in TOP}
    for one, other in sorted(arrows):
        if one < other and (other, one) in arrows:
            yield f"{one} and {other} include each other"


def wide_classes(texts):
    members, files = collections.Counter(), collections.defaultdict(set)
    for path, text in texts:
        for name in MEMBER.findall(text) if path.endswith(".cc") else ():
            members[name] += 1
            files[name].add(path)
    for name, count in members.items():
        if count > MOST_MEMBERS:
            yield f"class {name}: {count} members; {MOST_MEMBERS} at most"
        if len(files[name]) > MOST_FILES:
            yield f"class {name}: in {', '.join(sorted(files[name]))}; {MOST_FILES} files at most"


def long_functions(texts):
    for path, text in texts:
        begin = None
        for number, line in enumerate(text.splitlines(), 1):
            if begin is None and re.match(r"[A-Za-z].*[^;]\{\s*$", line) and "(" in line:
                begin = number if not line.startswith(NO_FUNCTION) else None
            elif begin is not None and line.rstrip() == "}":
                if number - begin + 1 > MOST_LINES:
                    yield f"{path}:{begin}: {number - begin + 1} lines; {MOST_LINES} at most"
                begin = None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    texts = list(sources(root))
    complaints = [*circles(texts), *wide_classes(texts), *long_functions(texts)]
    print("\n".join([*complaints, f"{len(texts)} files, {len(complaints)} complaints"]))
    return 1 if complaints or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
