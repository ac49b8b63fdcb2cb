#!/usr/bin/env python3
"""lapif.h against lapi.h: every constant has the same value, every derived type the size and the fields of C's; and
lapif(7), the page of both, against lapi.h.

    header_test.py HEADER_FOLDER MAN_PAGE_FOLDER GFORTRAN CC

Both compilers are asked: a program of one half in Fortran and one in C compares what the headers say.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from narrow_programs import narrow_command  # noqa: E402

HEADERS, GFORTRAN, CC = pathlib.Path(sys.argv[1]), sys.argv[3], sys.argv[4]
FORTRAN = (HEADERS / "lapif.h").read_text(encoding="utf-8")
C = (HEADERS / "lapi.h").read_text(encoding="utf-8")
PAGE = (pathlib.Path(sys.argv[2]) / "man7" / "lapif.7").read_text(encoding="utf-8")

# Types that are not called in C as in Fortran, in lower case.
NAMED_OTHERWISE = {"RMW_OPS_T": "RMW_ops_t", "LAPI_MSG_STATE_T": "lapi_msg_info_t", "LAPI_ADDR_T": "void*"}
POINTERS = {"COMPL_HNDLR_T", "SCOMPL_HNDLR_T", "HDR_HNDLR_T", "VHDR_HNDLR_T", "DDM_FUNC_T"}
# Fields that C does not have, by these names: holes, and the room in a union.
ONLY_FORTRAN = {"pad", "pad2", "pad32", "fields", "val", "addr"}
ONLY_FORTRAN_CONSTANTS = ("LAPI_WORD_SIZE", "LAPI_ADDR_TYPE", "LAPI_LONG_", "LAPI_PAD", "LAPI_HALVES")
# Not constants of the guide, or none that a Fortran program could use.
ONLY_C = re.compile(r"LAPI_H|LAPI_PUBLIC|LAPI_ALIGN_8|OPENLAPI_.*|LAPI_NULL_THREAD_ID|LAPI_ADDR_NULL")


def fortran_constants():
    return re.findall(r"^ +integer(?:\(kind=8\))?, *parameter *:: *(\w+)", FORTRAN, re.MULTILINE) + ["LAPI_MAX_MSG_SZ"]


def c_constants():
    enumerators = [name for body in re.findall(r"enum\s*\{(.*?)\}", C, re.DOTALL)
                   for name in re.findall(r"(?:^|,)\s*(\w+)\s*=", body, re.MULTILINE)]
    macros = re.findall(r"^#define (\w+)(?= )", C, re.MULTILINE)
    return {name for name in enumerators + macros if not ONLY_C.fullmatch(name)}


def fortran_types():
    """Name -> fields, as lapif.h declares them."""
    types = {}
    for name, body in re.findall(r"^ +type (\w+)\n +sequence\n(.*?) +end type", FORTRAN, re.MULTILINE | re.DOTALL):
        lines = [line.split("::")[-1] if "::" in line else line.split(")", 1)[1] for line in body.splitlines()]
        types[name] = [field.split("(")[0].strip() for line in lines for field in line.split(",")]
    return types


def compared_fields(name, fields):
    return [field for field in fields if field not in ONLY_FORTRAN and name not in POINTERS]


def names_and_numbers():
    """What both programs report, in this order: (name, expression in Fortran, expression in C)."""
    for name in fortran_constants():
        if not name.startswith(ONLY_FORTRAN_CONSTANTS):
            yield name, f"int({name}, 8)", name
    for number, (name, fields) in enumerate(fortran_types().items()):
        c_name = NAMED_OTHERWISE.get(name, name.lower()) + ("*" if name in POINTERS else "")
        yield name, f"sizeof(v{number})", f"sizeof({c_name})"
        for field in compared_fields(name, fields):
            yield f"{name}.{field}", f"loc(v{number}%{field}) - loc(v{number})", f"offsetof({c_name}, {field})"
            yield f"size of {name}.{field}", f"sizeof(v{number}%{field})", f"sizeof((({c_name}*)0)->{field})"


def fortran_program(count):
    lines = ["subroutine report(numbers)", "implicit none", "include 'lapif.h'", f"integer(kind=8) :: numbers({count})"]
    lines += [f"type({name}), target :: v{number}" for number, name in enumerate(fortran_types())]
    lines += [f"numbers({at}) = {value}" for at, (_, value, _) in enumerate(names_and_numbers(), 1)]
    return "\n".join([*lines, "end subroutine", ""])


def c_program(count):
    """Prints each name with C's number and Fortran's, where they differ; the count of what was compared."""
    lines = ["#define LAPI_SIZE_LIMITS", "#include <lapi.h>", "#include <stdio.h>", "void report_(long long*);",
             "static const char* names[] = {"]
    lines += [f'"{name}",' for name, _, _ in names_and_numbers()]
    lines += ["};", "static const long long of_c[] = {"]
    lines += [f"(long long)({value})," for _, _, value in names_and_numbers()]
    lines += ["};", "int main(void) {", f"static long long of_fortran[{count}]; int at;", "report_(of_fortran);",
              f"for (at = 0; at < {count}; ++at) if (of_c[at] != of_fortran[at])",
              'printf("%s: %lld in C, %lld in Fortran\\n", names[at], of_c[at], of_fortran[at]);',
              f'puts("{count} compared"); return 0;', "}", ""]
    return "\n".join(lines)


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}:\n{done.stderr}{done.stdout}"
    return done.stdout


def compiles(compiler, option, suffix, text):
    with tempfile.TemporaryDirectory(prefix="openlapi-header-") as folder:
        source = pathlib.Path(folder) / ("program" + suffix)
        source.write_text(text, encoding="utf-8")
        command = [compiler, option, source, "-o", source.with_suffix(".out")]
        return subprocess.run(command, capture_output=True, timeout=120).returncode == 0


class HeaderTest(unittest.TestCase):
    maxDiff = None

    def test_every_constant_of_c_is_there(self):
        self.assertGreater(len(c_constants()), 200)
        self.assertEqual(c_constants() - set(fortran_constants()), set())

    def check_values(self, word_option, header_text, command_of):
        """Builds both halves for one word size. Nothing of Fortran's libraries is needed."""
        count = len(list(names_and_numbers()))
        self.assertGreater(count, 500)
        with tempfile.TemporaryDirectory(prefix="openlapi-header-") as name:
            folder = pathlib.Path(name)
            (folder / "lapif.h").write_text(header_text, encoding="utf-8")
            (folder / "report.f90").write_text(fortran_program(count), encoding="utf-8")
            (folder / "main.c").write_text(c_program(count), encoding="utf-8")
            run(GFORTRAN, word_option, "-ffree-line-length-none", f"-I{folder}", "-c", folder / "report.f90", "-o",
                folder / "report.o")
            run(CC, word_option, f"-I{HEADERS}", folder / "main.c", folder / "report.o", "-o", folder / "main")
            self.assertEqual(run(*command_of(folder / "main")).splitlines(), [f"{count} compared"])

    def test_values_sizes_and_fields_are_those_of_c(self):
        self.check_values("-m64", FORTRAN, lambda program: [program])

    @unittest.skipUnless(compiles(CC, "-m32", ".c", "#include <stdio.h>\nint main(void) { return 0; }\n"),
                         "no compiler for 32-bit programs")
    def test_values_sizes_and_fields_are_those_of_c_in_32_bits(self):
        narrow = FORTRAN.replace("LAPI_WORD_SIZE = 8", "LAPI_WORD_SIZE = 4")
        self.assertNotEqual(narrow, FORTRAN)
        self.check_values("-m32", narrow, narrow_command)

    def test_every_structure_of_c_is_there(self):
        structures = set(re.findall(r"^\} (lapi_\w+);", C, re.MULTILINE)) | {"lapi_dgsp_descr_t"}
        enumerations = {name for _, name in re.findall(r"^typedef enum( \w+)? \{[^}]*\} (\w+);", C, re.MULTILINE)}
        missing = {name for name in structures - enumerations if name.upper() not in fortran_types()}
        self.assertEqual(missing, set())

    def test_the_page_has_every_call(self):
        calls = {name.upper() for name in re.findall(r"LAPI_PUBLIC int (LAPI_\w+)\(", C)}
        self.assertEqual(set(re.findall(r"^(LAPI_\w+)\(.*ierror\)$", PAGE, re.MULTILINE)), calls)

    def test_it_compiles_in_both_forms_without_warnings(self):
        strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-parameter", "-std=f2008"]
        program = "      program header\n      implicit none\n      include 'lapif.h'\n      end program\n"
        with tempfile.TemporaryDirectory(prefix="openlapi-header-") as folder:
            for suffix in (".f90", ".f"):
                source = pathlib.Path(folder) / ("header" + suffix)
                source.write_text(program, encoding="utf-8")
                run(GFORTRAN, *strict, f"-I{HEADERS}", "-fsyntax-only", source)

    def test_no_line_is_too_long_for_fixed_form(self):
        self.assertEqual([line for line in FORTRAN.splitlines() if len(line) > 72], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
