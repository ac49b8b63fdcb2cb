#!/usr/bin/env python3
"""What documents name of the build and of the sources is there.

usage: documents_test.py SOURCE_FOLDER BUILD_FOLDER   (lapirun is built)"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:3])
README = (SOURCE / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (SOURCE / "CONTRIBUTING.md").read_text(encoding="utf-8")

# What stands behind an option of another launcher where it takes something.
VALUES = {"-n": "1", "-np": "1", "-c": "1", "-H": "localhost", "-host": "localhost", "-hosts": "localhost",
          "-npernode": "1", "-ppn": "1", "--bind-to": "core", "--timeout": "60", "-x": "A=1,B=2", "-wd": "/", "-wdir": "/",
          "--mca": "btl self", "--hostfile": "hosts", "-machinefile": "hosts", "--map-by": "core", "--rank-by": "slot"}


def introspected(what):
    return json.loads(subprocess.run(["meson", "introspect", f"--{what}", BUILD], check=True, capture_output=True,
                                     text=True).stdout)


class DocumentsTest(unittest.TestCase):
    def test_readme_leads_to_every_page_of_a_folder(self):
        pages = {str(path.relative_to(SOURCE)) for pattern in ("*.md", "*/*.md") for path in SOURCE.glob(pattern)}
        pages -= {name for name in pages if name.startswith(("build", "."))} | {"README.md"}
        self.assertEqual(pages - set(re.findall(r"`([\w/]+\.md)`", README)), set())

    def test_the_pages_that_documents_name_are_there(self):
        for path in (SOURCE / "README.md", *SOURCE.glob("*/README.md"), SOURCE / "bench/FIGURES.md", SOURCE / "LIMITS.md"):
            named = set(re.findall(r"`([\w/]+\.md)`", path.read_text(encoding="utf-8")))
            there = {name for name in named for folder in (SOURCE, path.parent) if (folder / name).is_file()}
            self.assertEqual(named - there, set(), path)

    def test_the_tests_that_contributing_runs_are_there(self):
        named = re.findall(r"^    meson test -C build (?!--)(\S+)", CONTRIBUTING, re.M)
        self.assertTrue(named)
        self.assertEqual(set(named) - {test["name"] for test in introspected("tests")}, set())

    def test_the_programs_that_contributing_runs_are_there(self):
        named = re.findall(r"^    build/(\S+)", CONTRIBUTING, re.M)
        self.assertTrue(named)
        built = {path for target in introspected("targets") for path in target["filename"]}
        self.assertEqual({name for name in named if str(BUILD / name) not in built}, set())

    def test_the_cases_that_contributing_runs_are_there(self):
        cases = re.findall(r"^    build/tests/unit/(\w+?)_\S+ --gtest_filter='(\w+)\.", CONTRIBUTING, re.M)
        self.assertTrue(cases)
        for folder, suite in cases:
            sources = "".join(path.read_text() for path in (SOURCE / "tests/unit" / folder).glob("*_test.cc"))
            self.assertIn(f"TEST({suite}, ", sources)

    def test_lapi_names_what_lapirun_sets_for_open_mpi(self):
        page = (SOURCE / "deploy/man/man7/lapi.7").read_text(encoding="utf-8")
        set_by_lapirun = set(re.findall(r"\bOMPI_MCA_\w+", (SOURCE / "control/job/pmix/pmix_server.cc").read_text()))
        self.assertTrue(set_by_lapirun)
        self.assertEqual(set_by_lapirun - set(re.findall(r"\bOMPI_MCA_\w+", page)), set())

    def test_lapirun_does_with_mpiruns_options_what_the_table_says(self):
        page = (SOURCE / "deploy/man/man7/lapi-from-mpi.7").read_text(encoding="utf-8").replace("\\-", "-")
        table = page[page.index('.SH "OPTIONS OF MPIRUN"'):page.index(".SH EXAMPLES")]
        rows = re.findall(r"^\.BR (-.*|\"-.*)\n((?:[^.].*\n)+)", table, re.M)
        words = [word.strip('"') for options, _ in rows for word in re.findall(r'"-[^"]+"|-[-\w]+', options)]
        self.assertGreater(len(words), 25)
        for options, text in rows:
            advised = set(re.findall(r"\\fB(-[-\w]+|\w+)\\fP", text))
            taken = re.search("^the same|understood|without effect|no effect", text)
            for option in (word.strip('"') for word in re.findall(r'"-[^"]+"|-[-\w]+', options)):
                with self.subTest(option):
                    self.try_option(option, None if taken else advised)

    def try_option(self, option, advised):
        """Runs, or with `advised` is refused with one of these words."""
        words = [*option.split(), *VALUES.get(option, "").split()]
        done = subprocess.run([BUILD / "control/lapirun", *words, "true"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2 if advised else 0, done.stderr)
        self.assertNotIn("did you mean", done.stderr)
        if advised:
            self.assertIn(f"lapirun: {words[0]}: ", done.stderr)
            self.assertTrue([word for word in advised if re.search(rf"(?<![-\w]){re.escape(word)}\b", done.stderr)], done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
