#!/usr/bin/env python3
"""Jobs whose tasks run different libraries.

    library_versions_test.py LAPIRUN PROBE INIT_PROBE OTHER_BUILD OTHER_WIRE_VERSION OTHER_LINK
"""
import os
import re
import subprocess
import sys
import unittest

from api_jobs import Jobs, free_ports

LAPIRUN, PROBE, INIT_PROBE, OTHER_BUILD, OTHER_WIRE_VERSION, OTHER_LINK = sys.argv[1:7]
LIMIT = 20  # seconds; tasks of one version that hear nothing of each other wait for fifteen minutes


def run(library, probe=PROBE, **environment):
    """Three tasks, of which task 1 runs `library`."""
    script = f"if [ $PMIX_RANK = 1 ]; then export LD_PRELOAD={library}; fi; exec {probe}"
    return subprocess.run([LAPIRUN, "-n", "3", "sh", "-c", script], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment})


def run_without_launcher(**environment):
    """Two tasks, of which task 1 runs the library of another wire version."""
    jobs = Jobs(LAPIRUN, os.path.dirname(INIT_PROBE))
    addresses = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    tasks = [jobs.start([INIT_PROBE, f"list={addresses}"],
                        jobs.task_environment(2, task, **environment, **({"LD_PRELOAD": OTHER_WIRE_VERSION} if task else {})))
             for task in range(2)]
    try:
        return [jobs.finish(task, LIMIT) for task in tasks]
    finally:
        for task in tasks:
            if task.poll() is None:
                task.kill()
                task.communicate()


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

    def test_another_wire_version_without_a_launcher_is_an_error_of_the_first_packet(self):
        for tags in ("yes", "no"):
            tasks = run_without_launcher(LAPI_USE_SHM="no", OPENLAPI_PACKET_AUTH=tags)
            for task, result in enumerate(tasks):
                self.assertNotEqual(result.status, 0)
                self.assertRegex(result.err, rf"openlapi: task {task} runs openlapi .*, wire version {task + 2}; what comes "
                                             rf"from task {1 - task} has wire version {3 - task}: the tasks of a job have to "
                                             "run libraries of one wire version; have the same liblapi")
                self.assertIn("it runs a library of another wire version", result.err)

    def test_another_wire_version_does_not_share_memory_without_a_launcher(self):
        for result in run_without_launcher(LAPI_USE_SHM="only"):
            self.assertNotEqual(result.value("code"), 0)
            self.assertIn("the leader's shared memory has wire version 2, this task's library 3", result.err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
