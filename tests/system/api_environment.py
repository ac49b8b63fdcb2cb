#!/usr/bin/env python3
"""LAPI_Init against its environment (appendix D, tables 37-43): every variable with its default, good and wrong values,
every error of LAPI_Init that the environment or lapi_info_t can cause, and start-up without a launcher.

    api_environment.py LAPIRUN PROGRAM_DIRECTORY [test...]
"""
import os
import socket
import sys

from api_jobs import Skip, expect, expect_equal, free_ports, main

SUCCESS, UNKNOWN, ALL_HNDL_IN_USE, BOTH_NETSTR_SET, CSS_LOAD_FAILED = 0, 400, 401, 402, 404
MSG_API, NO_NETSTR_SET, NO_UDP_HNDLR, TIMEOUT, UDP_PKT_SZ, USER_UDP_HNDLR_FAIL = 406, 407, 408, 413, 415, 416
TGT, NO_CONNECTIVITY, SHM_SETUP, SET_VAL, UDP_PORT_INFO, UDP_SOCKET, NO_ENV_VAR = 428, 434, 439, 464, 475, 481, 510
DEV_NONE, DEV_UDP, DEV_SHM = 0, 1, 2
MODULES = os.environ.get("API_MODULES", "API_MODULES is not set")  # the folder of tests/support/modules


def accepted(jobs, variables, name=None, value=None):
    result = jobs.alone(**variables)
    expect_equal((result.status, result.value("code")), (0, SUCCESS), f"{variables}\n{result}")
    if name is not None:
        expect_equal(result.value(name), value, f"{name} with {variables}\n{result}")
    return result


def refused(jobs, variable, value, code, *allowed):
    """The code, and a message that names the variable, its value and what is allowed."""
    result = jobs.alone(**{variable: value})
    expect_equal((result.status, result.value("code")), (0, code), f"{variable}={value}\n{result}")
    for text in (variable, value, *allowed):
        expect(text in result.err, f"the message for {variable}={value} does not say '{text}'\n{result.err}")


def over_udp(jobs, tasks, *words, **variables):
    ports = free_ports(tasks)
    addresses = ",".join(f"127.0.0.1:{port}" for port in ports)
    variables.setdefault("LAPI_USE_SHM", "no")
    return jobs.standalone(tasks, ["api_init_probe", f"list={addresses}", *words], **variables)


def all_talked(results, protocol):
    for result in results:
        expect_equal((result.status, result.value("code"), result.value("ended")), (0, SUCCESS, 1), result)
        expect_equal(result.value("protocol"), protocol, result)


# ---- integers: variable, line of the probe, default, good values, wrong values, code ----

INTEGERS = [
    ("MP_ACK_THRESH", "ack_threshold", 30, [1, 31, 7], ["0", "32", "-1", "x", "1.5", "3 ", "99999999999"], SET_VAL),
    ("MP_POLLING_INTERVAL", None, None, [10001, 400000, 2147483647],
     ["10000", "0", "-5", "fast", "2147483648"], SET_VAL),
    ("MP_RETRANSMIT_INTERVAL", None, None, [1000, 1000000, 2147483647], ["999", "0", "never"], SET_VAL),
    ("MP_REXMIT_BUF_CNT", "rexmit_count", 128, [1, 300], ["0", "-1", "many"], SET_VAL),
    ("MP_REXMIT_BUF_SIZE", "rexmit_size", 16384, [1, 100, 65536, 1000000], ["0", "-1", "16K"], SET_VAL),
    ("OPENLAPI_TERM_WAIT", None, None, [0, 2, 86400], ["-1", "86401", "long"], SET_VAL),
    ("MP_INFOLEVEL", None, None, [0, 1, 2, 3, 4, 5, 6], ["7", "-1", "all"], SET_VAL),
    ("MP_LAPI_TRACE_LEVEL", None, None, [0, 1, 2, 3, 4, 5], ["6", "-1", "on"], SET_VAL),
]


def test_integers_have_defaults_ranges_and_errors(jobs):
    for variable, name, default, good, wrong, code in INTEGERS:
        if name is not None:
            accepted(jobs, {}, name, default)
        for value in good:
            accepted(jobs, {variable: str(value)}, name, value)
        for value in wrong:
            refused(jobs, variable, value, code, "allowed")


def test_buffer_size_is_also_the_copy_size(jobs):
    accepted(jobs, {"MP_REXMIT_BUF_SIZE": "5000"}, "copy_size", 5000)


