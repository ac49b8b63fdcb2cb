#!/usr/bin/env python3
"""What switched_source.py makes of small sources; and that with no mistake chosen, or with one, the compiler's program
does what the source that is changed by hand would."""
import pathlib
import subprocess
import tempfile
import unittest

import switched_source

SOURCE = """\
#include <vector>
namespace {
constexpr int kFour = 4;
struct Counter {
  int value = 3;
  bool reached(int bound) const { return value >= bound; }
};
}  // namespace
bool is_between(int a, int b, int c) {
  if (a < b && b < c) [[unlikely]] {
    return true;
  }
  return false;
}
int sum(const std::vector<int>& all) {
  int total = 0;
  for (std::size_t i = 0; i < all.size(); ++i) total += i < 9 ? all[i] : 0;
  return total < 0 ? -1 : total - kFour;
}
"""
MAIN = """
#include <cstdio>
#include <cstdlib>
int main(int, char** texts) {
  mutants::chosen = std::atoi(texts[1]);
  std::printf("%d %d %d %d\\n", is_between(1, 2, 3), is_between(1, 2, 2), sum({5, 2, 3}), Counter().reached(3));
}
"""


def mutants_of(source):
    return switched_source.Source(source).mutants()


class SwitchedSource(unittest.TestCase):
    def shown(self, line):
        return [(mutant.kind, mutant.shown) for mutant in mutants_of(SOURCE) if mutant.line == line]

    def test_what_is_changed(self):
        self.assertEqual(self.shown(10), [
            ("condition negated", "a < b && b < c"), ("operator swapped", "a < b && b < c [&& -> ||]"),
            ("operator swapped", "a < b [< -> <=]"), ("operator swapped", "b < c [< -> <=]")])
        self.assertEqual(self.shown(11), [("answer turned round", "return true")])
        self.assertEqual(self.shown(5), [("constant off by one", "int value = [3 -> 4];")])
        for mistake in (("statement removed", "total += i < 9 ? all[i] : 0;"), ("condition negated", "i < 9"),
                        ("operator swapped", "total += i < 9 ? all[i] : 0 [+= -> -=]")):
            self.assertIn(mistake, self.shown(17))
        self.assertIn(("condition negated", "total < 0"), self.shown(18))

    def test_what_the_compiler_needs_stays(self):
        self.assertEqual(self.shown(3), [])
        for source in ("static_assert(1 + 1 == 2);\n", "enum class E { a = 1, b = 2 };\n", "#define X (1 + 1)\n",
                       "template <int n = 3> struct A {};\n", "struct A { virtual int f() = 0; };\n",
                       "void f() { OPENLAPI_CHECK(a < 3); }\n", "void f() { const char* text = \"a + 1\"; }\n"):
            self.assertEqual(mutants_of(source), [], source)

    def test_declarations_are_no_statements(self):
        for words in ("std::vector<int> x(3);", "Held& held = all[2];", "void (*f)(int) = g;", "int a;"):
            kinds = [mutant.kind for mutant in mutants_of(f"void f() {{\n  {words}\n}}\n")]
            self.assertNotIn("statement removed", kinds, words)

    def test_each_mistake_and_none(self):
        """Of each kind of mistake what the changed program prints."""
        mutants = list(enumerate(mutants_of(SOURCE), 1))
        text, ranges = switched_source.switched(SOURCE, mutants)
        self.assertEqual(text.count("\n"), SOURCE.count("\n"))
        for (number, mutant), (begin, end) in zip(mutants, ranges):
            self.assertIn(f"({number}", text[begin:end], mutant.name)
        with tempfile.TemporaryDirectory() as folder:
            program, source = pathlib.Path(folder) / "program", pathlib.Path(folder) / "source.cc"
            source.write_text(text + MAIN, encoding="utf-8")
            switch = pathlib.Path(__file__).resolve().parent / "mutant_switch.h"
            subprocess.run(["c++", "-std=c++20", "-w", "-include", switch, source, "-o", program], check=True)
            run = lambda number: subprocess.run([program, str(number)], stdout=subprocess.PIPE, text=True,
                                                check=True).stdout.strip()
            self.assertEqual(run(0), "1 0 6 1")
            numbers = {f"{mutant.kind}:{mutant.shown}": number for number, mutant in mutants}
            for mistake, printed in (("condition negated:a < b && b < c", "0 1 6 1"),
                                     ("operator swapped:a < b && b < c [&& -> ||]", "1 1 6 1"),
                                     ("operator swapped:b < c [< -> <=]", "1 1 6 1"),
                                     ("answer turned round:return true", "0 0 6 1"),
                                     ("constant off by one:int value = [3 -> 4];", "1 0 6 1"),
                                     ("operator swapped:value >= bound [>= -> >]", "1 0 6 0"),
                                     ("operator swapped:total += i < 9 ? all[i] : 0 [+= -> -=]", "1 0 -1 1"),
                                     ("statement removed:total += i < 9 ? all[i] : 0;", "1 0 -4 1"),
                                     ("operator swapped:total - kFour [- -> +]", "1 0 14 1")):
                self.assertEqual(run(numbers[mistake]), printed, mistake)


if __name__ == "__main__":
    unittest.main()
