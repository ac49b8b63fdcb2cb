#!/usr/bin/env python3
"""What LAPI_Init remarks about variables that no part of the job uses: mistyped ones, and what a network has not.

    api_remarks.py LAPIRUN PROGRAM_DIRECTORY [test...]
"""
import sys

from api_jobs import expect, expect_equal, main


def test_a_mistyped_variable_is_named_once_for_the_job(jobs):
    text = "openlapi: LAPI_USE_SHMEM is set, and is no variable of openlapi's: did you mean LAPI_USE_SHM?"
    result = jobs.launch(3, ["api_init_probe"], LAPI_USE_SHMEM="no")
    expect_equal((result.status, result.err.count(text)), (0, 1), result)


def test_a_mistyped_variable_is_named_once_in_whichever_task(jobs):
    for tasks in ("0", "1", "2", "[12]", "[012]"):
        script = f"case $PMIX_RANK in {tasks}) export LAPI_USE_SHMEM=1;; esac; exec {jobs.program('api_init_probe')} silent"
        result = jobs.launch(3, ["/bin/sh", "-c", script])
        expect_equal((result.status, result.err.count("LAPI_USE_SHMEM is set")), (0, 1), f"task {tasks}\n{result}")


def test_what_was_asked_for_and_nobody_uses_is_said_at_level_one(jobs):
    unused = "openlapi: MP_EUIDEVICE=lo is used by no task"
    for shared, level, times in (("yes", "1", 1), ("yes", "0", 0), ("no", "1", 0)):
        result = jobs.launch(2, ["api_init_probe"], LAPI_USE_SHM=shared, MP_EUIDEVICE="lo", MP_INFOLEVEL=level)
        expect_equal((result.status, result.err.count(unused)), (0, times), f"{shared}, level {level}\n{result}")
    asked = {"MP_EUILIB": "us", "MP_USE_BULK_XFER": "yes", "MP_INSTANCES": "3", "MP_LAPI_INET_ADDR": "@1:127.0.0.1,lo", "OPENLAPI_MODULES": "verbs"}
    result = jobs.launch(2, ["api_init_probe", "adapter=lo"], LAPI_USE_SHM="yes", MP_INFOLEVEL="1", **asked)
    for name, value in (*asked.items(), ("adapter_name", "lo")):
        expect_equal(result.err.count(f"openlapi: {name}={value} is used by no task"), 1, f"{name}\n{result}")


def test_what_a_network_has_not_is_said_at_level_one(jobs):
    lines = ("openlapi: MP_INSTANCES=4: a context of task 0 has 1, one for each adapter that it opens",
             "openlapi: MP_USE_BULK_XFER=yes is used by no task: UDP has no bulk transfer")
    for level, times in (("1", 1), ("0", 0)):
        result = jobs.launch(2, ["api_init_probe"], LAPI_USE_SHM="no", MP_INFOLEVEL=level, MP_INSTANCES="4",
                             MP_USE_BULK_XFER="yes")
        expect_equal([result.err.count(line) for line in lines], [times, times], f"level {level}\n{result}")
    for fitting in ("1", "max", "MAX"):
        result = jobs.launch(2, ["api_init_probe"], LAPI_USE_SHM="no", MP_INFOLEVEL="1", MP_INSTANCES=fitting)
        expect("MP_INSTANCES" not in result.err, result)


def test_that_nothing_can_fail_over_is_said_at_level_one(jobs):
    one = ("openlapi: more than one adapter was asked for, and what task 0 has is all on one adapter, "
           "lo: failover and recovery are not possible")
    for asked in ({"MP_INSTANCES": "2"}, {"MP_EUIDEVICE": "sn_all"}, {"MP_LAPI_INET_ADDR": "@2:127.0.0.1,lo:127.0.0.1,lo"}):
        for level, times in (("1", 1), ("0", 0)):
            result = jobs.launch(3, ["api_init_probe"], LAPI_USE_SHM="no", MP_INFOLEVEL=level, **asked)
            expect_equal((result.status, result.err.count(one)), (0, times), f"{asked}, level {level}\n{result}")
    for level, times in (("1", 1), ("0", 0)):
        result = jobs.launch(3, ["api_init_probe"], LAPI_USE_SHM="no", MP_INFOLEVEL=level, MP_EUIDEVICE="lo", MP_INSTANCES="2")
        expect_equal((result.status, result.err.count("0031-490 ")), (0, times), f"level {level}\n{result}")
        expect(one not in result.err, result)
    for unasked in ({}, {"MP_EUIDEVICE": "lo"}, {"MP_INSTANCES": "1"}):
        result = jobs.launch(2, ["api_init_probe"], LAPI_USE_SHM="no", MP_INFOLEVEL="2", **unasked)
        expect(one not in result.err and "0031-48" not in result.err and "0031-49" not in result.err.replace("0031-499", ""),
               result)


def test_a_task_that_has_another_number_of_adapters_says_so(jobs):
    """Task 2 has two, as was asked for, which is no other's word; and of three that were asked for it has two."""
    script = ("case $PMIX_RANK in 2) export MP_LAPI_INET_ADDR=@2:127.0.0.1,lo:127.0.0.2,lo;; "
              f"*) export MP_LAPI_INET_ADDR=@1:127.0.0.1,lo;; esac; exec {jobs.program('api_init_probe')}")
    for asked in ("2", "3"):
        result = jobs.launch(3, ["/bin/sh", "-c", script], LAPI_USE_SHM="no", MP_INFOLEVEL="1", MP_INSTANCES=asked)
        lines = [line for line in result.err.splitlines() if line.startswith(f"openlapi: MP_INSTANCES={asked}: ")]
        wanted = ["a context of task 0 has 1, one for each adapter that it opens"]
        if asked == "3":
            wanted.append("a context of task 2 has 2, one for each adapter that it opens")
        expect_equal((result.status, sorted(line.split(": ", 2)[2] for line in lines)), (0, wanted), result)


def test_an_adapter_that_does_not_open_is_said_and_the_others_are_used(jobs):
    addresses = "@2:192.0.2.1,lo:127.0.0.1,lo"  # no machine has the first one
    for level, times in (("1", 2), ("0", 0)):
        result = jobs.launch(2, ["api_init_probe"], LAPI_USE_SHM="no", MP_INFOLEVEL=level, MP_LAPI_INET_ADDR=addresses)
        expect_equal((result.status, result.err.count("0031-485 ")), (0, times), f"level {level}\n{result}")
        expect(times == 0 or "Task 1 has 1 of the 2 adapters that were asked for (" in result.err, result)
    result = jobs.launch(2, ["api_init_probe", "silent"], LAPI_USE_SHM="no", MP_LAPI_INET_ADDR="@1:192.0.2.1,lo")
    expect("192.0.2.1" in result.err and "0031-485 " not in result.err, result)


def test_an_adapter_that_is_not_there_is_an_error_also_where_none_is_needed(jobs):
    for tasks in (1, 2):
        result = jobs.launch(tasks, ["api_init_probe", "adapter=wlan77"], LAPI_USE_SHM="yes")
        expect_equal(result.err.count("adapter_name 'wlan77' is no adapter of this machine; present: "), tasks, result)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
