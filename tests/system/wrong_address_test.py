#!/usr/bin/env python3
"""A task that a wrong address kills says whose call named it.   wrong_address_test.py LAPIRUN PROGRAM"""
import os
import subprocess
import sys
import unittest

LAPIRUN, PROGRAM = sys.argv[1:3]
# Where the program, or a sanitizer, has a handler, that one speaks.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "handle_segv=0", "TSAN_OPTIONS": "handle_segv=0"}
# The copy of a long message may begin at another byte than its first.
CARRIED_OUT = "task 1: memory fault at {}.. while it carries out for task 0: "
IN_HANDLER = "task 1: memory fault at {} in a handler that it runs for task 0: "
TAKES_IN = "task 0: memory fault at {} while it takes in, from task 1, its own "
SENDS = "task 0: memory fault at {} while it sends to task 1 its own "
LONG = "1048576 bytes"
MESSAGE = "LAPI_Amsend of 8 bytes to what was returned by header handler "
LONG_MESSAGE = f"LAPI_Amsend of {LONG} to (what was returned by header handler 0x{{}}|{{}})"
# What task 1 says of task 0's wrong address, on standard error.
AT_THE_TARGET = {
    "put": "LAPI_Put of 8 bytes to {}", "xfer-put": "LAPI_Put of 8 bytes to {}",
    "long-put": f"LAPI_Put of {LONG} to {{}}",
    "get": "LAPI_Get of 8 bytes from {}", "long-get": f"LAPI_Get of {LONG} from {{}}",
    "rmw": "LAPI_Rmw of {}",
    "message": MESSAGE + "0x1", "xfer-message": MESSAGE + "0x1", "dropped": MESSAGE + "0x3",
    "long-message": LONG_MESSAGE.format(1, "{}"), "long-dropped": LONG_MESSAGE.format(3, "{}"),
    "vector-put": "LAPI_Putv of 128 bytes", "long-vector-put": f"LAPI_Putv of {LONG}",
    "strided-put": "LAPI_Putv of 128 bytes", "long-strided-put": f"LAPI_Putv of {LONG}",
    "vector-get": "LAPI_Getv of 128 bytes", "long-vector-get": f"LAPI_Getv of {LONG}",
    "strided-get": "LAPI_Getv of 128 bytes", "long-strided-get": f"LAPI_Getv of {LONG}",
    "vector-message": "LAPI_Amsendv of 128 bytes to what was returned by header handler 0x4",
    "long-vector-message": f"LAPI_Amsendv of {LONG}( to what was returned by header handler 0x4)?",
}
# What task 0 says of its own.
AT_THE_ORIGIN = {
    "put": "in its own LAPI_Put", "message": "in its own LAPI_Amsend", "header": "in its own LAPI_Amsend",
    "vector-put": "in its own LAPI_Putv", "strided-put": "in its own LAPI_Putv",
    "vector-message": "in its own LAPI_Amsendv", "xfer-put": "in its own LAPI_Xfer",
    "xfer-message": "in its own LAPI_Xfer",
    "long-put": SENDS + f"LAPI_Put of {LONG} from {{}}", "long-message": SENDS + f"LAPI_Amsend of {LONG} from {{}}",
    "long-vector-put": SENDS + f"LAPI_Putv of {LONG}", "long-strided-put": SENDS + f"LAPI_Putv of {LONG}",
    "long-vector-message": SENDS + f"LAPI_Amsendv of {LONG}",
    "get": TAKES_IN + "LAPI_Get of 8 bytes to {}", "long-get": TAKES_IN + f"LAPI_Get of {LONG} to {{}}",
    "rmw": TAKES_IN + "LAPI_Rmw, with the old value to {}",
    "vector-get": TAKES_IN + "LAPI_Getv of 128 bytes", "long-vector-get": TAKES_IN + f"LAPI_Getv of {LONG}",
    "strided-get": TAKES_IN + "LAPI_Getv of 128 bytes", "long-strided-get": TAKES_IN + f"LAPI_Getv of {LONG}",
}
# Of a wrong target counter.
COUNTED = "{}( (to|from) (0x[0-9a-f]+|what was returned by header handler 0x[0-9a-f]+))?, target counter {{}}"
COMPLETED = "LAPI_Amsend or LAPI_Amsendv, completion handler 0x[0-9a-f]+, target counter {}"
COUNTERS_AT_THE_TARGET = {
    "put": "LAPI_Put of 8 bytes", "long-put": f"LAPI_Put of {LONG}",
    "get": "LAPI_Get of 8 bytes", "long-get": f"LAPI_Get( or LAPI_Getv)? of {LONG}",
    "message": "LAPI_Amsend of 8 bytes", "long-message": f"LAPI_Amsend of {LONG}",
    "dropped": "LAPI_Amsend of 8 bytes", "long-dropped": f"LAPI_Amsend of {LONG}",
    "vector-put": "LAPI_Putv of 128 bytes", "long-vector-put": f"LAPI_Putv of {LONG}",
    "strided-put": "LAPI_Putv of 128 bytes", "long-strided-put": f"LAPI_Putv of {LONG}",
    "vector-get": "LAPI_Getv of 128 bytes", "long-vector-get": f"(LAPI_Get or )?LAPI_Getv of {LONG}",
    "strided-get": "LAPI_Getv of 128 bytes", "long-strided-get": f"(LAPI_Get or )?LAPI_Getv of {LONG}",
    "vector-message": "LAPI_Amsendv of 128 bytes", "long-vector-message": f"LAPI_Amsendv of {LONG}",
}
# Of a wrong origin counter, where it moves after the call.
COUNTERS_AT_THE_ORIGIN = {
    "long-put": SENDS + f"LAPI_Put of {LONG}", "long-message": SENDS + f"LAPI_Amsend of {LONG}",
    "long-vector-put": SENDS + f"LAPI_Putv of {LONG}", "long-vector-message": SENDS + f"LAPI_Amsendv of {LONG}",
    "get": TAKES_IN + "LAPI_Get of 8 bytes", "long-get": TAKES_IN + f"LAPI_Get of {LONG}",
    "vector-get": TAKES_IN + "LAPI_Getv of 128 bytes", "long-vector-get": TAKES_IN + f"LAPI_Getv of {LONG}",
    "rmw": TAKES_IN + "LAPI_Rmw, with the old value",
}
# And when it is its own target.
WITH_ITSELF = {
    "put": "LAPI_Put", "long-put": "LAPI_Put", "get": "LAPI_Get", "rmw": "LAPI_Rmw", "message": "LAPI_Amsend",
    "vector-put": "LAPI_Putv", "strided-get": "LAPI_Getv", "vector-message": "LAPI_Amsendv", "xfer-put": "LAPI_Xfer",
}
# Before the call is in its context, or without one.
WITHOUT_DATA = {"wait": "LAPI_Waitcntr", "set": "LAPI_Setcntr", "transfer": "LAPI_Xfer", "text": "LAPI_Msg_string"}