def test_bulk_settings(jobs):
    accepted(jobs, {}, "bulk", 0)
    accepted(jobs, {}, "bulk_minimum", 153600)
    for value, wanted in (("yes", 1), ("YES", 1), ("no", 0), ("No", 0)):
        accepted(jobs, {"MP_USE_BULK_XFER": value}, "bulk", wanted)
    for value, wanted in (("4096", 4096), ("0", 4096), ("4095", 4096), ("8K", 8192), ("1M", 1048576),
                          ("300000", 300000)):
        accepted(jobs, {"MP_BULK_MIN_MSG_SIZE": value}, "bulk_minimum", wanted)
    refused(jobs, "MP_USE_BULK_XFER", "maybe", SET_VAL, "yes", "no")
    for value in ("-1", "lots", "4G"):
        refused(jobs, "MP_BULK_MIN_MSG_SIZE", value, SET_VAL)


def test_bulk_settings_change_nothing_here(jobs):
    variables = {"MP_USE_BULK_XFER": "yes", "MP_BULK_MIN_MSG_SIZE": "4K", "MP_INFOLEVEL": "2"}
    for shared_memory in ("only", "no"):
        for program in ("api_statistics", "api_xfer"):  # the first one counts bytes and packets of each path
            result = jobs.launch(2, [program, "polling"], LAPI_USE_SHM=shared_memory, **variables)
            expect(result.status == 0, result)
            expect("0031-499" in result.err, f"nothing says that bulk transfer is switched on\n{result}")
    variables["MP_INFOLEVEL"] = "1"
    result = jobs.launch(2, ["api_init_probe", "silent"], LAPI_USE_SHM="only", **variables)
    expect(result.status == 0 and "0031-499" not in result.err, result)


def test_words_and_texts(jobs):
    for value in ("lapi", "lapi,mpi", "mpi,lapi", "mpi_lapi"):
        accepted(jobs, {"MP_MSG_API": value})
    for value in ("mpi", "LAPI", "lapi,lapi", "none"):
        refused(jobs, "MP_MSG_API", value, MSG_API, "lapi", "mpi_lapi")
    for value in ("IP", "Us", "tcp"):
        refused(jobs, "MP_EUILIB", value, CSS_LOAD_FAILED, "ip", "us")
    for value in ("only", "ONLY", "Only"):
        accepted(jobs, {"LAPI_USE_SHM": value})
    for value in ("yes", "YES", "no", "No"):
        expect_equal(over_udp(jobs, 1, "silent", LAPI_USE_SHM=value)[0].value("code"), SUCCESS, value)
    for value in ("perhaps", "1"):
        refused(jobs, "LAPI_USE_SHM", value, SHM_SETUP, "yes", "no", "only")
    for value in ("yes", "no", "YES"):
        accepted(jobs, {"LAPI_VERIFY_DGSP": value})
    refused(jobs, "LAPI_VERIFY_DGSP", "often", SET_VAL, "yes", "no")
    for value, checked in (("yes", 1), ("No", 0), ("", 0)):
        expect_equal(accepted(jobs, {"OPENLAPI_ERROR_CHK": value}).value("error_check"), checked, value)
    for value, code in (("yes", TGT), (None, NO_CONNECTIVITY)):
        expect_equal(jobs.alone("wrong_target", OPENLAPI_ERROR_CHK=value).value("wrong_target"), code, value)
    refused(jobs, "OPENLAPI_ERROR_CHK", "1", SET_VAL, "yes", "no")
    refused(jobs, "OPENLAPI_EXPLAIN_FAULTS", "1", SET_VAL, "yes", "no")
    for value in ("yes", "no", "anything"):
        accepted(jobs, {"MP_DEBUG_NOTIMEOUT": value})
    for value in ("1", "max", "MAX", "100"):
        accepted(jobs, {"MP_INSTANCES": value})
    for value in ("0", "-1", "some"):
        refused(jobs, "MP_INSTANCES", value, SET_VAL, "max")


def test_packets_with_and_without_tags(jobs):
    for value, tags in (("yes", True), ("YES", True), ("no", False), ("auto", True), (None, True)):
        results = over_udp(jobs, 2, OPENLAPI_PACKET_AUTH=value, MP_INFOLEVEL="2")
        all_talked(results, DEV_UDP)
        for result in results:
            expect_equal("packets carry tags" in result.err, tags, f"standalone, {value}\n{result}")
    for value, tags in (("yes", True), ("no", False), ("auto", False)):
        result = jobs.launch(2, ["api_init_probe"], LAPI_USE_SHM="no", OPENLAPI_PACKET_AUTH=value, MP_INFOLEVEL="2")
        expect_equal((result.status, result.out.count("ended 1")), (0, 2), result)
        expect_equal("packets carry tags" in result.err, tags, f"on one host, {value}\n{result}")
    # Tasks that do not agree could not understand each other, and would wait for ever.
    script = f"[ $PMIX_RANK = 0 ] || export OPENLAPI_PACKET_AUTH=no; exec {jobs.program('api_init_probe')}"
    result = jobs.launch(2, ["/bin/sh", "-c", script], LAPI_USE_SHM="no", OPENLAPI_PACKET_AUTH="yes")
    expect(result.status != 0 and "OPENLAPI_PACKET_AUTH has to be the same in all tasks" in result.err, result)
    for value in ("1", "tags"):
        refused(jobs, "OPENLAPI_PACKET_AUTH", value, SET_VAL, "auto", "no", "yes")


