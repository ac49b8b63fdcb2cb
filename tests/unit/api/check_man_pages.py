#!/usr/bin/env python3
"""Checks that lapi.h, the boot service's headers and the man pages say the same, and that groff formats the
pages without a complaint.

usage: check_man_pages.py LAPI_H MAN_DIRECTORY BUILT_MAN_DIRECTORY [GROFF]
       check_man_pages.py --self-test LAPI_H MAN_DIRECTORY BUILT_MAN_DIRECTORY [GROFF]

Every call has a page in section 3 that declares it and its twin as lapi.h does, describes each parameter, and lists
exactly the errors of the call's comment in lapi.h; its twin's page refers to it; lapi.7 names the call. The fields of
lapi.h's structures are on pages of section 3. Every page of a command (section 1) has an example, and lapi.hpp.7 names
all of lapi.hpp. With --self-test copies of the pages are damaged, and each damage has to be found.
"""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

CALL = re.compile(
    r"/\*((?:(?!\*/).)*)\*/\nLAPI_PUBLIC int (LAPI_\w+)\(([^;]*)\);\nLAPI_PUBLIC int P(LAPI_\w+)\(([^;]*)\);", re.S)
ERROR_IN_COMMENT = re.compile(r"^ \*   (LAPI_ERR_\w+|E[A-Z]+)\s", re.M)
ERROR_IN_PAGE = re.compile(r"^\.TP\n\.B (LAPI_ERR_\w+|E[A-Z]+)$", re.M)
SECTIONS = [
    "NAME", "SYNOPSIS", "DESCRIPTION", "PARAMETERS", "THREADS AND BLOCKING", "RETURN VALUES", "NOTES", "EXAMPLES",
    "SEE ALSO",
]
FUNCTIONS_OF_PROGRAMS = [
    "LAPI_err_hdlr", "udp_init_hdlr", "hdr_hndlr_t", "vhdr_hndlr_t", "compl_hndlr_t", "scompl_hndlr_t", "ddm_func_t",
]


def section(page, name):
    found = re.search(r'^\.SH "?%s"?\n(.*?)(?=^\.SH |\Z)' % re.escape(name), page, re.S | re.M)
    return found.group(1) if found else ""


def as_printed(section_text):
    """The lines in bold: .BI puts its arguments together without a blank, so a blank that is missing shows."""
    lines = [shlex.split(line) for line in section_text.splitlines() if re.match(r"\.BI? ", line)]
    return "\n".join((" " if macro == ".B" else "").join(arguments) for macro, *arguments in lines)


def without_layout(declaration):
    return re.sub(r"\s*(\*+)\s*", r"\1", " ".join(declaration.split()))


def check_page(name, comment, declarations, parameters, page):
    for title in SECTIONS:
        if not section(page, title):
            yield f"{name}.3 has no section {title}"
    synopsis = without_layout(as_printed(section(page, "SYNOPSIS")))
    for declaration in declarations:
        if without_layout(declaration) not in synopsis:
            yield f"{name}.3 does not declare: {' '.join(declaration.split())}"
    for parameter in parameters:
        if f".I {parameter}\n" not in section(page, "PARAMETERS"):
            yield f"{name}.3 does not describe the parameter {parameter}"
    in_header = set(ERROR_IN_COMMENT.findall(comment))
    in_page = set(ERROR_IN_PAGE.findall(section(page, "RETURN VALUES")))
    for error in sorted(in_header - in_page):
        yield f"{name}.3 does not list {error}"
    for error in sorted(in_page - in_header):
        yield f"{name}.3 lists {error}, lapi.h does not"


def fields_of(body):
    """The names of each field; in a union of names for one field, any of them."""
    for union in re.findall(r"\bunion \{(.*?)\};", body, re.S):
        yield re.findall(r"(\w+);", union)
    for declaration in re.sub(r"\bunion \{.*?\};", "", body, flags=re.S).split(";"):
        name = re.search(r"\(\*(\w+)\)\(|(\w+)(?:\[\w+\])?\s*$", declaration)
        if name:
            yield [name.group(1) or name.group(2)]


def check_structures(header, man):
    """A page of section 3 names every field of lapi.h's structures, and every kind of function that a program gives."""
    pages = "\n".join(re.sub(r"\\f[BIPR]", "", page.read_text()) for page in sorted((man / "man3").glob("*.3")))
    code = re.sub(r"/\*.*?\*/|__extension__", "", header, flags=re.S)
    wanted = [(kind, [kind]) for kind in FUNCTIONS_OF_PROGRAMS]
    for tag, body, name in re.findall(r"^(?:typedef )?struct(?: (\w+))? \{\n(.*?)^\} ?(\w*);", code, re.M | re.S):
        wanted += [(f"{names[0]} of {name or tag}", names) for names in fields_of(body) if names != ["reserve"]]
    for what, names in wanted:
        if not re.search(rf"\b({'|'.join(names)})\b", pages):
            yield f"no page of section 3 names {what}"


