#!/usr/bin/env python3
"""What a program that was linked with a release finds in the library of today (CONTRIBUTING.md, "What a release promises").

usage: library_symbols_test.py VERSION LAPI_H LIBRARY...     (the library and the one that traces)

symbols/liblapi-VERSION beside this file has the symbols of a release's library, with their versions; they are the same
for 64 and 32 bits."""
import pathlib
import re
import subprocess
import sys
import unittest

VERSION, HEADER, LIBRARIES = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
LISTS = {path.name.removeprefix("liblapi-"): set(path.read_text().split())
         for path in (pathlib.Path(__file__).parent / "symbols").glob("liblapi-*")}


def symbols_of(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    names = {line.split()[-1].replace("@@", "@") for line in lines}
    return {name for name in names if not name.startswith("LIBLAPI_")}


def number(version):
    return [int(part) for part in version.split(".")]


class LibrarySymbols(unittest.TestCase):
    def test_what_a_release_had_is_there(self):
        for library in LIBRARIES:
            for version, symbols in LISTS.items():
                self.assertEqual(sorted(symbols - symbols_of(library)), [], f"{library} lacks what {version} had")

    def test_the_newest_list_has_all(self):
        newest = max(LISTS, key=number)
        for library in LIBRARIES:
            self.assertEqual(sorted(symbols_of(library) - LISTS[newest]), [], f"{library} has more than {newest} had")

    def test_there_is_a_list_of_an_earlier_release(self):
        self.assertTrue(any(number(version) < number(VERSION) for version in LISTS), "nothing is compared but itself")

    def test_the_version_is_one_and_has_a_list(self):
        self.assertIn(VERSION, LISTS)
        self.assertEqual(re.search(r'define OPENLAPI_VERSION "(.*)"', HEADER.read_text()).group(1), VERSION)
        parts = re.findall(r"define OPENLAPI_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", HEADER.read_text())
        self.assertEqual(".".join(parts), VERSION)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