def test_dataplane_threads(jobs):
    for value in ("adaptive", "spin", "sleep", "SLEEP"):
        result = accepted(jobs, {"OPENLAPI_THREAD_POLICY": value, "MP_INFOLEVEL": "2"})
        expect(f"dataplane thread of instance 1: {value.lower()}" in result.err, result)
    for value in ("lazy", "0"):
        refused(jobs, "OPENLAPI_THREAD_POLICY", value, SET_VAL, "adaptive", "spin", "sleep")
    processors = sorted(os.sched_getaffinity(0))
    for value in ("near", "None", str(processors[-1]), ",".join(map(str, processors))):
        result = accepted(jobs, {"OPENLAPI_THREAD_CPU": value, "MP_INFOLEVEL": "2"})
        pinned = value[0].isdigit()
        where = f"pinned to processor {value.split(',')[0]}:" if pinned else "not pinned: "
        expect(f", {where}" in result.err, result)
    for value in ("far", "0-", "1024", "-1"):
        refused(jobs, "OPENLAPI_THREAD_CPU", value, SET_VAL, "near", "none")
    absent = next(number for number in range(1023, -1, -1) if number not in processors)
    refused(jobs, "OPENLAPI_THREAD_CPU", str(absent), SET_VAL, "near, none, or those of ")


def test_dataplane_threads_of_tasks_that_are_bound(jobs):
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        raise Skip("one processor")
    backwards = ",".join(map(str, processors[::-1]))
    bound = jobs.launch(1, ["api_init_probe", "silent"], OPENLAPI_THREAD_CPU=backwards)
    expect("lapirun binds each task to a core; --bind none leaves it free" in bound.err, bound)
    free = jobs.launch(1, ["api_init_probe", "silent"], ["--bind", "none"], OPENLAPI_THREAD_CPU=backwards)
    expect_equal(free.value("code"), SUCCESS, free)


def test_empty_variables_count_as_unset(jobs):
    names = ["MP_ACK_THRESH", "MP_REXMIT_BUF_SIZE", "MP_INFOLEVEL", "MP_EUIDEVICE", "MP_USE_BULK_XFER", "MP_INSTANCES",
             "MP_LAPI_INET_ADDR", "MP_UDP_PACKET_SIZE", "MP_DEBUG_NOTIMEOUT"]
    accepted(jobs, {name: "" for name in names}, "ack_threshold", 30)


def test_udp_packet_size(jobs):
    sizes = {}
    for value in ("1024", "4096", "65507", "65536", None):
        result = over_udp(jobs, 2, MP_UDP_PACKET_SIZE=value)
        all_talked(result, DEV_UDP)
        sizes[value] = result[0].value("max_packet")
        expect(result[0].value("max_uhdr") >= 912, f"MAX_UHDR_SZ with {value}\n{result[0]}")
    expect(912 <= sizes["1024"] <= 1024 and 3900 <= sizes["4096"] <= 4096, sizes)
    expect(60000 <= sizes["65507"] <= 65507 and sizes["65536"] == sizes["65507"], sizes)
    expect(8192 < sizes[None] <= 8968, sizes)  # a message of 8 KiB fits
    for value in ("1023", "65537", "0", "8K"):
        refused(jobs, "MP_UDP_PACKET_SIZE", value, UDP_PKT_SZ, "1024", "65536")


# ---- which variables a task without a launcher needs ----

def test_a_standalone_task_needs_its_variables(jobs):
    for variable, code in (("MP_MSG_API", MSG_API), ("MP_PROCS", NO_ENV_VAR), ("MP_CHILD", NO_ENV_VAR),
                           ("MP_PARTITION", NO_ENV_VAR)):
        result = jobs.alone(**{variable: None})
        expect_equal(result.value("code"), code, f"without {variable}\n{result}")
        expect(variable in result.err, result.err)
    for variable, value in (("MP_PROCS", "0"), ("MP_PROCS", "x"), ("MP_PROCS", "16385"), ("MP_CHILD", "1"),
                            ("MP_CHILD", "-1"), ("MP_CHILD", "one")):
        refused(jobs, variable, value, NO_ENV_VAR)


