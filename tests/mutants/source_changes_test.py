#!/usr/bin/env python3
"""What source_changes.py makes of a small source, and what it leaves alone."""
import unittest

import source_changes

SOURCE = """\
#include <a.h>  // 7
int f(int a) {
  if (a < 12 && ready()) {  // if (x)
    count += 2;
    return true;
  }
  const char* text = "1 + 1";
  call(a);
}
"""


class Changes(unittest.TestCase):
    def of_line(self, number):
        return [(change.kind, change.after.strip()) for change in source_changes.changes_of(SOURCE)
                if change.line == number]

    def test_a_condition_and_what_is_in_it(self):
        self.assertEqual(self.of_line(3), [
            ("condition negated", "if (!(a < 12 && ready())) {  // if (x)"),
            ("constant off by one", "if (a < 13 && ready()) {  // if (x)"),
            ("operator swapped", "if (a <= 12 && ready()) {  // if (x)"),
            ("operator swapped", "if (a < 12 || ready()) {  // if (x)")])

    def test_a_statement(self):
        self.assertEqual(self.of_line(4), [
            ("constant off by one", "count += 3;"), ("operator swapped", "count -= 2;"), ("statement removed", ";")])
        self.assertEqual(self.of_line(8), [("statement removed", ";")])

    def test_an_answer(self):
        self.assertEqual(self.of_line(5), [("answer turned round", "return false;")])

    def test_comments_texts_and_directives_stay(self):
        for line in (1, 2, 7):
            self.assertEqual(self.of_line(line), [])

    def test_a_change_is_applied_to_its_line_alone(self):
        change = next(change for change in source_changes.changes_of(SOURCE) if change.line == 8)
        changed = source_changes.apply(SOURCE, change)
        self.assertEqual(changed, SOURCE.replace("  call(a);", "  ;"))
        with self.assertRaises(ValueError):
            source_changes.apply(changed, change)


if __name__ == "__main__":
    unittest.main()