def run(operation, **variables):
    result = subprocess.run([LAPIRUN, "-n", "2", PROGRAM, operation], capture_output=True, text=True, timeout=60,
                            stdin=subprocess.DEVNULL, env={**ENVIRONMENT, **variables})
    return result, result.stdout.strip()


class WrongAddress(unittest.TestCase):
    def check(self, operation, pattern, **variables):
        with self.subTest(operation):
            result, address = run(operation, **variables)
            self.assertEqual(result.returncode, 128 + 11, result.stderr)
            self.assertRegex(address, "^0x[0-9a-f]+$")
            text = "openlapi: " + pattern.replace("{}..", address[:-2] + "[0-9a-f]{2}").replace("{}", address) + "\n"
            self.assertRegex(result.stderr, text)

    def check_all(self, **variables):
        for operation, text in AT_THE_TARGET.items():
            self.check(operation, CARRIED_OUT + text, **variables)
        for operation, text in AT_THE_ORIGIN.items():
            in_call = text.startswith("in its own")
            self.check("own-" + operation, ("task 0: memory fault at {} " if in_call else "") + text, **variables)

    def check_counters(self, **variables):
        for operation, text in COUNTERS_AT_THE_TARGET.items():
            self.check("counter-" + operation, CARRIED_OUT + COUNTED.format(text), **variables)
        for operation in "completed-message", "long-completed-message":
            self.check("counter-" + operation, CARRIED_OUT + COMPLETED, **variables)
        for operation, text in COUNTERS_AT_THE_ORIGIN.items():
            self.check("own-counter-" + operation, text + "( (to|from) 0x[0-9a-f]+)?, origin counter {}", **variables)

    def check_null(self, **variables):
        for operation, length in ("null-put", "8 bytes"), ("long-null-put", LONG):
            result, _ = run(operation, **variables)
            self.assertEqual(result.returncode, 128 + 11, (operation, result.stderr))
            self.assertRegex(result.stderr, "task 1: memory fault at 0x[0-9a-f]+ while it carries out for task 0: "
                             f"LAPI_Put of {length} to 0x0\n")

    def test_counters_over_shared_memory(self):
        self.check_counters(LAPI_USE_SHM="only")

    def test_counters_over_udp(self):
        self.check_counters(LAPI_USE_SHM="no")

    def test_puts_to_null(self):
        for shared_memory in "only", "no":
            self.check_null(LAPI_USE_SHM=shared_memory)

    def test_an_index_that_is_not_registered(self):
        result, _ = run("unregistered")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("openlapi: task 1: error 409: The header handler is NULL, or its index is not registered at the "
                      "target: the message names index 77 (task 0)\n", result.stderr)

    def test_over_shared_memory(self):
        self.check_all(LAPI_USE_SHM="only")

    def test_over_udp(self):
        self.check_all(LAPI_USE_SHM="no")

    def test_with_itself(self):
        for operation, call in WITH_ITSELF.items():
            self.check("self-" + operation, "task 0: memory fault at {}.. in its own " + call)

    def test_of_what_is_no_data(self):
        for operation, call in WITHOUT_DATA.items():
            self.check("own-" + operation, "task 0: memory fault at {} in its own " + call)

    def test_in_handlers(self):
        for variables in {"LAPI_USE_SHM": "only"}, {"LAPI_USE_SHM": "no"}:
            self.check("handler", IN_HANDLER + "LAPI_Amsend of 8 bytes, header handler 0x2", **variables)
            self.check("no-handler", IN_HANDLER + "LAPI_Amsend of 8 bytes, header handler {}", **variables)
            self.check("reply", "task 1: memory fault at {} in its own LAPI_Put", **variables)

    def test_with_checked_arguments(self):
        self.check("put", CARRIED_OUT + AT_THE_TARGET["put"], OPENLAPI_ERROR_CHK="yes")

    def test_where_programs_are_looked_at(self):
        """Its handler of the faults that this is about came first."""
        for variables in {"LAPI_USE_SHM": "only"}, {"LAPI_USE_SHM": "no"}:
            variables["LAPI_VERIFY_DGSP"] = "yes"
            self.check("verified-put", CARRIED_OUT + AT_THE_TARGET["put"], **variables)
            self.check("verified-own-put", "task 0: memory fault at {} in its own LAPI_Put", **variables)

    def test_of_the_programs_own_fault_it_says_nothing(self):
        result, _ = run("own-crash")
        self.assertEqual(result.returncode, 128 + 11, result.stderr)
        self.assertNotIn("memory fault", result.stderr)

    def test_it_can_be_turned_off(self):
        for operation in "put", "own-put":
            result, _ = run(operation, OPENLAPI_EXPLAIN_FAULTS="no")
            self.assertEqual(result.returncode, 128 + 11, result.stderr)
            self.assertNotIn("memory fault", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