def test_common_tasks(jobs):
    accepted(jobs, {"MP_COMMON_TASKS": "0"}, "shm_tasks", 1)
    for value in ("1", "1:0", "2:1", "x", "0:", "1:5"):
        refused(jobs, "MP_COMMON_TASKS", value, SHM_SETUP)
    result = jobs.alone(MP_PROCS="2", MP_COMMON_TASKS=None)
    expect_equal(result.value("code"), SHM_SETUP, result)
    expect("MP_COMMON_TASKS" in result.err, result.err)


def test_launched_tasks_need_no_variables(jobs):
    for variables in ({}, {"MP_MSG_API": "lapi"}, {"MP_PROCS": "7", "MP_CHILD": "3"}):
        result = jobs.launch(2, ["api_init_probe"], **variables)
        expect_equal((result.status, result.out.count("ended 1")), (0, 2), result)
        expect_equal(result.value("tasks"), 2, result)
    result = jobs.launch(2, ["api_init_probe"], MP_MSG_API="mpi")
    expect_equal(result.out.count(f"code {MSG_API}"), 2, result)


# ---- networks ----

def test_standalone_over_udp_with_a_list(jobs):
    all_talked(over_udp(jobs, 3), DEV_UDP)
    all_talked(over_udp(jobs, 3, "entries=3"), DEV_UDP)


def test_standalone_over_udp_with_a_handler(jobs):
    results = over_udp(jobs, 3, "handler=ok")
    all_talked(results, DEV_UDP)
    for task, result in enumerate(results):
        expect_equal((result.value("handler_task"), result.value("handler_tasks"), result.value("handler_instance"),
                      result.value("handler_port")), (task, 3, 0, 0), result)
    for result in over_udp(jobs, 1, "handler=fail"):
        expect_equal(result.value("code"), USER_UDP_HNDLR_FAIL, result)
        expect("7" in result.err, result.err)


def test_standalone_over_udp_and_shared_memory(jobs):
    results = over_udp(jobs, 3, LAPI_USE_SHM="yes")
    all_talked(results, DEV_SHM)
    for result in results:
        expect_equal((result.value("shm_enabled"), result.value("shm_tasks"), result.value("network_bytes")), (1, 3, 0),
                     result)


def test_standalone_over_shared_memory_alone(jobs):
    results = jobs.standalone(3, ["api_init_probe"], LAPI_USE_SHM="only")
    all_talked(results, DEV_SHM)
    for result in results:
        expect_equal(result.value("network_bytes"), 0, result)


def test_inet_address_chooses_the_adapter(jobs):
    all_talked(over_udp(jobs, 2, MP_LAPI_INET_ADDR="@1:127.0.0.1,lo"), DEV_UDP)
    results = over_udp(jobs, 1, "handler=ok", "silent", MP_LAPI_INET_ADDR="@1:127.0.0.9,lo")
    expect_equal((results[0].value("code"), results[0].value("handler_address")), (SUCCESS, "127.0.0.9"), results[0])
    for value in ("127.0.0.1,lo", "@1:127.0.0.1", "@2:127.0.0.1,lo", "@0:", "@1:localhost,lo", "@1:127.0.0.256,lo",
                  "@x:1,2"):
        refused(jobs, "MP_LAPI_INET_ADDR", value, NO_NETSTR_SET, "@count")
    result = over_udp(jobs, 1, "silent", MP_LAPI_INET_ADDR="@1:192.0.2.77,lo")[0]
    expect_equal(result.value("code"), UDP_SOCKET, result)
    expect("192.0.2.77" in result.err, result.err)
    for value in ("@1:127.0.0.1,eth99", "@2:127.0.0.1,lo:127.0.0.2,eth99"):
        result = over_udp(jobs, 1, "silent", MP_LAPI_INET_ADDR=value)[0]
        expect_equal(result.value("code"), NO_NETSTR_SET, result)
        for text in ("MP_LAPI_INET_ADDR", "'eth99' is no adapter of this machine", "present: ", "lo (127.0.0.1)"):
            expect(text in result.err, f"'{text}' is missing\n{result}")


def test_adapters_beyond_the_eighth_are_not_used(jobs):
    nine = "@9:" + ":".join(f"127.0.0.{number},lo" for number in range(1, 10))
    result = jobs.launch(2, ["api_init_probe"], LAPI_USE_SHM="no", MP_INFOLEVEL="2", MP_LAPI_INET_ADDR=nine)
    expect_equal((result.status, result.out.count("ended 1")), (0, 2), result)
    expect_equal(result.err.count("MP_LAPI_INET_ADDR names 9 adapters, of which the first 8 are used"), 2, result)
    for number, tasks in ((1, 2), (8, 2), (9, 0)):
        expect_equal(result.err.count(f", 127.0.0.{number} port "), tasks, result)


