#!/usr/bin/env python3
"""Checks that the tables of tests/system/README.md are complete and name cases that there are.

usage: check_tables.py SOURCE_ROOT
       check_tables.py --self-test SOURCE_ROOT

Every code of every call's comment in lapi.h, every variable of api/wiring/environment.cc and nic/modules, every query
of LAPI_Qenv and every field of lapi_info_t and lapi_return_info_t has a row. A row says `program`: title of each case, separated by
semicolons, or "never: why"; "no test" is refused. In failover.md it may also say "not yet: what" or "bed: which". A case that is to show a code has to be of a program in which the code
is written, or in a header of this folder that it includes.
With --self-test things are taken out of the table and put into it, and each has to be found.
"""

import pathlib
import re
import sys

README = pathlib.Path("tests/system/README.md")
CHAPTER = pathlib.Path("tests/system/failover.md")
CALL = re.compile(r"/\*((?:(?!\*/).)*)\*/\nLAPI_PUBLIC int (LAPI_\w+)\(", re.S)
ERROR_IN_COMMENT = re.compile(r"^ \*   (LAPI_ERR_\w+|E[A-Z]+)\s", re.M)
VARIABLE = re.compile(r'"((?:MP|LAPI|OPENLAPI)_[A-Z_]+)"')
CASE = re.compile(r"`([\w./]+)`: (.+)")
EXCUSE = re.compile(r"never: \S+(?: \S+)+")
CHAPTER_EXCUSE = re.compile(r"(?:not yet|bed): .*")
OWN_HEADER = re.compile(r'^#include "(tests/system/\w+\.h)"', re.M)
TITLES = {
    ".cc": [re.compile(r'\brun\(\s*\(?"([^"]*)"'), re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", re.M)],
    ".py": [re.compile(r"^ *def test_(\w+)\(", re.M)],
}
# First heading of a table, and how many columns of cases follow the first.
TABLES = {
    "variable": 2,
    "attribute": 1,
    "field of lapi_info_t": 1,
    "field of lapi_return_info_t": 1,
}


class Program:
    """A test program: its source and the titles of its cases."""

    def __init__(self, path, root):
        self.source = path.read_text()
        self.with_headers = self.source + read_headers(root, self.source, set())
        self.titles = set()
        for pattern in TITLES[path.suffix]:
            for found in pattern.finditer(self.source):
                title = ".".join(found.groups())
                self.titles.add(title.replace("_", " ") if path.suffix == ".py" else title)

    def has(self, title):
        # A title that ends with a blank goes on with a number.
        return any(title == known or (known.endswith(" ") and title.startswith(known)) for known in self.titles)

    def names(self, code):
        name = code.removeprefix("LAPI_ERR_")
        return re.search(rf"\b(?:LAPI_ERR_)?{name}\b", self.with_headers) is not None


def read_headers(root, source, seen):
    """The headers of this folder that a source includes, and those that these include."""
    text = ""
    for name in OWN_HEADER.findall(source):
        if name not in seen:
            seen.add(name)
            header = (root / name).read_text()
            text += header + read_headers(root, header, seen)
    return text


def read_programs(root):
    """By the name that the tables use: api_sync, api_faults.py, unit/api/environment_test."""
    programs = {}
    for path in sorted((root / "tests").rglob("*_test.cc")) + sorted((root / "tests/system").glob("*.*")):
        if path.suffix not in TITLES:
            continue
        folder = path.relative_to(root / "tests").parent
        name = path.name if path.suffix == ".py" else path.stem
        programs[name if str(folder) == "system" else f"{folder}/{name}"] = Program(path, root)
    return programs


def split_names(cell):
    return [name.strip() for name in cell.split(",") if name.strip()]


def full_code(name):
    return name if re.fullmatch(r"LAPI_ERR_\w+|E[A-Z]+", name) else "LAPI_ERR_" + name


def read_tables(text):
    """The rows of every table, by its first heading."""
    tables, heading = {}, None
    for line in text.splitlines():
        if not line.startswith("|"):
            heading = None
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if heading is None:
            heading = cells[0]
            tables.setdefault(heading, [])
        elif not set(line) <= set("|-"):
            tables[heading].append(cells)
    return tables


def check_cases(programs, where, cell, codes=()):
    if EXCUSE.fullmatch(cell):
        return
    shown_by = []
    for part in cell.split("; "):
        found = CASE.fullmatch(part)
        if not found:
            yield f"{where}: '{part}' is neither `program`: title nor a reason"
            continue
        name, title = found.groups()
        if name not in programs:
            yield f"{where}: there is no program {name}"
        elif not programs[name].has(title):
            yield f"{where}: {name} has no case '{title}'"
        else:
            shown_by.append(programs[name])
    for code in codes:
        if shown_by and not any(program.names(code) for program in shown_by):
            yield f"{where}: no program of '{cell}' has {code}"


def check_codes(header, rows, programs):
    """Rows of calls, codes and cases; an empty first cell means the calls of the row above."""
    wanted = {(call, code) for comment, call in CALL.findall(header) for code in ERROR_IN_COMMENT.findall(comment)}
    declared = {call for call, _ in wanted}
    if not declared:
        yield "no call found in lapi.h"
    seen, calls = set(), []
    for cells in rows:
        if len(cells) != 3:
            yield f"a row of return codes has {len(cells)} columns: {' | '.join(cells)}"
            continue
        calls = split_names(cells[0]) or calls
        codes = [full_code(name) for name in split_names(cells[1])]
        for call in calls:
            pairs = {(call, code) for code in codes}
            if call != "error handler":
                yield from (f"lapi.h does not say that {call} returns {code}" for _, code in sorted(pairs - wanted))
            elif unknown := [code for code in codes if f"#define {code} " not in header]:
                yield f"lapi.h does not define {', '.join(unknown)}"
            seen |= pairs
        yield from check_cases(programs, f"{', '.join(calls)}: {cells[1]}", cells[2], codes)
    yield from (f"{call} has no row for {code}" for call, code in sorted(wanted - seen))


def check_names(kind, wanted, rows, programs):
    if not wanted:
        yield f"no {kind} found in the sources"
    seen = set()
    for cells in rows:
        names = split_names(cells[0])
        seen |= set(names)
        yield from (f"there is no {kind} {name}" for name in names if name not in wanted)
        if len(cells) != 1 + TABLES[kind]:
            yield f"{kind} {cells[0]} has {len(cells)} columns"
        for cell in cells[1:]:
            yield from check_cases(programs, f"{kind} {cells[0]}", cell)
    yield from (f"{kind} {name} has no row" for name in sorted(wanted - seen))


def check_chapter(text, programs):
    """The rows of sentences of a chapter of the guide."""
    rows = read_tables(text).get("sentence", [])
    if not rows:
        yield f"{CHAPTER} has no sentences"
    for cells in rows:
        if len(cells) != 2:
            yield f"sentence '{cells[0]}' has {len(cells)} columns"
            continue
        for part in [cells[1]] if EXCUSE.fullmatch(cells[1]) else cells[1].split("; "):
            if not CHAPTER_EXCUSE.fullmatch(part):
                yield from check_cases(programs, f"sentence '{cells[0]}'", part)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def fields_of(header, structure):
    start = header.rindex("typedef struct {", 0, header.index("} " + structure + ";"))
    body = header[start:header.index("} " + structure + ";", start)]
    return set(re.findall(r"(\w+);", without_comments(body)))


def queries_of(header):
    body = header[header.rindex("typedef enum {", 0, header.index("} lapi_query_t;")):header.index("} lapi_query_t;")]
    return set(re.findall(r"^ *(\w+) = \d+", without_comments(body), re.M)) - {"LAST_QUERY"}


def check(root, text):
    header = (root / "api/include/lapi.h").read_text()
    programs = read_programs(root)
    tables = read_tables(text)
    wanted = {
        "variable": {name for source in [root / "api/wiring/environment.cc", *(root / "nic/modules").glob("*.h")]
                     for name in VARIABLE.findall(source.read_text())},
        "attribute": queries_of(header),
        "field of lapi_info_t": fields_of(header, "lapi_info_t"),
        "field of lapi_return_info_t": fields_of(header, "lapi_return_info_t"),
    }
    problems = [f"'{cell}' is no case; what cannot happen is 'never: why'"
                for rows in tables.values() for cells in rows for cell in cells if "no test" in cell]
    problems += list(check_codes(header, tables.get("call", []), programs))
    for kind, names in wanted.items():
        problems += check_names(kind, names, tables.get(kind, []), programs)
    return problems + list(check_chapter((root / CHAPTER).read_text(), programs))


def self_test(root, text):
    """What is replaced, by what, and a part of the complaint that has to follow."""
    get = "`api_errors`: LAPI_Get refuses wrong arguments"
    msgpoll = "| LAPI_Msgpoll | MSG_INFO_NULL"
    damages = [
        (msgpoll, "| LAPI_Msgpoll | CNTR_NULL", "LAPI_Msgpoll has no row for LAPI_ERR_MSG_INFO_NULL"),
        (msgpoll, msgpoll + ", TGT", "lapi.h does not say that LAPI_Msgpoll returns LAPI_ERR_TGT"),
        (get, "`api_errors`: LAPI_Get is wrong", "api_errors has no case"),
        (get, get.replace("api_errors", "api_error"), "there is no program api_error"),
        (get, "`api_sync`: LAPI_Probe makes progress", "has LAPI_ERR_TGT"),
        (get, "api_errors", "'api_errors' is neither"),
        ("never: the texts are part of the library", "never:", "'never:' is neither"),
        ("never: the texts are part of the library", "no test: too hard", "'no test: too hard' is no case"),
        ("never: it needs nothing", "no test", "'no test' is no case"),
        ("| MP_CHILD, MP_PROCS |", "| MP_CHILD |", "variable MP_PROCS has no row"),
        ("| MP_PARTITION |", "| MP_PARTITION, MP_PROC |", "there is no variable MP_PROC"),
        ("TIMEOUT, ERROR_CHK |", "TIMEOUT |", "attribute ERROR_CHK has no row"),
        ("| info6 |", "| epoch_num |", "field of lapi_info_t info6 has no row"),
        ("| msg_len, MAGIC,", "| msg_len,", "field of lapi_return_info_t MAGIC has no row"),
        ("| variable |", "| name |", "variable LAPI_USE_SHM has no row"),
        ("| call |", "| function |", "LAPI_Put has no row for LAPI_ERR_TGT"),
    ]
    problems = []
    for old, new, complaint in damages:
        if old not in text:
            problems.append(f"the tables do not have '{old}'")
        elif not any(complaint in problem for problem in check(root, text.replace(old, new))):
            problems.append(f"'{new}' in place of '{old}' was not found to be wrong")
    return problems


def main(arguments):
    run = check
    if arguments and arguments[0] == "--self-test":
        run = self_test
        arguments = arguments[1:]
    if len(arguments) != 1:
        sys.exit(__doc__)
    root = pathlib.Path(arguments[0])
    problems = run(root, (root / README).read_text())
    print("\n".join(problems) if problems else "no problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
