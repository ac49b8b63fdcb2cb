#!/usr/bin/env python3
"""The reasons of survivors: read, applied, and asked for when nothing needs them; and those of this tree can be read."""
import pathlib
import tempfile
import unittest

import survivor_reasons


class Reasons(unittest.TestCase):
    def load(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "poller.tsv").write_text(text, encoding="utf-8")
            return survivor_reasons.load(folder)

    def test_the_whole_name_without_its_line_is_compared(self):
        judge = survivor_reasons.Judge(self.load("poller.cc\tstatement removed:leave\\(\\);\tleaves later\n"))
        self.assertEqual(judge.reason("dataplane/poller/poller.cc", "17:statement removed:leave();"), "leaves later")
        self.assertIsNone(judge.reason("dataplane/poller/poller.cc", "17:statement removed:leave(); // now"))
        self.assertIsNone(judge.reason("dataplane/poller/poller.h", "17:statement removed:leave();"))

    def test_a_reason_that_nothing_needs_is_named(self):
        judge = survivor_reasons.Judge(self.load("a.cc\tx\tone\na.cc\ty\ttwo\n"))
        judge.reason("dataplane/poller/a.cc", "1:y")
        self.assertEqual([reason.why for reason in judge.unused()], ["one"])

    def test_a_wrong_line_is_named(self):
        with self.assertRaisesRegex(ValueError, "poller.tsv:2: 2 words between tabs"):
            self.load("# a comment\na.cc\tx\n")
        with self.assertRaisesRegex(ValueError, "poller.tsv:1: the mistake is no regular expression"):
            self.load("a.cc\t(\twhy\n")

    def test_the_tree_has_reasons_that_can_be_read(self):
        here = pathlib.Path(__file__).resolve().parent
        sources = {reason.source for reason in survivor_reasons.load(here / "survivors")}
        missing = [source for source in sources if not any((here.parents[1] / place / source).exists()
                                                           for place in ("dataplane", "."))]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