def test_a_standalone_task_over_udp_names_its_network(jobs):
    for use in ("no", "yes"):
        result = over_udp(jobs, 1, "silent", MP_LAPI_INET_ADDR=None, LAPI_USE_SHM=use)[0]
        expect_equal(result.value("code"), NO_NETSTR_SET, result)
        expect("MP_LAPI_INET_ADDR is not set" in result.err and "@1:127.0.0.1,lo" in result.err, result.err)
    result = over_udp(jobs, 1, "adapter=lo", "silent", MP_LAPI_INET_ADDR=None)[0]
    expect_equal(result.value("code"), NO_NETSTR_SET, result)
    all_talked(over_udp(jobs, 2, LAPI_USE_SHM="yes", MP_LAPI_INET_ADDR=None), DEV_SHM)


def test_network_windows(jobs):
    for value in ("1,sn0", "@1:sn0", "@1:-1,sn0", "@2:164,sn0", "@0:", "@1:164,sn0:", "@1:x,sn0"):
        refused(jobs, "MP_LAPI_NETWORK", value, NO_NETSTR_SET, "@count")
    for value in ("@1:164,sn0", "@1>164,sn0", "@2:164,sn0:165,sn1"):
        # They concern user space mode: with them its absence is another error than a missing statement.
        expect_equal(over_udp(jobs, 1, "silent", MP_LAPI_NETWORK=value)[0].value("code"), NO_NETSTR_SET, value)
        accepted(jobs, {"MP_LAPI_NETWORK": value})
        result = jobs.alone(MP_EUILIB="us", MP_LAPI_NETWORK=value, LAPI_USE_SHM="no",
                            LAM_MPI_SESSION_PREFIX="/nowhere")
        expect_equal(result.value("code"), CSS_LOAD_FAILED, f"{value}\n{result}")
        expect("MP_EUILIB=us without a launcher" in result.err and "lapirun" in result.err, result.err)
        expect("no lamd is running here for this user (/nowhere/lam-" in result.err and "lapi_ntbl" in result.err,
               result.err)
    result = jobs.alone(MP_LAPI_NETWORK="@1:164,sn0", MP_LAPI_INET_ADDR="@1:127.0.0.1,lo")
    expect_equal(result.value("code"), BOTH_NETSTR_SET, result)
    expect("MP_LAPI_NETWORK" in result.err and "MP_LAPI_INET_ADDR" in result.err, result.err)


def test_user_space_mode_is_refused_with_the_reason(jobs):
    result = jobs.alone(MP_EUILIB="us", LAPI_USE_SHM="no")
    expect_equal(result.value("code"), NO_NETSTR_SET, result)
    expect("MP_LAPI_NETWORK" in result.err and "MP_EUILIB" in result.err, result.err)
    result = user_space(jobs, 1, "no_such_device", "first,absent,other_version")
    expect_equal(result.value("code"), CSS_LOAD_FAILED, result)
    for text in ("MP_EUILIB=us", "MP_EUILIB=ip", "first: there is no device 'no_such_device', only first",
                 "absent: libopenlapi-absent.so is not installed: it was looked for in " + MODULES,
                 "other_version: " + MODULES + "/libopenlapi-other_version.so is of another openlapi"):
        expect(text in result.err, f"'{text}' is not in the message\n{result.err}")


def user_space(jobs, tasks, device, modules, words=("api_init_probe",), **variables):
    return jobs.launch(tasks, words, **{"MP_EUILIB": "us", "LAPI_USE_SHM": "no", "OPENLAPI_LIBRARY_FOLDER": MODULES,
                                        "OPENLAPI_MODULES": modules, "MP_EUIDEVICE": device, **variables})


def over(peers, transport, device):
    return {f"task {task} reaches task {peer} over {transport}, {device}" for task, peer in peers}


def ways(result):
    """What MP_INFOLEVEL=2 says about each pair, without the end of the device's text."""
    said = [line.partition("over a port. ")[2] for line in result.err.splitlines() if " reaches task " in line]
    return {line.partition(", task ")[0] for line in said}


def expect_ways(result, *wanted):
    expect_equal(ways(result), set().union(*wanted), result)


