"""What the tests of packages share: a copy of the tree, and a program that says whether a job works."""
import os
import pathlib
import re
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^  version: '(.*)'", (SOURCE / "meson.build").read_text(), re.M)[1]
PROGRAM = r"""
#include <lapi.h>
#include <stdio.h>
int main(void) {
  lapi_handle_t handle;
  lapi_info_t info = {.lib_vers = LAST_LIB};
  lapi_cntr_t done = {0};
  void *words[64];
  int tasks, task, word = -1;
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 2;
  LAPI_Qenv(handle, NUM_TASKS, &tasks);
  LAPI_Qenv(handle, TASK_ID, &task);
  LAPI_Address_init(handle, &word, words);
  LAPI_Put(handle, (task + 1) % tasks, sizeof task, words[(task + 1) % tasks], &task, NULL, NULL, &done);
  LAPI_Waitcntr(handle, &done, 1, NULL);
  LAPI_Gfence(handle);
  printf("%d got %d\n", task, word);
  return LAPI_Term(handle);
}
"""


def run(*words, cwd=None, **environment):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=900, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **environment})
    assert done.returncode == 0, f"{words} ended with {done.returncode}: {done.stdout[-8000:]}{done.stderr[-8000:]}"
    return done.stdout


def container_stages():
    """What each stage of deploy/Containerfile runs, line for line."""
    text = (SOURCE / "deploy/Containerfile").read_text().replace("\\\n", "")
    return [re.findall(r"^RUN (.*)$", stage, re.M) for stage in re.split("^FROM ", text, flags=re.M)[1:]]


def copy_of_the_tree(folder):
    """What git knows, or would take; without git, all but what builds leave."""
    if not (SOURCE / ".git").exists():
        shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("build*"))
        return
    names = run("git", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in names:
        if name and (SOURCE / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, folder / name)
