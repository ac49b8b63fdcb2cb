#!/usr/bin/env python3
"""MP_LAPI_TRACE_LEVEL 0 to 5 with the tracing library, and that the ordinary one says that it ignores it (appendix D).

usage: trace_test.py LAPIRUN SMOKE LIBTRACE_FOLDER LAPI_H"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

LAPIRUN, SMOKE, LIBTRACE, HEADER = sys.argv[1:5]
LINE = re.compile(r"^lapi-trace [01] \d+\.\d{9} \d+ (.*)$")


def run(level, tracing=True, **more):
    environment = dict(os.environ, MP_LAPI_TRACE_LEVEL=str(level), LAPI_USE_SHM="only", **more)
    environment["LD_LIBRARY_PATH"] = LIBTRACE if tracing else ""
    done = subprocess.run([LAPIRUN, "-n", "2", SMOKE], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def events(level):
    found = [LINE.match(line) for line in run(level)]
    assert all(found), "a line that is no trace line"
    return [match.group(1) for match in found]


class TraceTest(unittest.TestCase):
    def test_level_0_writes_nothing(self):
        self.assertEqual(run(0), [])

    def test_level_1_shows_contexts_only(self):
        calls = [event for event in events(1) if event.startswith("LAPI_")]
        self.assertEqual(sum(call.startswith("LAPI_Init(") for call in calls), 2)
        self.assertEqual(sum(call.startswith("LAPI_Term(") for call in calls), 2)
        self.assertFalse([call for call in calls if call.startswith("LAPI_Put(")])

    def test_level_2_shows_every_call_with_its_result(self):
        seen = events(2)
        self.assertTrue([event for event in seen if re.match(r"LAPI_Put\(\d+, \d, .* = 0 LAPI_SUCCESS$", event)])
        self.assertTrue([event for event in seen if event.startswith("LAPI_Gfence(")])
        self.assertFalse([event for event in seen if "handler" in event])
        for call in ("LAPI_Putv", "LAPI_Getv", "LAPI_Amsendv"):
            right = re.compile(call + r"\(\d+, \d, .* = 0 LAPI_SUCCESS$")
            self.assertTrue([event for event in seen if right.match(event)], call)

    def test_every_call_of_the_header_is_traced(self):
        calls = re.findall(r"^LAPI_PUBLIC int (LAPI_\w+)\(", pathlib.Path(HEADER).read_text(), re.M)
        self.assertTrue(calls)
        library = pathlib.Path(LIBTRACE, "liblapi.so")
        lines = subprocess.check_output(["nm", "-D", "--defined-only", library], text=True).splitlines()
        # Those of the library are weak.
        traced = {name.split("@")[0] for _, kind, name in map(str.split, lines) if kind == "T"}
        self.assertEqual(sorted(set(calls) - traced), [])

    def test_level_3_shows_handlers(self):
        seen = events(3)
        self.assertTrue([event for event in seen if event.startswith("header handler ")])
        self.assertTrue([event for event in seen if event.startswith("completion handler ")])
        self.assertFalse([event for event in seen if "packet" in event])

    def test_level_4_shows_packets_without_their_bytes(self):
        seen = [event for event in events(4) if " packet to " in event]
        self.assertTrue(seen)
        self.assertTrue(all(re.fullmatch(r"shm packet to [01], \d+ bytes ", event) for event in seen))

    def test_level_5_shows_the_first_bytes(self):
        seen = [event for event in events(5) if " packet to " in event]
        self.assertTrue(seen)
        # A task that lets its peer wait, as on a busy machine, is sent a packet without bytes, which asks if it lives.
        whole = re.compile(r"shm packet to [01], (0 bytes |[1-9]\d* bytes ([0-9a-f]{2}){1,64})")
        self.assertTrue(all(whole.fullmatch(event) for event in seen), seen)

    def test_the_ordinary_library_says_that_it_ignores_the_level(self):
        lines = run(3, tracing=False, MP_INFOLEVEL="1")
        said = "openlapi: MP_LAPI_TRACE_LEVEL=3 is ignored: this library does not trace, the one in openlapi/ does"
        self.assertEqual(lines.count(said), 2)
        self.assertEqual(run(3, tracing=False), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
