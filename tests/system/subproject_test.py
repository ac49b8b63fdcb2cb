#!/usr/bin/env python3
"""A Meson project that has openlapi as a part: it gets the library, and no programs.

usage: subproject_test.py SOURCE_FOLDER LAPIRUN"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE, LAPIRUN = map(pathlib.Path, sys.argv[1:3])
PROJECT = """project('program', 'c')
executable('program', 'program.c', dependencies: dependency('lapi', fallback: 'openlapi'))
"""
PROGRAM = r"""
#include <lapi.h>
#include <stdio.h>
int main(void) {
  lapi_handle_t handle;
  lapi_info_t info = {.lib_vers = LAST_LIB};
  int task;
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 2;
  LAPI_Qenv(handle, TASK_ID, &task);
  printf("task %d\n", task);
  return LAPI_Term(handle);
}
"""


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


class SubprojectTest(unittest.TestCase):
    def test_a_project_gets_the_library_and_no_programs(self):
        with tempfile.TemporaryDirectory(prefix="openlapi-subproject-") as folder:
            project = pathlib.Path(folder)
            (project / "subprojects").mkdir()
            (project / "subprojects/openlapi").symlink_to(SOURCE)
            (project / "meson.build").write_text(PROJECT)
            (project / "program.c").write_text(PROGRAM)
            build = project / "build"
            # One unit for each library: nobody waits long for this test. --wrap-mode: no installed library instead.
            run("meson", "setup", build, project, "--unity=on", "-Dunity_size=100", "--wrap-mode=forcefallback",
                "-Doptimization=0", "-Ddebug=false", "-Dopenlapi:verbs=disabled", "-Dopenlapi:dpdk=disabled")
            targets = json.loads(run("meson", "introspect", "--targets", build))
            programs = [target["name"] for target in targets if target["type"] == "executable"]
            self.assertEqual(programs, ["program"])
            run("ninja", "-C", build, "program")
            self.assertEqual(sorted(run(LAPIRUN, "-n", "2", build / "program").splitlines()), ["task 0", "task 1"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