def test_the_modules_of_user_space_mode_are_looked_for(jobs):
    for value in ("verbs,", "../verbs", "verbs dpdk"):
        refused(jobs, "OPENLAPI_MODULES", value, SET_VAL, "commas")
    accepted(jobs, {"OPENLAPI_MODULES": "verbs,dpdk", "OPENLAPI_LIBRARY_FOLDER": "/nowhere"})
    result = user_space(jobs, 1, None, "none", OPENLAPI_LIBRARY_FOLDER="/nowhere")
    expect("none: libopenlapi-none.so is not installed: it was looked for in /nowhere)" in result.err, result)
    result = user_space(jobs, 1, None, "none")
    expect_equal(result.value("code"), CSS_LOAD_FAILED, result)
    expect("it has no openlapi_transport_module" in result.err, result)
    result = user_space(jobs, 1, None, None, OPENLAPI_LIBRARY_FOLDER=None, MP_EUIDEVICE="no_such_device")
    expect_equal(result.value("code"), CSS_LOAD_FAILED, result)
    expect("(verbs: " in result.err and "; dpdk: " in result.err, f"the default order is another\n{result}")


def test_user_space_mode_takes_the_first_module_that_serves(jobs):
    both = [(0, 1), (1, 0)]
    for device in (None, "sn_single", "sn_all", "en0"):
        result = user_space(jobs, 2, device, "first,second", MP_INFOLEVEL="2")
        expect_equal((result.status, result.value("code"), result.value("protocol")), (0, SUCCESS, DEV_NONE), result)
        expect(result.value("network_bytes") > 100000 and result.value("shared_bytes") == 0, result)
        expect_ways(result, over(both, "udp", "first"))
        expect_equal("'en0' is no adapter" in result.err, device == "en0", result)
    result = user_space(jobs, 2, "second", "absent,first,second", MP_INFOLEVEL="2")
    expect_equal(result.status, 0, result)
    expect_ways(result, over(both, "udp", "second"))
    expect("first is not used: there is no device 'second'" in result.err, result)
    expect("absent is not used: libopenlapi-absent.so is not installed" in result.err, result)
    result = user_space(jobs, 2, "no_such_device", "first,second", MP_LAPI_NETWORK="@2:164,sn0:165,second",
                        MP_INFOLEVEL="2")
    expect_equal(result.status, 0, result)
    expect_ways(result, over(both, "udp", "first"))
    result = user_space(jobs, 2, None, "first", MP_INFOLEVEL="1")
    expect(result.status == 0 and "is not used" not in result.err, result)


def test_user_space_mode_chooses_for_each_pair(jobs):
    # Task 2 has the second module only, the others have both.
    program = jobs.program("api_init_probe")
    script = f"if [ $PMIX_RANK = 2 ]; then export MP_EUIDEVICE=second; fi; exec {program} "
    for authentication, with_tags in (("auto", 0), ("yes", 3)):
        result = user_space(jobs, 3, None, "first,second", words=["/bin/sh", "-c", script], MP_INFOLEVEL="2",
                            OPENLAPI_PACKET_AUTH=authentication)
        expect_equal(result.status, 0, result)
        expect(over([(0, 1)], "udp", "first") <= ways(result), result)
        expect(over([(0, 2), (1, 2), (2, 0)], "udp", "second") <= ways(result), result)
        expect_equal(result.err.count("packets carry tags"), with_tags, result)


def opened(result):
    """By task, the devices of the test's module that a context opens."""
    devices = {}
    for line in result.err.splitlines():
        port, _, rest = line.partition("over a port. ")[2].partition(", first ")
        if port.startswith("task ") and rest:
            devices.setdefault(int(port[5:]), []).append(rest.partition(",")[0])
    return devices


def test_user_space_mode_chooses_devices_as_table_12_says(jobs):
    one, other, far, down = "127.1.0.2", "127.1.0.3", "127.2.0.2", "127.3.1.9"
    for device, instances, wanted in ((None, None, ([one], [other])), ("sn_single", None, ([one], [other])),
                                      (None, "2", ([one, other], [other, one])),
                                      ("sn_single", "Max", ([one, other], [other, one])), ("sn0", "1", ([one], [other])),
                                      ("sn_all", None, ([one, far], [other, far])),
                                      ("sn_all", "2", ([one, far, other], [other, far, one]))):
        result = user_space(jobs, 2, device, "first", MP_INFOLEVEL="2", MP_INSTANCES=instances,
                            first_DEVICES=f"{one} {far} {other} {down}")
        expect_equal((result.status, result.value("code")), (0, SUCCESS), f"{device}, {instances}\n{result}")
        expect_equal(opened(result), dict(enumerate(wanted)), f"{device}, {instances}\n{result}")
    for windows, wanted in (("@1:164,sn0", ([one], [other])), ("@2:164,sn0:165,sn1", ([one, far], [other, far])),
                            ("@3:164,sn0:165,sn1:166,sn2", ([one, far, other], [other, far, one]))):
        result = user_space(jobs, 2, None, "first", MP_INFOLEVEL="2", MP_LAPI_NETWORK=windows, MP_INSTANCES="8",
                            first_DEVICES=f"{one} {far} {other} {down}")
        expect_equal(opened(result), dict(enumerate(wanted)), f"{windows}\n{result}")
    result = user_space(jobs, 2, "sn_all", "first", MP_INFOLEVEL="2", MP_INSTANCES="max",
                        first_DEVICES=" ".join(f"127.{network}.0.{last}" for network in (1, 2) for last in range(2, 9)))
    expect_equal([len(devices) for devices in opened(result).values()], [8, 8], result)


