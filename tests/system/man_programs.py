#!/usr/bin/env python3
"""The programs that the man pages, README.md and the pages that it names print: each compiles as it stands, without a warning, and ends well as a job of two.

    man_programs.py LAPIRUN PROGRAM_DIRECTORY [test...]      (API_LIBRARY: liblapi.so, API_SOURCE: the source tree)

A case is a page. Every page of a call (section 3) has to have a program; those of section 7 may. The
tutorial's also run as other jobs, print what the page says they print, and do not mind in what order puts arrive.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types

from api_jobs import expect, expect_equal, run_tests

LIBRARY = pathlib.Path(os.environ["API_LIBRARY"])
SOURCE = pathlib.Path(os.environ["API_SOURCE"])
FOLDER = pathlib.Path(__file__).parent
PAGES = SOURCE / "deploy/man"
README = SOURCE / "README.md"
TUTORIAL = PAGES / "man7/lapi-tutorial.7"
EXAMPLE = re.compile(r"^\.EX\n(.*?)^\.EE$", re.S | re.M)
MAIN = re.compile(r"^ *int main\(", re.M)
PRINTED = re.compile(r"^With four tasks it prints, in any order:\n\.PP\n$", re.M)
INDENTED = re.compile(r"(?:^ {4}.*\n|^\n(?= {4}))+", re.M)  # in documents
# What stands for a character in a page, and what stands for nothing.
ESCAPES = {r"\e": "\\", r"\-": "-", r"\&": "", r"\(aq": "'", r"\(ga": "`", r"\(ha": "^", r"\(ti": "~"}


def plain(text):
    """What a reader sees of an example and can copy."""
    def character(escape):
        expect(escape[0] in ESCAPES, f"unknown escape {escape[0]}")
        return ESCAPES[escape[0]]
    expect(not re.search(r"(?<!\\)-", text), "a - that is not \\- is printed as a hyphen, which no compiler takes")
    return re.sub(r"\\(?:\(..|.)", character, text)


def documents():
    """README.md and all that it names: what stood in one of them may stand in another tomorrow."""
    return [README, *(SOURCE / name for name in sorted(set(re.findall(r"`([\w/]+\.md)`", README.read_text(encoding="utf-8")))))]


def title_of(page):
    return str(page.relative_to(SOURCE)) if page.suffix == ".md" else page.name


def programs_of(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        return [example for example in INDENTED.findall(text) if MAIN.search(example)]
    return [plain(example) for example in EXAMPLE.findall(text) if MAIN.search(example)]


def compiler_of(text):
    if "<lapi.hpp>" in text:
        return ["c++", "-std=c++20", "-x", "c++"]
    return ["cc", "-x", "c"]


def compile_program(text, program, *more):
    command = [*compiler_of(text), "-", *more, "-Wall", "-Wextra", "-Werror", f"-I{SOURCE / 'api/include'}",
               f"-L{LIBRARY.parent}",
               f"-Wl,-rpath,{LIBRARY.parent}", "-llapi", "-pthread", "-o", program]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=100)
    expect_equal(done.returncode, 0, f"compiling\n{done.stderr}")


def expect_the_habits_of_new_programs(text):
    """All functions, which lapi.hpp asks for itself, and wrong arguments reported: who copies an example is to have both."""
    expect("ERROR_CHK" in text, f"ERROR_CHK is missing in\n{text}")
    expect("<lapi.hpp>" in text or "LAST_LIB" in text, f"LAST_LIB is missing in\n{text}")


def test_of(page):
    def test(jobs):
        programs = programs_of(page)
        expect(programs, "no example has a main()")
        with tempfile.TemporaryDirectory(prefix="openlapi-man-") as folder:
            for number, text in enumerate(programs):
                expect_the_habits_of_new_programs(text)
                program = os.path.join(folder, str(number))
                compile_program(text, program)
                for shared in ("only", "no"):
                    result = jobs.launch(2, [program], LAPI_USE_SHM=shared)
                    expect_equal(result.status, 0, f"program {number} with LAPI_USE_SHM={shared}\n{result}")
    test.title = title_of(page)
    return test


def outputs_of(page):
    """What each program of a page prints, or None where the page does not say: it stands in the example behind it."""
    outputs, between = [], 0
    text = page.read_text(encoding="utf-8")
    for example in EXAMPLE.finditer(text):
        if MAIN.search(example.group(1)):
            outputs.append(None)
        elif PRINTED.search(text[between:example.start()]):
            outputs[-1] = sorted(plain(example.group(1)).splitlines())
        between = example.end()
    return outputs


def test_the_tutorials_programs_do_what_it_says(jobs):
    outputs = outputs_of(TUTORIAL)
    expect(any(outputs), "the page says of no program what it prints")
    with tempfile.TemporaryDirectory(prefix="openlapi-man-") as folder:
        program = os.path.join(folder, "program")
        for text, output in zip(programs_of(TUTORIAL), outputs, strict=True):
            compile_program(text, program)
            for tasks in (1, 3, 4):
                result = jobs.launch(tasks, [program])
                expect_equal(result.status, 0, f"{tasks} tasks of\n{text}\n{result}")
            if output:
                expect_equal(sorted(result.out.splitlines()), output, f"what is printed by\n{text}")


def test_the_halo_exchange_needs_no_order_of_puts(jobs):
    with tempfile.TemporaryDirectory(prefix="openlapi-man-") as folder:
        program = os.path.join(folder, "program")
        compile_program(programs_of(TUTORIAL)[-1], program, str(FOLDER / "late_puts.c"))
        result = jobs.launch(2, [program])
        expect_equal(result.status, 0, result)


def main():
    pages = sorted(PAGES.glob("man3/LAPI_*.3"))
    pages += [page for page in sorted(PAGES.glob("man7/*.7")) if MAIN.search(page.read_text(encoding="utf-8"))]
    pages += [page for page in documents() if programs_of(page)]
    tests = {f"test_{title_of(page)}": test_of(page) for page in pages}
    tests |= {test.__name__: test for test in (test_the_tutorials_programs_do_what_it_says,
                                               test_the_halo_exchange_needs_no_order_of_puts)}
    return run_tests(types.SimpleNamespace(**tests), sys.argv[1], sys.argv[2], sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
