#!/usr/bin/env python3
"""How tests/run finds out what runs 32-bit programs: which way is taken is said, and that there is none is a failure."""
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "narrow_runner.sh"
LOOK = """. "$1"; NARROW_RUNNER='' narrow_machine=native
find_narrow_runner "$2" Unfit.Case; status=$?
echo "[$NARROW_RUNNER] $narrow_machine"; exit $status"""
RUN, DIES, REFUSED = "#!/bin/sh\n", "#!/bin/sh\nexit 1\n", "\x7fELF\0\n"
RUNS_IT, FAILS = "#!/bin/sh\n[ \"${1##*/}\" = narrow ]\n", "#!/bin/sh\necho 'Illegal instruction'; exit 132\n"


class NarrowRunner(unittest.TestCase):
    def look(self, program, emulator):
        """Where the compiler makes this program, and qemu-i386 is this one, or nothing."""
        with tempfile.TemporaryDirectory() as folder:
            tools = pathlib.Path(folder, "tools")
            tools.mkdir()
            compiler = f'#!/bin/sh\n[ "$1" = -m32 ] && /bin/cp -p {tools}/program "$6"\n'
            scripts = {"program": program, "gcc": compiler, "qemu-i386": emulator}
            for name, text in scripts.items():
                if text:
                    (tools / name).write_text(text)
            for file in tools.iterdir():
                file.chmod(0o755)
            done = subprocess.run(["/bin/bash", "-c", LOOK, "bash", SCRIPT, folder], env={"PATH": str(tools), "LC_ALL": "C"},
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout.replace(folder, "FOLDER"), done.stderr

    def test_this_kernel(self):
        for emulator in (RUNS_IT, None):
            self.assertEqual(self.look(RUN, emulator), (0, "== 32-bit programs: run by this kernel\n[] native\n", ""))

    def test_the_emulator(self):
        status, said, errors = self.look(REFUSED, RUNS_IT)
        self.assertEqual((status, errors), (0, ""))
        self.assertRegex(said, r"^== 32-bit programs: this kernel refuses them \(.*Exec format error\); qemu-i386 runs them, "
                         r"all but Unfit\.Case\n\[qemu-i386\] --cross-file=deploy/cross-32.ini\n$")
        self.assertRegex(self.look(DIES, RUNS_IT)[1], r"refuses them \(they die\); qemu-i386 runs them")

    def test_neither(self):
        for emulator, why in ((None, "qemu-i386: command not found"), (FAILS, "Illegal instruction")):
            status, said, _ = self.look(REFUSED, emulator)
            self.assertEqual(status, 1)
            self.assertRegex(said, r"this kernel refuses them \(.*Exec format error\), and qemu-i386 does not run them "
                             rf"\(.*{why}.*\)\n\[\] native\n$")

    def test_no_compiler_for_them(self):
        """The build says it, with more of its reasons."""
        status, said, errors = self.look(None, RUNS_IT)
        self.assertEqual((status, said), (0, "[] native\n"))
        self.assertIn("No such file", errors)


if __name__ == "__main__":
    unittest.main()
