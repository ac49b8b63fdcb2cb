#!/usr/bin/env python3
"""What the thread sanitizer says of a program while the library is built without it: nothing of what calls and counters
order, everything of what they do not.   thread_order_test.py LAPIRUN PROGRAM SUPPRESSIONS"""
import os
import subprocess
import sys
import unittest

LAPIRUN, PROGRAM, SUPPRESSIONS = sys.argv[1:4]


def run(who, tasks, **variables):
    # The sanitizer needs its addresses free.
    command = ["setarch", "-R", LAPIRUN, "-n", str(tasks), PROGRAM, who]
    environment = {**os.environ, "TSAN_OPTIONS": "", **variables}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, env=environment)
    return done.returncode, done.stdout + done.stderr


class ThreadOrder(unittest.TestCase):
    def test_what_is_ordered_is_not_reported(self):
        for shared_memory in "only", "no":
            for tasks in 2, 3:
                status, output = run("ordered", tasks, LAPI_USE_SHM=shared_memory)
                self.assertEqual(status, 0, output)
                self.assertNotIn("ThreadSanitizer", output)

    def test_races_of_handlers_are_reported(self):
        for who in "header-handler", "completion-handler", "send-handler":
            for shared_memory in "only", "no":
                status, output = run(who, 2, LAPI_USE_SHM=shared_memory, TSAN_OPTIONS="suppressions=" + SUPPRESSIONS)
                self.assertNotEqual(status, 0, who)
                self.assertRegex(output, "(?s)data race.* write_unordered .*Location is global 'unordered'")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