def test_tasks_with_different_devices_meet_on_their_common_networks(jobs):
    program = jobs.program("api_init_probe")
    for task, devices, device, way in ((1, "127.2.0.3 127.3.0.3", "sn_all", "127.2.0."),
                                       (0, "127.2.0.3", "sn_all", "127.2.0."),
                                       (1, "", "sn_all", "first"), (1, "127.1.0.9", "127.1.0.9", "")):
        script = (f"if [ $PMIX_RANK = {task} ]; then export first_DEVICES='{devices}' MP_EUIDEVICE={device}; fi; "
                  f"exec {program}")
        result = user_space(jobs, 2, "sn_all", "first", words=["/bin/sh", "-c", script], MP_INFOLEVEL="2",
                            first_DEVICES="127.1.0.2 127.2.0.2")
        expect_equal((result.status, result.out.count("ended 1")), (0, 2), f"{devices}\n{result}")
        said = {way_of_task for way_of_task in ways(result) if way_of_task.startswith(f"task {task} reaches")}
        expect(len(said) == 1 and f"udp, {way}" in said.pop(), f"{devices}\n{result}")


def test_what_instances_a_context_has_in_user_space_mode_is_said(jobs):
    for device, instances, said in (("sn_single", "5", "=5: a context of task 0 has 2, one for"),
                                    ("sn_all", "2", "=2: a context of task 0 has 3 on 2 networks, one for"),
                                    ("sn_all", "1", None), ("sn_single", "2", None), ("sn_all", "max", None)):
        result = user_space(jobs, 2, device, "first", MP_INFOLEVEL="1", MP_INSTANCES=instances,
                            first_DEVICES="127.1.0.2 127.1.0.3 127.2.0.2")
        expect_equal((result.status, result.err.count("openlapi: MP_INSTANCES")), (0, 0 if said is None else 1), result)
        expect(said is None or f"openlapi: MP_INSTANCES{said} each adapter that it opens" in result.err, result)
    result = user_space(jobs, 2, "sn_all", "first", MP_INFOLEVEL="1", first_DEVICES="127.1.0.2")
    expect("what task 0 has is all on one adapter, 127.1.0.2: failover" in result.err, result)


def test_shared_memory_needs_no_module(jobs):
    result = user_space(jobs, 2, None, "absent", LAPI_USE_SHM="yes", MP_INFOLEVEL="2")
    expect_equal((result.status, result.value("protocol")), (0, DEV_SHM), result)
    expect_ways(result, {"task 0 reaches task 1 over shm", "task 1 reaches task 0 over shm"})


def test_adapters(jobs):
    all_talked(over_udp(jobs, 2, "adapter=lo"), DEV_UDP)
    result = over_udp(jobs, 1, "adapter=wlan77", "silent")[0]
    expect_equal(result.value("code"), CSS_LOAD_FAILED, result)
    expect("wlan77" in result.err and "lo" in result.err, result.err)
    for device in ("lo", "sn_single", "sn_all", "en0", "csss", "ml0", "fi0", "tr0"):
        result = jobs.launch(2, ["api_init_probe"], LAPI_USE_SHM="no", MP_EUIDEVICE=device)
        expect_equal((result.status, result.value("protocol"), result.out.count("ended 1")), (0, DEV_UDP, 2), result)
    result = jobs.launch(1, ["api_init_probe", "silent"], LAPI_USE_SHM="no", MP_EUIDEVICE="en0", MP_INFOLEVEL="1")
    expect("MP_EUIDEVICE" in result.err and "en0" in result.err, result)
    for device in ("wlan77", "SN_ALL"):
        result = jobs.launch(1, ["api_init_probe", "silent"], LAPI_USE_SHM="no", MP_EUIDEVICE=device)
        expect_equal(result.value("code"), CSS_LOAD_FAILED, result)
        expect(f"MP_EUIDEVICE='{device}'" in result.err and "sn_single or sn_all" in result.err, result.err)


