#!/usr/bin/env python3
"""What ninja has to build for the tests of these suites.   targets_of_suites.py BUILD SUITE..."""
import json
import os
import pathlib
import sys

build, suites = pathlib.Path(sys.argv[1]).resolve(), set(sys.argv[2:])
known = build / "meson-info"
files = {target["id"]: target["filename"] for target in json.loads((known / "intro-targets.json").read_text())}
wanted = {target for test in json.loads((known / "intro-tests.json").read_text())
          if suites & {suite.split(":")[-1] for suite in test["suite"]} for target in test["depends"]}
print("\n".join(sorted(os.path.relpath(file, build) for target in wanted for file in files[target])))