def check_hpp(header_path, man):
    """lapi.hpp(7) names every type and function of the headers for C++ and every member function of Context."""
    header = "".join(file.read_text() for file in sorted(header_path.parent.glob("lapi*.hpp")))
    header = re.sub(r"^namespace detail \{.*?^\}  // namespace detail", "", header, flags=re.M | re.S)
    context = header[header.index("class Context {"):]
    context = context[:context.index("\n private:")]
    names = re.findall(r"^(?:struct|class|using) (\w+)", header, re.M)
    names += re.findall(r"^inline [\w:<>&* ]+? (\w+)\(", header, re.M)
    names += re.findall(r"^  (?! )[\w:<>&* ]+? ([a-z_]+)\(", context, re.M)
    page = re.sub(r"\\f[BIPR]", "", (man / "man7/lapi.hpp.7").read_text())
    for name in sorted(set(names)):
        if not re.search(rf"\b{name}\b", page):
            yield f"lapi.hpp.7 does not name {name}"


def check_codes(header_path, man):
    """LAPI_Msg_string(3) has the number, name and text of every code of lapi.h."""
    messages = (header_path.parents[1] / "arguments/messages.cc").read_text()
    texts = dict(re.findall(r'OPENLAPI_MESSAGE\(\s*(\w+),\s*"(.*)"\)', messages))
    page = (man / "man3/LAPI_Msg_string.3").read_text().replace(r"\-", "-")
    codes = re.findall(r"^#define (LAPI_(?:ERR|ATTENTION)_\w+) (\d+)$", header_path.read_text(), re.M)
    wanted = {f".TP 5\n{number}\n\\fB{name}\\fP: {texts.get(name)}\n" for name, number in codes}
    for entry in wanted ^ set(re.findall(r"^\.TP 5\n\d+\n.*\n", page, re.M)):
        yield f"LAPI_Msg_string.3 and the library differ in {entry!r}"


def check_most_tasks(header, man):
    """Wherever the number of tasks of a job is explained, its range is that of lapi.h."""
    most = re.search(r"^#define MAX_TASKS (\d+)$", header, re.M).group(1)
    for file, place in (("man1/lapirun.1", "Number of tasks, "), ("man7/lapi.7", ".B MP_PROCS\nNumber of tasks, ")):
        if f"{place}1 to {most}" not in (man / file).read_text():
            yield f"{file} does not say that a job has 1 to {most} tasks"


def check_asynchronous_cancellation(header, man):
    """lapi.h warns of it in the words of lapi(7)."""
    warning = r"Asynchronous cancellation is .*?\."
    in_page = re.search(warning, (man / "man7/lapi.7").read_text(), re.S)
    in_header = re.search(warning, re.sub(r"^ \*", "", header, flags=re.M), re.S)
    if not in_page or not in_header or in_page.group().split() != in_header.group().split():
        yield "lapi.h and lapi.7 do not say the same of asynchronous cancellation"


def whole_pages(man):
    """All pages but those that only refer to another."""
    return [page for page in sorted(man.glob("man*/*.[1-9]")) if not re.search(r"^\.so ", page.read_text(), re.M)]


def check_versions(header, man):
    version = re.search(r'^#define OPENLAPI_VERSION "(\S+)"$', header, re.M).group(1)
    for page in whole_pages(man):
        if f'"openlapi {version}"' not in page.read_text():
            yield f"{page.name} is not of version {version}"


def check_commands(man):
    for page in whole_pages(man):
        if page.suffix == ".1" and ".EX\n" not in section(page.read_text(), "EXAMPLES"):
            yield f"{page.name} has no example"


