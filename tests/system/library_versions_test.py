#!/usr/bin/env python3
"""Jobs whose tasks run different libraries.   library_versions_test.py LAPIRUN PROBE OTHER_BUILD OTHER_WIRE_VERSION OTHER_LINK"""
import os
import re
import subprocess
import sys
import unittest

LAPIRUN, PROBE, OTHER_BUILD, OTHER_WIRE_VERSION, OTHER_LINK = sys.argv[1:6]


def run(library, probe=PROBE, **environment):
    """Three tasks, of which task 1 runs `library`."""
    script = f"if [ $PMIX_RANK = 1 ]; then export LD_PRELOAD={library}; fi; exec {probe}"
    return subprocess.run([LAPIRUN, "-n", "3", "sh", "-c", script], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment})


class LibraryVersions(unittest.TestCase):
    def test_another_build_is_said_at_level_one(self):
        for shared_memory in ("yes", "no"):
            text = "openlapi: task 0 runs openlapi "
            result = run(OTHER_BUILD, LAPI_USE_SHM=shared_memory, MP_INFOLEVEL="1")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr.count(text), 1, result.stderr)
            self.assertIn("; task 1 runs openlapi 9.9.9, built another day, ", result.stderr)
            result = run(OTHER_BUILD, LAPI_USE_SHM=shared_memory)
            self.assertEqual((result.returncode, result.stderr.count(text)), (0, 0), result.stderr)

    def test_another_build_is_told_by_what_the_linker_made_of_it(self):
        result = run(OTHER_LINK, MP_INFOLEVEL="1")
        self.assertEqual(result.returncode, 0, result.stderr)
        said = re.findall(r"openlapi: task 0 runs (.*), build ([0-9a-f]{40}), wire version \d+; "
                          r"task 1 runs (.*), build 6f74686572, wire version", result.stderr)
        self.assertEqual(len(said), 1, result.stderr)
        self.assertEqual(said[0][0], said[0][2], "the same version, built at the same time")

    def test_another_wire_version_ends_LAPI_Init_at_once(self):
        for shared_memory in ("yes", "no"):
            result = run(OTHER_WIRE_VERSION, LAPI_USE_SHM=shared_memory)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("the tasks of a job have to run libraries of one wire version", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