def test_udp_addresses_that_cannot_be_used(jobs):
    result = jobs.alone(LAPI_USE_SHM="no")
    expect_equal(result.value("code"), NO_UDP_HNDLR, result)
    expect("udp_hndlr" in result.err, result.err)
    for port in ("0", "65536", "99999999"):
        result = jobs.alone(f"list=127.0.0.1:{port}", LAPI_USE_SHM="no")
        expect_equal(result.value("code"), UDP_PORT_INFO, result)
        expect(port in result.err and "65535" in result.err, result.err)
    result = jobs.alone("list=127.0.0.1:4000", "entries=1", LAPI_USE_SHM="no", MP_PROCS="2", MP_COMMON_TASKS="1:1")
    expect_equal(result.value("code"), NO_UDP_HNDLR, result)
    expect("num_udp_addr" in result.err, result.err)


def test_a_port_that_is_taken(jobs):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        result = jobs.alone(f"list=127.0.0.1:{port}", LAPI_USE_SHM="no")
        expect_equal(result.value("code"), UDP_SOCKET, result)
        expect(str(port) in result.err, result.err)


def test_on_one_node_instances_change_nothing(jobs):
    """A context opens an adapter for each address of MP_LAPI_INET_ADDR, else the loopback."""
    for value in (None, "1", "4", "max"):
        all_talked(over_udp(jobs, 2, MP_INSTANCES=value), DEV_UDP)
        for addresses, opened in ((None, 1), ("@2:127.0.0.1,lo:127.0.0.2,lo", 2)):
            result = jobs.launch(1, ["api_init_probe", "silent"], LAPI_USE_SHM="no", MP_INSTANCES=value,
                                 MP_INFOLEVEL="2", MP_LAPI_INET_ADDR=addresses)
            expect_equal((result.value("code"), result.err.count("0031-509")), (SUCCESS, opened), f"{value}\n{result}")


def test_instances(jobs):
    for number in (1, 16):
        expect_equal(jobs.alone(f"instance={number}").value("instance"), number, "")
    expect_equal(jobs.alone().value("instance"), 1, "")
    result = jobs.alone("instance=17")
    expect_equal(result.value("code"), ALL_HNDL_IN_USE, result)
    expect("17" in result.err and "16" in result.err, result.err)


# ---- shared memory, messages ----

def test_the_epoch_is_ignored(jobs):
    """epoch_num may be anything, and differ from task to task."""
    for shared, protocol in (("no", DEV_UDP), ("only", DEV_SHM)):
        plain = None
        for epoch in (0, 1, 77, 2**32 - 2):
            if shared == "no":
                results = over_udp(jobs, 2, f"epoch={epoch}")
            else:
                results = jobs.standalone(2, ["api_init_probe", f"epoch={epoch}"], LAPI_USE_SHM=shared)
            all_talked(results, protocol)
            said = [result.out for result in results]
            plain = plain or said
            if shared == "only":  # packets differ from run to run
                expect_equal(said, plain, f"epoch_num {epoch}")


def test_use_of_shared_memory(jobs):
    for use, enabled, protocol in (("no", 0, DEV_UDP), ("yes", 1, DEV_SHM), ("only", 1, DEV_SHM)):
        result = jobs.launch(2, ["api_init_probe"], LAPI_USE_SHM=use)
        seen = (result.status, result.value("shm_enabled"), result.value("protocol"), result.out.count("ended 1"))
        expect_equal(seen, (0, enabled, protocol, 2), f"LAPI_USE_SHM={use}\n{result}")
        expect_equal(result.value("shm_tasks"), 2 * enabled, result)
    # lapirun's own default is yes.
    expect_equal(jobs.launch(2, ["api_init_probe"]).value("shm_enabled"), 1, "default under lapirun")
    # And no without a launcher.
    results = over_udp(jobs, 2, LAPI_USE_SHM=None)
    all_talked(results, DEV_UDP)
    expect_equal([result.value("shm_enabled") for result in results], [0, 0], "default without a launcher")


def test_attention_messages_obey_the_level(jobs):
    for level in range(7):
        result = over_udp(jobs, 1, "silent", LAPI_USE_SHM="yes", MP_INFOLEVEL=str(level))[0]
        expect_equal(result.value("code"), SUCCESS, result)
        expect_equal("0031-501" in result.err, level >= 2, f"version at level {level}\n{result.err}")
        expect_equal("0031-504" in result.err, level >= 2, f"one task at level {level}\n{result.err}")
        expect_equal("openlapi 0.2.0, built" in result.err, level >= 2, result.err)
    result = over_udp(jobs, 1, "silent", MP_INFOLEVEL="2")[0]
    expect("0031-509" in result.err, f"initial port\n{result.err}")
    result = jobs.alone(MP_LAPI_TRACE_LEVEL="3", MP_INFOLEVEL="1")
    expect("MP_LAPI_TRACE_LEVEL" in result.err, result.err)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
