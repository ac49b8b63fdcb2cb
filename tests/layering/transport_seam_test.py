#!/usr/bin/env python3
"""The seam below the engine (dataplane/transport/) has no functions with a default, and whatever wraps a transport begins
with what that one has: a job over a wrapper, traced or in a test, behaves as one without. The library and its engine
name no module: modules say what there is to say of them (nic/modules). Argument: ROOT."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
functions = 0
faults = []
for header in sorted((root / "dataplane/transport").glob("*.h")):
    for declaration in re.findall(r"\bvirtual ([^;{]*)", header.read_text(encoding="utf-8")):
        if declaration.startswith("~"):
            continue
        functions += 1
        if not declaration.rstrip().endswith("= 0"):
            faults.append(f"{header.relative_to(root)}: {' '.join(declaration.split())} has a default")

wrappers = 0
for folder in ("api", "libtrace", "nic", "shm", "tests", "bench"):
    for source in sorted([*(root / folder).rglob("*.h"), *(root / folder).rglob("*.cc")]):
        text = source.read_text(encoding="utf-8")
        if not re.search(r"\bpublic Transport\b", text) or not re.search(r"\binner_;", text):
            continue
        wrappers += 1
        if not re.search(r"\binner_(->|\.)capabilities\(\)", text):
            faults.append(f"{source.relative_to(root)} does not begin with what the transport inside has")

modules = [path.name.removesuffix("_announcement.h") for path in (root / "nic/modules").glob("*_announcement.h")]
named = re.compile(rf'"[^"\n]*(?:{"|".join(modules)})[^"\n]*"', re.I)
for folder in ("api/arguments", "api/calls", "api/context", "api/rpi", "api/wiring", "dataplane", "shm"):
    for source in sorted([*(root / folder).rglob("*.h"), *(root / folder).rglob("*.cc")]):
        for text in named.findall(source.read_text(encoding="utf-8")):
            faults.append(f"{source.relative_to(root)} names a module: {text}")

print(*faults, f"{functions} functions, {wrappers} wrappers, {len(faults)} faults", sep="\n")
sys.exit(1 if faults or functions < 10 or wrappers < 2 or len(modules) < 2 else 0)
