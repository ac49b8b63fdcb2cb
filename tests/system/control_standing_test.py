#!/usr/bin/env python3
"""Where tasks stand when --timeout ends their job: on one machine, and over a universe.

usage: control_standing_test.py FOLDER-OF-THE-TOOLS PROCESS-SCHEMA LAPIRUN STANDING-PROBE FOLDER-OF-THE-PROGRAMS [CASES]"""
import contextlib
import os
import re
import signal
import struct
import sys
import time
import unittest

from control_jobs_test import PROBE, Jobs

OVER = "lapirun: the time of --timeout is over; ending the tasks"
TIME = r"for (\d+ to )?\d+ s"
IN_EXCHANGE = f"in the exchange of LAPI_Init {TIME}: all tasks meet there"
GFENCE = 7  # its number in a page
# For tasks to get to their places. A slow machine is given more; the places themselves do not change with time.
SECONDS = (2, 5, 15, 40)


class Standing(Jobs):
    def expect_lines(self, before, places, *patterns):
        """Each place is a task's; each pattern is that of a line, in order."""
        wanted = "\n".join([OVER, *("lapirun: " + pattern for pattern in patterns)]) + "\n"
        for seconds in SECONDS:
            _, errors = self.run_job("-n", len(places), *before, "--timeout", seconds, PROBE, *places, status=124)
            said = "".join(line for line in errors.splitlines(keepends=True) if line.startswith("lapirun: "))
            if re.fullmatch(wanted, said):
                return
        self.assertRegex(said, f"^{wanted}$")


class OneMachineTest(Standing):
    hosts = []
    PLACES = {
        "waitcntr": rf"in LAPI_Waitcntr {TIME}: the counter is 1, waited for is 3",
        "stopped": r"stopped by a signal, outside of LAPI",
        "fence": rf"in LAPI_Fence {TIME}: task 1 has not answered",
        "compute": r"outside of LAPI, computing",
        "asleep": r"outside of LAPI, asleep",
        "probe": r"calling LAPI_Probe or LAPI_Msgpoll, which find nothing",
        "term": r"after LAPI_Term",
        "leave": r"has ended",
        "nopoll": rf"in LAPI_Nopoll_wait {TIME}: the counter is 0, waited for is 2",
    }

    def test_each_place(self):
        lines = [rf"task {number} \(process \d+\): {line}" for number, line in enumerate(self.PLACES.values())]
        for shared in ("yes", "no"):
            self.expect_lines(["-x", f"LAPI_USE_SHM={shared}"], list(self.PLACES), *lines)

    def test_tasks_at_the_same_place_share_a_line(self):
        self.expect_lines([], ["gfence", "gfence", "asleep", "gfence", "address"],
                          f"tasks 0-1,3: in LAPI_Gfence {TIME}", r"task 2 \(process \d+\): outside of LAPI, asleep",
                          rf"task 4 \(process \d+\): in LAPI_Address_init {TIME}")

    def test_no_room_towards_a_task(self):
        self.expect_lines(["-x", "LAPI_USE_SHM=no"], ["send", "stopped"],
                          rf"task 0 \(process \d+\): in LAPI_Amsend {TIME}: task 1 takes no more",
                          r"task 1 \(process \d+\): stopped by a signal, outside of LAPI")

    def test_a_task_that_has_not_called_init(self):
        self.expect_lines([], ["asleep", "absent", "asleep"], f"tasks 0,2: {IN_EXCHANGE}",
                          r"task 1 \(process \d+\): not in LAPI_Init yet")

    def test_without_pmix(self):
        self.expect_lines(["--standalone"], ["gfence", "asleep"], rf"task 0 \(process \d+\): in LAPI_Gfence {TIME}",
                          r"task 1 \(process \d+\): outside of LAPI, asleep")

    def test_one_stopped_behind_init_is_not_waited_for_there(self):
        _, errors = self.run_job("-n", 3, "--timeout", 13, PROBE, "asleep", "stopped", "asleep", status=124)
        self.assertNotIn("still wait in LAPI_Init", errors)

    def process_in_gfence(self):
        """0: none yet. Of the tasks' pages (dataplane/base/task_page.h)."""
        for path in self.temporary.glob("*/pages"):
            for words in struct.iter_unpack("=64I", path.read_bytes()):
                if words[8] == GFENCE:
                    return words[1]
        return 0

    def signal_the_task_in_gfence(self, job, which):
        """Its process; 0: the job has ended before."""
        while job.poll() is None:
            with contextlib.suppress(OSError):  # it ends meanwhile
                if number := self.process_in_gfence():
                    os.kill(number, which)
                    return number
            time.sleep(0.01)
        return 0

    def test_a_stopped_task_in_a_call(self):
        for seconds in SECONDS:
            job = self.start("-n", 2, "--timeout", seconds, PROBE, "gfence", "asleep")
            number = self.signal_the_task_in_gfence(job, signal.SIGSTOP)
            _, _, errors = self.finish(job)
            wanted = rf"lapirun: task 0 \(process {number}\): stopped by a signal, in LAPI_Gfence {TIME}\n"
            if re.search(wanted, errors):
                return
        self.assertRegex(errors, wanted)

    def test_a_program_whose_first_thread_has_ended(self):
        wanted = rf"lapirun: task 0 \(process \d+\): in LAPI_Gfence {TIME}\n"
        for shell in ([], ["sh", "-c", '"$0" "$@"; sleep 100']):
            for seconds in SECONDS:
                _, errors = self.run_job("-n", 2, "--timeout", seconds, *shell, PROBE, "headless", "asleep", status=124)
                if re.search(wanted, errors):
                    break
            self.assertRegex(errors, wanted)

    def test_a_program_that_has_died_behind_a_shell(self):
        wanted = rf"lapirun: task 1 \(process \d+\): its program has ended, what has started it goes on\n"
        for seconds in SECONDS:
            job = self.start("-n", 2, "--timeout", seconds, "sh", "-c", '"$0" "$@"; sleep 100', PROBE, "asleep", "gfence")
            number = self.signal_the_task_in_gfence(job, signal.SIGKILL)
            _, _, errors = self.finish(job)
            if re.search(wanted, errors):
                self.assertNotIn(f"process {number}", errors)
                return
        self.assertRegex(errors, wanted)


