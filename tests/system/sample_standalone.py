#!/usr/bin/env python3
"""The sample of standalone UDP, as its script starts it.   sample_standalone.py RUN_UDP UDP"""
import subprocess
import sys
import tempfile
import unittest

from api_jobs import clean_environment, free_ports

RUN_UDP, PROGRAM = sys.argv[1:3]


def run(way, ports):
    with tempfile.TemporaryDirectory() as home:
        return subprocess.run([RUN_UDP, PROGRAM, way, *map(str, ports)], env=clean_environment(HOME=home),
                              capture_output=True, text=True, timeout=50, check=False)


class SampleStandalone(unittest.TestCase):
    def check_all_right(self, way, tasks):
        done = run(way, free_ports(tasks))
        self.assertEqual(done.returncode, 0, done)
        for task in range(tasks):
            self.assertIn(f"task {task} of {tasks}: {way}: right\n", done.stdout)
        return done.stdout

    def test_the_handler_says_where_the_tasks_are(self):
        output = self.check_all_right("handler", 2)
        self.assertIn("task 1: the UDP handler is asked for the addresses of 2 tasks\n", output)

    def test_the_list_says_where_the_tasks_are(self):
        self.assertNotIn("UDP handler", self.check_all_right("list", 4))

    def test_a_port_that_cannot_be_used_makes_it_fail(self):
        done = run("list", [0, 0])
        self.assertNotEqual(done.returncode, 0, done)
        self.assertIn("LAPI_Init", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
