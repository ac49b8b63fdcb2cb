#!/usr/bin/env python3
"""What calls say of arguments that they refuse: at MP_INFOLEVEL=1 the argument, its value and what is allowed.

    refusal_texts_test.py LAPIRUN PROGRAM_DIRECTORY [test...]

The programs try all refusals (and find the return codes right); here their standard error is read.
"""
import re
import sys

from api_jobs import expect, expect_equal, main

TASKS = 2
LONGEST = r"\d{10,}"
# A line for each kind of refusal. What says which address is NULL says it by the argument's name.
OF_ERRORS = [
    r"LAPI_ERR_TGT: tgt is 2; the job's tasks are 0 to 1",
    r"LAPI_ERR_TGT: tgt is 4294967295; the job's tasks are 0 to 1",
    rf"LAPI_ERR_DATA_LEN: len is {LONGEST}; allowed are 0 to {LONGEST} \(LAPI_MAX_MSG_SZ\)",
    rf"LAPI_ERR_DATA_LEN: udata_len is {LONGEST}; allowed are 0 to {LONGEST} \(LAPI_MAX_MSG_SZ\)",
    r"LAPI_ERR_HDR_LEN: uhdr_len is 911; allowed are multiples of 4 from 0 to \d+ \(MAX_UHDR_SZ\)",
    r"LAPI_ERR_UHDR_LEN: uhdr_len is 4294967292; allowed are multiples of 4 from 0 to \d+ \(MAX_UHDR_SZ\)",
    r"LAPI_ERR_RMW_OP: op is 4; allowed are \d \(COMPARE_AND_SWAP\) to 3 \(SWAP\)",
    r"LAPI_ERR_OP_SZ: size is \d+; allowed are 32 and 64 bits",
    r"LAPI_ERR_ORG_ADDR_NULL: (org_addr|udata) is NULL",
    r"LAPI_ERR_TGT_ADDR_NULL: tgt_addr is NULL",
    r"LAPI_ERR_TGT_VAR_NULL: tgt_var is NULL",
    r"LAPI_ERR_CNTR_NULL: cntr is NULL",
    r"LAPI_ERR_RET_PTR_NULL: (val|addr|ret_val|add_tab|buf) is NULL",
    r"LAPI_ERR_MSG_INFO_NULL: info is NULL",
    r"LAPI_ERR_XFER_CMD: xfer_cmd is NULL",
    r"LAPI_ERR_ADDR_HNDL_RANGE: addr_hndl is -?\d+; allowed are 1 to 255",
    r"LAPI_ERR_QUERY_TYPE: query is -?\d+; allowed are 0 to \d+",
    r"LAPI_ERR_SET_VAL: TIMEOUT is -?\d+; allowed are \d+ to \d+",
    r"LAPI_ERR_HNDL_INVALID: hndl is \d+; allowed is what LAPI_Init gave, until LAPI_Term",
    r"LAPI_ERR_XFER_CMD: Xfer_type is -?\d+; allowed are 0 to 8 \(lapi_xfer_type_t\)",
]
OF_VECTORS = [
    r"LAPI_ERR_(ORG|TGT)_VEC_NULL: (org|tgt)_vec is NULL",
    r"LAPI_ERR_(ORG|TGT)_VEC_ADDR: info\[\d+\] is (0x[0-9a-f]+|0) and len\[\d+\] \d+; there is no such memory",
    r"LAPI_ERR_(ORG|TGT)_VEC_LEN: len is NULL",
    r"LAPI_ERR_STRIDE_(ORG|TGT)_VEC_ADDR_NULL: info(\[0\], the base,)? is NULL",
    r"LAPI_ERR_(ORG|TGT)_VEC_TYPE: vec_type is \d+; allowed are 1 \(LAPI_GEN_IOVECTOR\), 2 \(LAPI_GEN_STRIDED_XFER\)",
    r"LAPI_ERR_(ORG|TGT)_STRIDE: info\[2\], the stride, is \d+; allowed is \d+, the block's size, and more",
    r"LAPI_ERR_(ORG|TGT)_EXTENT: num_vecs is \d+ and the stride \d+; their product may be \d+",
    r"LAPI_ERR_VEC_NUM_DIFF: num_vecs is \d+ here and \d+ there",
    r"LAPI_ERR_VEC_LEN_DIFF: (len\[\d+\]|the block's size) is \d+ here and \d+ there",
    r"LAPI_ERR_VEC_TYPE_DIFF: vec_type is \d here and \d there",
]
OF_PROGRAMS = [
    r"LAPI_ERR_DGSP: dgsp is NULL",
    r"LAPI_ERR_DGSP: the program's handle is 0x[0-9a-f]+; allowed is what LAPI_REGISTER_DGSP gave, until unreserved",
    r"LAPI_ERR_DGSP_(OPC|BRANCH): in the instruction at code\[\d+\]",
    r"LAPI_ERR_DGSP_CTL: the program has CONTROL instructions, which only scatter",
]
OF_RECOVERY = [
    r"LAPI_ERR_UTIL_CMD: util_cmd is NULL",
    r"LAPI_ERR_UTIL_CMD: LAPI_ADD_UDP_DEST_PORT is for tasks without a launcher that use UDP",
    r"LAPI_ERR_UDP_PORT_INFO: udp_port is NULL",
    r"LAPI_ERR_CNTR_NULL: cntr_ptr is NULL",
    r"LAPI_ERR_RET_PTR_NULL: dest_status is NULL",
    r"LAPI_ERR_MULTIPLE_WAITERS: another thread waits for the counter at 0x[0-9a-f]+ in LAPI_Nopoll_wait",
    r"EPERM: lib_vers was L1_LIB in LAPI_Init; allowed are L2_LIB and LAST_LIB",
]
OF_HANDLERS = [
    r"EDEADLK: it waits, and a handler of this thread runs; completion handlers but inline ones may",
    r"EDEADLK: it sends, and a header handler of this thread runs; its completion handler may",
    r"EDEADLK: a handler of this thread runs, or this thread holds the lock of a context",
]
LINE = re.compile(r"^openlapi: task [01]: ((?:LAPI_ERR_\w+|EPERM|EDEADLK): .*)$", re.M)


def told(jobs, program, level):
    result = jobs.launch(TASKS, [program], MP_INFOLEVEL=level)
    expect_equal(result.status, 0, result)
    return LINE.findall(result.err)


def says_all(lines, wanted):
    for pattern in wanted:
        expect(any(re.match(pattern, line) for line in lines), f"no line '{pattern}' in\n" + "\n".join(sorted(set(lines))))


def test_arguments_of_calls(jobs):
    says_all(told(jobs, "api_errors", "1"), OF_ERRORS)


def test_vectors(jobs):
    says_all(told(jobs, "api_vectors", "1") + told(jobs, "api_xfer_refusals", "1"), OF_VECTORS)


def test_programs(jobs):
    says_all(told(jobs, "api_xfer_layouts", "1"), OF_PROGRAMS)


def test_recovery(jobs):
    says_all(told(jobs, "api_recovery_errors", "1"), OF_RECOVERY)


def test_handlers(jobs):
    says_all(told(jobs, "api_handler_calls", "1"), OF_HANDLERS)


def test_nothing_is_said_at_level_0(jobs):
    expect_equal(told(jobs, "api_errors", "0"), [], "level 0 is for errors that the program cannot see")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
