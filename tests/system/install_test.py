#!/usr/bin/env python3
"""What `meson install` gives a user: headers, the library under its names, compiler wrappers, pkg-config, tools, man
pages; and that programs built with them run from the installed tree alone.

usage: install_test.py BUILD_FOLDER"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = sys.argv[1]
PROGRAM = r"""
#include <lapi.h>
#include <stdio.h>
#include <string.h>
int main(void) {
  lapi_handle_t handle;
  lapi_info_t info;
  lapi_cntr_t done;
  void *words[64];
  int tasks, task, word = -1, value;
  memset(&info, 0, sizeof info);
  memset(&done, 0, sizeof done);
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 2;
  LAPI_Qenv(handle, NUM_TASKS, &tasks);
  LAPI_Qenv(handle, TASK_ID, &task);
  LAPI_Address_init(handle, &word, words);
  value = task;
  LAPI_Put(handle, (task + 1) % tasks, sizeof value, words[(task + 1) % tasks], &value, NULL, NULL, &done);
  LAPI_Waitcntr(handle, &done, 1, NULL);
  LAPI_Gfence(handle);
  printf("%d got %d\n", task, word);
  LAPI_Term(handle);
  return 0;
}
"""


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="openlapi-install-")
        root = pathlib.Path(cls.folder.name)
        os.chmod(root, 0o755)
        run("meson", "install", "--no-rebuild", "--quiet", "-C", BUILD, "--destdir", root)
        cls.prefix = next(path.parent.parent for path in root.rglob("lapi.h"))
        cls.libdir = next(path.parent for path in root.rglob("liblapi.so") if "libtrace" not in path.parts)
        cls.source = root / "program.c"
        cls.source.write_text(PROGRAM)
        (root / "program.cc").write_text(PROGRAM)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check_runs(self, program, **environment):
        output = run(self.prefix / "bin/lapirun", "-n", "3", program, env=dict(os.environ, **environment))
        self.assertEqual(sorted(output.splitlines()), ["0 got 2", "1 got 0", "2 got 1"])

    def test_lapicc_builds_programs_that_run(self):
        program = self.source.with_suffix(".lapicc")
        strict = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]
        run(self.prefix / "bin/lapicc", *strict, self.source, "-o", program)
        self.check_runs(program)

    def test_lapicxx_builds_programs_that_run(self):
        program = self.source.with_suffix(".lapicxx")
        run(self.prefix / "bin/lapicxx", "-std=c++17", "-Wall", self.source.with_suffix(".cc"), "-o", program)
        self.check_runs(program)

    def test_pkg_config_builds_programs_that_run(self):
        program = self.source.with_suffix(".pkgconfig")
        environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(self.libdir / "pkgconfig"),
                           PKG_CONFIG_SYSROOT_DIR=self.folder.name)
        flags = run("pkg-config", "--cflags", "--libs", "lapi", env=environment).split()
        run("cc", self.source, "-o", program, *flags)
        self.check_runs(program, LD_LIBRARY_PATH=str(self.libdir))

    def test_the_guides_library_name_links(self):
        program = self.source.with_suffix(".lapi_r")
        run("cc", f"-I{self.prefix}/include", self.source, f"-L{self.libdir}", "-llapi_r", "-o", program)
        self.check_runs(program, LD_LIBRARY_PATH=str(self.libdir))

    def test_the_library_is_versioned_and_shows_only_its_calls(self):
        self.assertIn("SONAME", run("readelf", "-d", self.libdir / "liblapi.so"))
        self.assertRegex(run("readelf", "-d", self.libdir / "liblapi.so"), r"\[liblapi\.so\.0\]")
        symbols = run("nm", "-D", "--defined-only", self.libdir / "liblapi.so").splitlines()
        names = {line.split()[-1].split("@")[0] for line in symbols} - {"LIBLAPI_0"}
        declared = set(re.findall(r"\b(P?LAPI_[A-Z][a-z_0-9]+)\(", (self.prefix / "include/lapi.h").read_text()))
        self.assertEqual(names, declared & names, "exported but not declared")
        self.assertTrue({"LAPI_Put", "PLAPI_Put", "LAPI_Init", "PLAPI_Init"} <= names)

    def test_the_tracing_library_has_the_same_name(self):
        self.assertRegex(run("readelf", "-d", self.libdir / "libtrace/liblapi.so"), r"\[liblapi\.so\.0\]")

    def test_tools_answer_and_have_pages(self):
        for tool in ["lapirun", "lapi_perf", "lapi_info"]:
            self.assertIn(tool, run(self.prefix / "bin" / tool, "--help"))
            self.assertTrue(list(self.prefix.rglob(f"{tool}.1")), f"no man page of {tool}")
        self.assertTrue(list(self.prefix.rglob("LAPI_Put.3")))
        self.assertTrue(list(self.prefix.rglob("lapi.7")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