class UniverseTest(Standing):
    def test_tasks_of_several_hosts(self):
        self.expect_lines(["N"], ["gfence", "gfence", "asleep", "gfence"],
                          rf"tasks 0-1,3 on 3 nodes: in LAPI_Gfence {TIME}",
                          r"task 2 \(process \d+\) on n2 \(blinky\): outside of LAPI, asleep")

    def test_a_task_that_has_not_called_init(self):
        self.expect_lines(["N"], ["asleep", "absent", "asleep"], f"tasks 0,2 on 2 nodes: {IN_EXCHANGE}",
                          r"task 1 \(process \d+\) on n1 \(pinky\): not in LAPI_Init yet")

    def test_a_daemon_that_does_not_answer(self):
        wanted = (OVER + r"\nlapirun: task 0 \(process \d+\) on n0 \(inky\): not in LAPI_Init yet"
                  r"\nlapirun: task 1 on n1 \(pinky\): (not started|no answer from there: the daemon \(lamd\) or lamtasks "
                  r"hangs or is stopped)\n")
        daemon = self.process("n1")
        for seconds in SECONDS:
            job = self.start("-n", 2, "n0", "n1", "--timeout", seconds, PROBE, "absent", "absent")
            while job.poll() is None and len(self.job_processes()) < 7:
                time.sleep(0.01)
            os.kill(daemon, signal.SIGSTOP)
            try:
                said = "".join(job.stderr.readline() for _ in range(3))
            finally:
                os.kill(daemon, signal.SIGCONT)
            self.assertEqual(self.finish(job)[0], 124)
            if re.fullmatch(wanted, said):
                return
        self.assertRegex(said, f"^{wanted}$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]])
