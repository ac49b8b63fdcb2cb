#!/usr/bin/env python3
"""check_shape.py refuses what it should: every tree is written to a folder and checked for real."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parent / "check_shape.py"


def members(count, first=0):
    return "".join(f"int Wide::member{number}() {{ return 0; }}\n" for number in range(first, first + count))


def function(lines):
    return "int long_one() {\n" + "  work();\n" * (lines - 2) + "}\n"


def check(tree):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in tree.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class CheckShape(unittest.TestCase):
    def expect_good(self, tree):
        self.assertEqual(check(tree)[0], 0, check(tree)[1])

    def expect_bad(self, tree, word):
        status, said = check(tree)
        self.assertEqual(status, 1, said)
        self.assertIn(word, said)

    def test_folders_that_include_each_other(self):
        one_way = {"api/a.cc": '#include "control/b.h"\n', "control/b.h": "int b();\n"}
        self.expect_good(one_way)
        self.expect_bad({**one_way, "control/c.cc": '#include "api/d.h"\n'}, "api and control include each other")

    def test_members_of_a_class(self):
        self.expect_good({"nic/a.cc": members(40)})
        self.expect_bad({"nic/a.cc": members(41)}, "class Wide: 41 members")
        self.expect_bad({"nic/a.cc": members(20), "nic/b.cc": members(21, 20)}, "class Wide: 41 members")

    def test_files_of_a_class(self):
        three = {f"shm/{name}.cc": members(1, number) for number, name in enumerate("abc")}
        self.expect_good(three)
        self.expect_bad({**three, "shm/d.cc": members(1, 3)}, "3 files at most")

    def test_lines_of_a_function(self):
        self.expect_good({"dataplane/a.cc": function(60)})
        self.expect_bad({"dataplane/a.cc": "\n" + function(61)}, "dataplane/a.cc:2: 61 lines")

    def test_no_sources(self):
        self.assertEqual(check({"tests/a.cc": ""})[0], 1)


if __name__ == "__main__":
    unittest.main()
