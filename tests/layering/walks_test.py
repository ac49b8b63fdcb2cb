#!/usr/bin/env python3
"""The files and functions that the walks of CONTRIBUTING.md name are there. Argument: ROOT.

A step is "1. `file`: text"; each `name()` in its text is defined in that file. Behind the steps a `name()` may stand
before its file, which has it, too."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
STEP = re.compile(r"^\d+\. `([\w./]+)`:? ?((?:.|\n(?! *\d+\. |\n))*)", re.M)
FUNCTION = re.compile(r"`((?:\w+::)*)(\w+)\(\)`")
BESIDE = re.compile(r"\(?`((?:\w+::)*)(\w+)\(\)`\s+in\s+`([\w./]+)`|`([\w./]+)` \(`((?:\w+::)*)(\w+)\(\)`\)")
MOST_FILES = 12  # of a walk, over both sides
MOST_OF_ENGINE = {"An 8-byte get": 6}


def parts_of(text):
    """Title and text of each walk."""
    chapter = re.search(r"^## Walks\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return [part.split("\n", 1) for part in re.split(r"^### ", chapter.group(1), flags=re.M)[1:]]


def walks_of(text):
    """Title to steps: a file, and the functions that are named there as (class, name)."""
    walks = {}
    for title, rest in parts_of(text):
        steps = [(file, [(of.rstrip(":"), name) for of, name in FUNCTION.findall(said)]) for file, said in STEP.findall(rest)]
        for of, name, file, file_before, of_behind, name_behind in BESIDE.findall(rest):
            steps.append((file or file_before, [((of or of_behind).rstrip(":"), name or name_behind)]))
        walks[title] = steps
    return walks


def defines(source, of, name):
    """Whether a line begins with a type and the function, and a body follows."""
    qualified = f"(?:{of}::)?" if of else r"(?:\w+::)?"
    head = rf"^(?!\s*(?:return|else|if|for|while|case)\b)[^\n()=;]*?(?<!\w)(?<!\.)(?<!->){qualified}{name}\([^;]*?\{{"
    if not re.search(head.replace("[^\\n()=;]", r"(?:\[\[[^\n]*?\]\]|[^\n()=;])"), source, re.M):
        return False
    return not of or re.search(rf"\b{of}::{name}\(|\b(?:class|struct) {of}\b", source) is not None


def faults_of(steps, read):
    for file, functions in steps:
        source = read(file)
        if source is None:
            yield f"there is no {file}"
            continue
        if not functions:
            yield f"no function of {file} is named"
        for of, name in functions:
            if not defines(source, of, name):
                yield f"{file} does not define {of + '::' if of else ''}{name}()"


def read_source(file):
    path = ROOT / file
    return path.read_text(encoding="utf-8") if path.is_file() else None


class WalksTest(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        self.walks = walks_of(self.text)

    def test_what_they_name_is_there(self):
        self.assertGreaterEqual(len(self.walks), 4)
        for title, steps in self.walks.items():
            self.assertGreater(len(steps), 8, title)
            self.assertEqual(list(faults_of(steps, read_source)), [], title)

    def test_a_walk_passes_few_files(self):
        walks = {title: {file for file, _ in STEP.findall(rest)} for title, rest in parts_of(self.text)}
        self.assertEqual(set(walks), {"An 8-byte put, from the call to the target's counter", "An 8-byte get",
                                      "`lapirun -n 2`, without a universe", "From `lamboot` to `hboot`"})
        for title, files in walks.items():
            self.assertLessEqual(len(files), MOST_FILES, f"{title}: {sorted(files)}")
        for title, most in MOST_OF_ENGINE.items():
            engine = {file for file in walks[title] if file.startswith("dataplane/")}
            self.assertLessEqual(len(engine), most, sorted(engine))

    def test_what_is_not_there_is_found(self):
        text = ("## Walks\n\n### One\n\n1. `a/b.cc`: `f()`,\n   then `C::g()`.\n2. `a/none.cc`: `h()`.\n3. `a/b.h`: nothing.\n\n"
                "At the end `late()` in\n`a/b.cc`, and `a/b.h` (`k()`).\n\n## Other\n\n1. `a/other.cc`: `x()`.\n")
        sources = {"a/b.cc": "int f(int a,\n      int b) {\n  g(1);\n  return k(2);\n}\n", "a/b.h": "void k(int a) {\n}\n"}
        [steps] = walks_of(text).values()
        self.assertEqual(list(faults_of(steps, sources.get)), [
            "a/b.cc does not define C::g()", "there is no a/none.cc", "no function of a/b.h is named",
            "a/b.cc does not define late()"])

    def test_a_call_is_no_definition(self):
        for source in ("  return f(1);\n", "  if (f(1)) {\n  }\n", "  a = f(1);\n{}", "int f(int);\n"):
            self.assertFalse(defines(source, "", "f"), source)
        for source in ("int f() {\n", "[[gnu::noinline]] int C::f(int a,\n    int b) const {\n", "C::f(int a) : a_(a) {\n"):
            self.assertTrue(defines(source, "", "f"), source)
        self.assertTrue(defines("class C {\n  int f() {\n", "C", "f"))
        self.assertFalse(defines("class D {\n  int f() {\n", "C", "f"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
