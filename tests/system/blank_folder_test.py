#!/usr/bin/env python3
"""The sources can be set up in a folder whose name has a blank.

usage: blank_folder_test.py SOURCE_FOLDER"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1])


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def not_needed(folder, names):
    """Of what lies at the top: builds, tests, the history."""
    top = pathlib.Path(folder) == SOURCE
    return [name for name in names if top and (name.startswith("build") or name in {".git", "tests"})]


class BlankFolderTest(unittest.TestCase):
    def test_all_pages_of_tools_are_installed(self):
        with tempfile.TemporaryDirectory(prefix="openlapi blank ") as folder:
            copy = pathlib.Path(folder, "my sources")
            shutil.copytree(SOURCE, copy, ignore=not_needed)
            run("meson", "setup", "-Dsamples=false", "-Dverbs=disabled", "-Ddpdk=disabled", copy / "build", copy)
            installed = json.loads(run("meson", "introspect", "--installed", copy / "build"))
            pages = {str(page) for page in (copy / "deploy/man/man1").glob("*.1")}
            self.assertTrue(pages)
            self.assertEqual(pages - set(installed), set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
