#!/usr/bin/env python3
"""The sample of jobs with tasks of 32 and 64 bits.   sample_interop.py LAPIRUN INTEROP-OF-64-BITS INTEROP-OF-32-BITS"""
import subprocess
import sys
import unittest

from api_jobs import clean_environment

LAPIRUN, WIDE, NARROW = sys.argv[1:4]


class SampleInterop(unittest.TestCase):
    def check(self, bits):
        """One task for each entry: its word size."""
        choices = " ".join(f'{task}) exec "${1 if width == 64 else 2}" ;;' for task, width in enumerate(bits))
        command = [LAPIRUN, "--standalone", "-n", str(len(bits)), "sh", "-c", f"case $MP_CHILD in {choices} esac", "sh",
                   WIDE, NARROW]
        done = subprocess.run(command, env=clean_environment(LAPI_USE_SHM="only"), capture_output=True, text=True,
                              timeout=50, check=False)
        self.assertEqual(done.returncode, 0, done)
        for task, width in enumerate(bits):
            self.assertIn(f"task {task} has {width} bits, its buddy has {bits[task ^ 1]}\n", done.stdout)
            self.assertIn(f"task {task} of {len(bits)}: words of different sizes: right\n", done.stdout)

    def test_a_64_bit_task_and_a_32_bit_buddy(self):
        self.check([64, 32])

    def test_all_pairs(self):
        self.check([32, 64, 32, 32, 64, 64])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