def formatting_complaints(groff, page):
    command = [groff, "-man", "-Tutf8", "-ww", "-z", str(page)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in (result.stdout + result.stderr).splitlines():
        yield f"{page.name}: {line}"


def check_ssi(root, man):
    """The page of each kind of modules names every function and variable of the kind's own headers."""
    for page, folder, headers in (("lam-ssi-boot.7", "control/boot/include", ("lam-ssi-boot.h", "boot.h")),
                                  ("lam-ssi-rpi.7", "api/rpi/include", ("lam-ssi-rpi.h", "mpisys.h", "rpisys.h"))):
        text = (man / "man7" / page).read_text()
        for header in headers:
            for declaration in re.findall(r"^LAM_SSI_PUBLIC ([^;]*?)(?:\(|;)", (root / folder / header).read_text(), re.M):
                name = re.search(r"\w+$", declaration).group()
                if not re.search(rf"^\.BI? .*\b{name}\b", text, re.M):
                    yield f"{page} does not describe {name} of {header}"


def check(header_path, man, groff):
    header = header_path.read_text()
    calls = CALL.findall(header)
    declared = set(re.findall(r"^LAPI_PUBLIC int (LAPI_\w+)\(", header, re.M))
    undocumented = sorted(declared - {call[1] for call in calls})
    problems = [f"{name} has no comment, or no twin behind it" for name in undocumented]
    if not calls:
        problems.append(f"no calls found in {header_path}")
    overview = man / "man7" / "lapi.7"
    overview_text = overview.read_text() if overview.exists() else ""
    for comment, name, parameter_list, twin, twins_list in calls:
        parameters = [re.search(r"(\w+)(\[\])?$", part.strip()).group(1) for part in parameter_list.split(",")]
        page = man / "man3" / f"{name}.3"
        twin_page = man / "man3" / f"P{name}.3"
        if twin != name:
            problems.append(f"the twin of {name} is called P{twin}")
        if not page.exists():
            problems.append(f"{name} has no page")
            continue
        declarations = [f"int {name}({parameter_list});", f"int P{name}({twins_list});"]
        problems += check_page(name, comment, declarations, parameters, page.read_text())
        if not twin_page.exists() or twin_page.read_text() != f".so man3/{name}.3\n":
            problems.append(f"P{name}.3 does not refer to {name}.3")
        if f".BR {name} (3)" not in overview_text:
            problems.append(f"lapi.7 does not name {name}")
    problems += check_ssi(header_path.parents[2], man)
    problems += check_commands(man)
    problems += check_structures(header, man)
    problems += check_hpp(header_path, man)
    problems += check_codes(header_path, man)
    problems += check_most_tasks(header, man)
    problems += check_asynchronous_cancellation(header, man)
    problems += check_versions(header, man)
    if groff:
        for page in whole_pages(man):
            problems += formatting_complaints(groff, page)
    return problems


def self_test(header_path, man, groff):
    """Each damage is a file, what to take out of it, and what to put there."""
    damages = [
        ("man3/LAPI_Put.3", ".B LAPI_ERR_TGT_ADDR_NULL", ".B LAPI_ERR_TGT_ADDR"),
        ("man3/LAPI_Get.3", ".I org_cntr\n", ".I counter\n"),
        ("man3/PLAPI_Rmw.3", "LAPI_Rmw.3", "LAPI_Rmw64.3"),
        ("man3/LAPI_Purge_totask.3", 'int LAPI_Purge_totask(lapi_handle_t "', 'int LAPI_Purge_totask(lapi_handle_t"'),
        ("man3/LAPI_Amsendv.3", "lapi_vec_t *", "void *"),
        ("man3/LAPI_Fence.3", '.SH "THREADS AND BLOCKING"', '.SH "THREADS"'),
        ("man3/LAPI_Init.3", "port_no", "port"),
        ("man3/LAPI_Util.3", "ret_loc", "there"),
        ("man3/LAPI_Msg_string.3", "434\n", "435\n"),
        ("man3/LAPI_Init.3", "udp_init_hdlr", "udp_hdlr"),
        ("man1/lapirun.1", "Number of tasks, 1 to 16384", "Number of tasks, 1 to 65536"),
        ("man7/lapi.7", "known to wait inside", "known to be inside"),
        ("man7/lapif.7", '"openlapi 0.', '"openlapi 9.'),
        ("man1/recon.1", ".SH EXAMPLES", ".SH EXAMPLE"),
        ("man7/lapi.hpp.7", "compare_and_swap", "swap"),
        ("man7/lapi.hpp.7", "RemoteVector", "Vector"),
        ("man7/lapi.hpp.7", "completion_handler", "completion"),
        ("man7/lapi.7", ".BR LAPI_Gfence (3)", ".BR LAPI_Fence (3)"),
        ("man7/lam-ssi-boot.7", "int lam_ssi_boot_close(void)", "int lam_ssi_boot_shut(void)"),
        ("man7/lam-ssi-boot.7", ".B int lam_ssi_boot_did", ".B int lam_ssi_boot"),
        ("man7/lam-ssi-rpi.7", "int lam_nprocs(void)", "int lam_np(void)"),
    ]
    unknown_macro = ("man3/LAPI_Term.3", ".SH NOTES", ".NOSUCHMACRO\n.SH NOTES")
    if groff:
        damages.append(unknown_macro)
    missed = []
    for file, old, new in damages:
        with tempfile.TemporaryDirectory() as directory:
            copy = pathlib.Path(directory) / "man"
            shutil.copytree(man, copy)
            text = (copy / file).read_text()
            (copy / file).write_text(text.replace(old, new))
            # groff takes its time, and only this damage is its to find.
            formatter = groff if (file, old, new) == unknown_macro else None
            if old not in text or not check(header_path, copy, formatter):
                missed.append(f"{file} without {old!r} was not found to be wrong")
    return missed


def main(arguments):
    run = check
    if arguments and arguments[0] == "--self-test":
        run = self_test
        arguments = arguments[1:]
    if len(arguments) not in (3, 4):
        sys.exit(__doc__)
    groff = arguments[3] if len(arguments) == 4 else None
    if not groff:
        print("groff is not here: the formatting is not checked")
    with tempfile.TemporaryDirectory() as directory:
        for folder in arguments[1:3]:
            shutil.copytree(folder, directory, dirs_exist_ok=True)
        problems = run(pathlib.Path(arguments[0]), pathlib.Path(directory), groff)
    print("\n".join(problems) if problems else "no problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
