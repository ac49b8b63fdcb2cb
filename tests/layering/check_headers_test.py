#!/usr/bin/env python3
"""check_headers.py refuses headers that do not stand alone. Arguments: C compiler, C++ compiler."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parent / "check_headers.py"
COMPILERS = sys.argv[1:3]


def check(headers):
    """Status and output of the check over a tree of headers."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in headers.items():
            file = pathlib.Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run([sys.executable, CHECK, folder, *COMPILERS], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class CheckHeaders(unittest.TestCase):
    def test_accepts_headers_that_stand_alone(self):
        status, output = check({
            "shm/segment.h": "#pragma once\n#include <cstdint>\nstruct Segment { std::uint32_t size; };\n",
            "shm/queue.h": '#pragma once\n#include "shm/segment.h"\nstruct Queue { Segment segment; };\n',
            "api/include/lapi.h": "#ifndef LAPI_H\n#define LAPI_H\ntypedef unsigned int lapi_handle_t;\n#endif\n"})
        self.assertEqual((status, output), (0, "5 headers compiled alone, 0 failed\n"))

    def test_refuses_a_header_that_needs_another_first(self):
        status, output = check({"shm/queue.h": "#pragma once\nstruct Queue { std::uint32_t size; };\n"})
        self.assertEqual(status, 1)
        self.assertIn("shm/queue.h does not compile alone", output)

    def test_refuses_a_header_without_a_guard(self):
        self.assertEqual(check({"shm/queue.h": "struct Queue {};\n"})[0], 1)

    def test_leaves_alone_what_the_build_compiles_alone(self):
        lacking = "#pragma once\nstruct Queue { std::uint32_t size; };\n"
        self.assertEqual(check({"shm/queue.h": lacking, "shm/queue.cc": '// A queue.\n#include "shm/queue.h"\n',
                                "shm/other.h": "#pragma once\n"}), (0, "1 headers compiled alone, 0 failed\n"))
        for source, include in (("shm/queue.cc", '#include <cstdint>\n\n#include "shm/queue.h"\n'),
                                ("tests/unit/queue_test.cc", '#include "shm/queue.h"\n')):
            self.assertEqual(check({"shm/queue.h": lacking, source: include})[0], 1, source)
        without_guard = {"shm/queue.h": "struct Queue {};\n", "shm/queue.cc": '#include "shm/queue.h"\n'}
        self.assertEqual(check(without_guard)[0], 1)

    def test_refuses_cplusplus_in_the_users_header(self):
        status, output = check({"api/include/lapi.h": "#pragma once\nclass Context {};\n"})
        self.assertEqual(status, 1)
        self.assertIn("-std=c11", output)

    def test_refuses_warnings(self):
        self.assertEqual(check({"shm/queue.h": "#pragma once\ninline void stop(int unused) {}\n"})[0], 1)

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(check({})[0], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
