! SPDX-License-Identifier: Apache-2.0
!
! lapif.h - LAPI for Fortran. include 'lapif.h' goes
! where declarations go, in free and in fixed form. "Chapter" and
! "table" are those of the LAPI Programming Guide. lapif(7) says how
! programs are compiled.
!
! Every call is a subroutine that gets its arguments by reference and
! the return code in its last one, ierror:
!   call LAPI_PUT(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr,
!                 org_cntr, cmpl_cntr, ierror)
! - Addresses in another task (tgt_addr, tgt_var, tgt_cntr, tgt_vec)
!   are integers of kind LAPI_ADDR_TYPE that hold them. LAPI_ADDRESS
!   gives the address of a variable or procedure. The same is true of
!   org_addr of LAPI_GET, my_addr of LAPI_ADDRESS_INIT, addr of
!   LAPI_ADDR_SET and of all addresses inside derived types.
! - Other data is the variable itself: org_addr of LAPI_PUT, uhdr and
!   udata of LAPI_AMSEND, in_val, counters of this task.
! - LAPI_ADDR_NULL stands for a null pointer wherever C allows one. It
!   is a variable that nobody may change, not a constant.
! - hdr_hdl is a procedure (EXTERNAL), an integer that holds an index
!   of LAPI_ADDR_SET, or one of kind LAPI_ADDR_TYPE that holds the
!   address of a procedure of the target.
! - Handlers have the arguments of chapter 18. A header handler is an
!   integer(kind=LAPI_ADDR_TYPE) function; its comp_h is one, too, and
!   gets the completion handler's address from LAPI_ADDRESS.
! - Each call has a twin PLAPI_x (chapter 9). There are no interface
!   blocks: an argument may have any type that has the right bytes.
!   The module lapi (lapi.f90) has them: use lapi.

! ---- Kinds (appendix E) ----
! Bytes of an address: 8, and 4 in the copy for 32-bit tasks, which
! differs in this line alone.
      integer, parameter :: LAPI_WORD_SIZE = 8
      integer, parameter :: LAPI_ADDR_TYPE = LAPI_WORD_SIZE
      integer, parameter :: LAPI_LONG_TYPE = LAPI_WORD_SIZE
      integer, parameter :: LAPI_LONG_LONG_TYPE = 8
! Holes that only 64-bit or only 32-bit tasks have are arrays.
      integer, parameter :: LAPI_PAD64 = (LAPI_WORD_SIZE - 4) / 4
      integer, parameter :: LAPI_PAD32 = 1 - LAPI_PAD64

      integer(kind=LAPI_ADDR_TYPE) :: LAPI_ADDR_NULL
      common /lapi_fortran_null/ LAPI_ADDR_NULL
      bind(c, name='lapi_fortran_null') :: /lapi_fortran_null/

! ---- Limits (appendix F) ----
      integer(kind=LAPI_LONG_TYPE) :: LAPI_MAX_MSG_SZ
      parameter (LAPI_MAX_MSG_SZ = huge(0_LAPI_LONG_TYPE))
      integer, parameter :: TRUE = 1
      integer, parameter :: FALSE = 0
      integer, parameter :: LAPI_MAX_ERR_STRING = 160
      integer, parameter :: MAX_NODES = 2048
      integer, parameter :: MAX_TASKS = 16384
      integer, parameter :: MAX_SHM_TASKS = 128
      integer, parameter :: MAX_SLOTS_PER_TASK = 128

! ---- Return codes (appendix C) ----
      integer, parameter :: LAPI_SUCCESS = 0
      integer, parameter :: LAPI_ERR_UNKNOWN = 400
      integer, parameter :: LAPI_ERR_ALL_HNDL_IN_USE = 401
      integer, parameter :: LAPI_ERR_BOTH_NETSTR_SET = 402
      integer, parameter :: LAPI_ERR_CSS_LOAD_FAILED = 404
      integer, parameter :: LAPI_ERR_INFO_NULL = 405
      integer, parameter :: LAPI_ERR_MSG_API = 406
      integer, parameter :: LAPI_ERR_NO_NETSTR_SET = 407
      integer, parameter :: LAPI_ERR_NO_UDP_HNDLR = 408
      integer, parameter :: LAPI_ERR_HDR_HNDLR_NULL = 409
      integer, parameter :: LAPI_ERR_PSS_NON_ROOT = 410
      integer, parameter :: LAPI_ERR_SHM_KE_NOT_LOADED = 412
      integer, parameter :: LAPI_ERR_TIMEOUT = 413
      integer, parameter :: LAPI_ERR_REG_TIMER = 414
      integer, parameter :: LAPI_ERR_UDP_PKT_SZ = 415
      integer, parameter :: LAPI_ERR_USER_UDP_HNDLR_FAIL = 416
      integer, parameter :: LAPI_ERR_HNDL_INVALID = 417
      integer, parameter :: LAPI_ERR_RET_PTR_NULL = 418
      integer, parameter :: LAPI_ERR_ADDR_HNDL_RANGE = 419
      integer, parameter :: LAPI_ERR_ADDR_TBL_NULL = 420
      integer, parameter :: LAPI_ERR_TGT_PURGED = 421
      integer, parameter :: LAPI_ERR_MULTIPLE_WAITERS = 422
      integer, parameter :: LAPI_ERR_MEMORY_EXHAUSTED = 423
      integer, parameter :: LAPI_ERR_INFO_NONZERO = 424
      integer, parameter :: LAPI_ERR_INFO_NONZERO_INFO = 424
      integer, parameter :: LAPI_ERR_ORG_ADDR_NULL = 425
      integer, parameter :: LAPI_ERR_TGT_ADDR_NULL = 426
      integer, parameter :: LAPI_ERR_DATA_LEN = 427
      integer, parameter :: LAPI_ERR_TGT = 428
      integer, parameter :: LAPI_ERR_UHDR_NULL = 429
      integer, parameter :: LAPI_ERR_UHDR_LEN = 430
      integer, parameter :: LAPI_ERR_HDR_LEN = 431
      integer, parameter :: LAPI_ERR_ORG_EXTENT = 432
      integer, parameter :: LAPI_ERR_ORG_STRIDE = 433
      integer, parameter :: LAPI_ERR_NO_CONNECTIVITY = 434
      integer, parameter :: LAPI_ERR_ADAPTERS_DOWN = 435
      integer, parameter :: LAPI_ERR_RECV_INCOMP = 436
      integer, parameter :: LAPI_ERR_SEND_INCOMP = 437
      integer, parameter :: LAPI_ERR_SEND_TIMEOUT = 438
      integer, parameter :: LAPI_ERR_SHM_SETUP = 439
      integer, parameter :: LAPI_ERR_ORG_VEC_ADDR = 440
      integer, parameter :: LAPI_ERR_ORG_VEC_LEN = 441
      integer, parameter :: LAPI_ERR_ORG_VEC_NULL = 442
      integer, parameter :: LAPI_ERR_ORG_VEC_TYPE = 443
      integer, parameter :: LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL = 444
      integer, parameter :: LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL = 445
      integer, parameter :: LAPI_ERR_TGT_EXTENT = 446
      integer, parameter :: LAPI_ERR_TGT_STRIDE = 447
      integer, parameter :: LAPI_ERR_TGT_VEC_ADDR = 448
      integer, parameter :: LAPI_ERR_TGT_VEC_LEN = 449
      integer, parameter :: LAPI_ERR_TGT_VEC_NULL = 451
      integer, parameter :: LAPI_ERR_TGT_VEC_TYPE = 452
      integer, parameter :: LAPI_ERR_VEC_NUM_DIFF = 453
      integer, parameter :: LAPI_ERR_VEC_TYPE_DIFF = 454
      integer, parameter :: LAPI_ERR_VEC_LEN_DIFF = 455
      integer, parameter :: LAPI_ERR_MSG_INFO_NULL = 456
      integer, parameter :: LAPI_ERR_CNTR_NULL = 458
      integer, parameter :: LAPI_ERR_CNTR_VAL = 459
      integer, parameter :: LAPI_ERR_QUERY_TYPE = 460
      integer, parameter :: LAPI_ERR_IN_VAL_NULL = 461
      integer, parameter :: LAPI_ERR_RMW_OP = 462
      integer, parameter :: LAPI_ERR_TGT_VAR_NULL = 463
      integer, parameter :: LAPI_ERR_SET_VAL = 464
      integer, parameter :: LAPI_ERR_DGSP = 465
      integer, parameter :: LAPI_ERR_DGSP_ATOM = 466
      integer, parameter :: LAPI_ERR_DGSP_BRANCH = 467
      integer, parameter :: LAPI_ERR_DGSP_CTL = 468
      integer, parameter :: LAPI_ERR_DGSP_COPY_SZ = 469
      integer, parameter :: LAPI_ERR_DGSP_FREE = 470
      integer, parameter :: LAPI_ERR_DGSP_OPC = 471
      integer, parameter :: LAPI_ERR_DGSP_REPS = 472
      integer, parameter :: LAPI_ERR_DGSP_STACK = 473
      integer, parameter :: LAPI_ERR_OP_SZ = 474
      integer, parameter :: LAPI_ERR_UDP_PORT_INFO = 475
      integer, parameter :: LAPI_ERR_XFER_CMD = 476
      integer, parameter :: LAPI_ERR_UTIL_CMD = 477
      integer, parameter :: LAPI_ERR_CATALOG_FAIL = 478
      integer, parameter :: LAPI_ERR_PACK_SZ = 479
      integer, parameter :: LAPI_ERR_DGSP_OTHER = 480
      integer, parameter :: LAPI_ERR_UDP_SOCKET = 481
      integer, parameter :: LAPI_ERR_COLLECTIVE_PSS = 482
      integer, parameter :: LAPI_ERR_TGT_CONTEXT = 492
      integer, parameter :: LAPI_ERR_SRC_CONTEXT = 493
      integer, parameter :: LAPI_ERR_TGT_BUFHNDL = 494
      integer, parameter :: LAPI_ERR_SRC_BUFHNDL = 495
      integer, parameter :: LAPI_ERR_TGT_OFFSET = 496
      integer, parameter :: LAPI_ERR_SRC_OFFSET = 497
      integer, parameter :: LAPI_ERR_NO_RDMA_RESOURCE = 498
      integer, parameter :: LAPI_ERR_NO_ENV_VAR = 510
      integer, parameter :: LAPI_ERR_CODE_UNKNOWN = 511

! Numbers of attention messages: printed, never returned.
      integer, parameter :: LAPI_ATTENTION_FAILOVER_INTERNAL = 485
      integer, parameter :: LAPI_ATTENTION_FAILOVER_NO_NAM = 486
      integer,parameter::LAPI_ATTENTION_FAILOVER_NO_GROUP_SERVICES=487
      integer, parameter :: LAPI_ATTENTION_FAILOVER_OLD_POE = 488
      integer, parameter :: LAPI_ATTENTION_FAILOVER_NO_POE = 489
      integer, parameter :: LAPI_ATTENTION_FAILOVER_OTHER_DEVICE = 490
      integer, parameter :: LAPI_ATTENTION_FAILOVER_HALTED = 491
      integer, parameter :: LAPI_ATTENTION_BULK_ENABLED = 499
      integer, parameter :: LAPI_ATTENTION_TIMEOUT = 500
      integer, parameter :: LAPI_ATTENTION_VERSION = 501
      integer, parameter :: LAPI_ATTENTION_SHM_INIT_FAILED = 502
      integer, parameter :: LAPI_ATTENTION_SHM_RESTART_FAILED = 503
      integer, parameter :: LAPI_ATTENTION_SHM_ONE_TASK = 504
      integer, parameter :: LAPI_ATTENTION_SHM_CREATE_FAILED = 505
      integer, parameter :: LAPI_ATTENTION_SHM_GET_FAILED = 506
      integer, parameter :: LAPI_ATTENTION_SHM_ATTACH_FAILED = 507
      integer, parameter :: LAPI_ATTENTION_SHM_RESERVE_FAILED = 508
      integer, parameter :: LAPI_ATTENTION_INITIAL_PORT = 509

! ---- Queries of LAPI_QENV and LAPI_SENV ----
      integer, parameter :: TASK_ID = 0
      integer, parameter :: NUM_TASKS = 1
      integer, parameter :: MAX_UHDR_SZ = 2
      integer, parameter :: MAX_DATA_SZ = 3
      integer, parameter :: ERROR_CHK = 4
      integer, parameter :: TIMEOUT = 5
      integer, parameter :: MIN_TIMEOUT = 6
      integer, parameter :: MAX_TIMEOUT = 7
      integer, parameter :: INTERRUPT_SET = 8
      integer, parameter :: MAX_PORTS = 9
      integer, parameter :: MAX_PKT_SZ = 10
      integer, parameter :: NUM_REX_BUFS = 11
      integer, parameter :: REX_BUF_SZ = 12
      integer, parameter :: LOC_ADDRTBL_SZ = 13
      integer, parameter :: EPOCH_NUM = 14
      integer, parameter :: USE_THRESH = 15
      integer, parameter :: RCV_FIFO_SIZE = 16
      integer, parameter :: MAX_ATOM_SIZE = 17
      integer, parameter :: BUF_CP_SIZE = 18
      integer, parameter :: MAX_PKTS_OUT = 19
      integer, parameter :: ACK_THRESHOLD = 20
      integer, parameter :: QUERY_SHM_ENABLED = 21
      integer, parameter :: QUERY_SHM_NUM_TASKS = 22
      integer, parameter :: QUERY_SHM_TASKS = 23
      integer, parameter :: QUERY_STATISTICS = 24
      integer, parameter :: PRINT_STATISTICS = 25
      integer, parameter :: QUERY_SHM_STATISTICS = 26
      integer, parameter :: QUERY_LOCAL_SEND_STATISTICS = 27
      integer, parameter :: BULK_XFER = 28
      integer, parameter :: BULK_MIN_MSG_SIZE = 29
      integer, parameter :: LAST_QUERY = 30

      type LAPI_STATISTICS_T
        sequence
        integer(kind=LAPI_LONG_LONG_TYPE) :: Tot_dup_pkt_cnt
        integer(kind=LAPI_LONG_LONG_TYPE) :: Tot_retrans_pkt_cnt
        integer(kind=LAPI_LONG_LONG_TYPE) :: Tot_gho_pkt_cnt
        integer(kind=LAPI_LONG_LONG_TYPE) :: Tot_pkt_sent_cnt
        integer(kind=LAPI_LONG_LONG_TYPE) :: Tot_pkt_rcv_cnt
        integer(kind=LAPI_LONG_LONG_TYPE) :: Tot_data_sent
        integer(kind=LAPI_LONG_LONG_TYPE) :: Tot_data_rcv
      end type LAPI_STATISTICS_T

! ---- Simple types (table 47) ----
! The calls take plain integers as well.
      type LAPI_ADDR_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: addr
      end type LAPI_ADDR_T
      type LAPI_HANDLE_T
        sequence
        integer(kind=4) :: val
      end type LAPI_HANDLE_T
      type LAPI_MSGLEN_T
        sequence
        integer(kind=LAPI_LONG_TYPE) :: val
      end type LAPI_MSGLEN_T
      type LAPI_DEV_T
        sequence
        integer(kind=4) :: val
      end type LAPI_DEV_T
      type LAPI_LIB_T
        sequence
        integer(kind=4) :: val
      end type LAPI_LIB_T
      type LAPI_ERR_T
        sequence
        integer(kind=4) :: val
      end type LAPI_ERR_T
      type LAPI_DG_HANDLE_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: val
      end type LAPI_DG_HANDLE_T
      type LAPI_DGSP_HANDLE_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: val
      end type LAPI_DGSP_HANDLE_T
      type LAPI_UTIL_TYPE_T
        sequence
        integer(kind=4) :: val
      end type LAPI_UTIL_TYPE_T
      type LAPI_VECTYPE_T
        sequence
        integer(kind=4) :: val
      end type LAPI_VECTYPE_T
      type LAPI_XFER_TYPE_T
        sequence
        integer(kind=4) :: val
      end type LAPI_XFER_TYPE_T
      type RMW_OPS_T
        sequence
        integer(kind=4) :: val
      end type RMW_OPS_T
      type LAPI_USR_FCALL_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: val
      end type LAPI_USR_FCALL_T
      type IN_ADDR_T
        sequence
        integer(kind=4) :: val
      end type IN_ADDR_T
      type IN_PORT_T
        sequence
        integer(kind=2) :: val
      end type IN_PORT_T
! Addresses of handlers.
      type COMPL_HNDLR_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: addr
      end type COMPL_HNDLR_T
      type SCOMPL_HNDLR_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: addr
      end type SCOMPL_HNDLR_T
      type HDR_HNDLR_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: addr
      end type HDR_HNDLR_T
      type VHDR_HNDLR_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: addr
      end type VHDR_HNDLR_T
      type DDM_FUNC_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: addr
      end type DDM_FUNC_T

! ---- Counters and progress (chapters 6 and 19) ----
! All bytes zero: a counter of value 0.
      type LAPI_CNTR_T
        sequence
        integer(kind=4) :: cntr
        integer(kind=4) :: num_dest
        integer(kind=LAPI_LONG_LONG_TYPE) :: dest_list
        integer(kind=LAPI_LONG_LONG_TYPE) :: dest_status
        integer(kind=LAPI_LONG_LONG_TYPE) :: reserve
      end type LAPI_CNTR_T

! Values of the status array of LAPI_SETCNTR_WSTATUS.
      integer, parameter :: LAPI_MSG_INITIAL = 0
      integer, parameter :: LAPI_MSG_RECVD = 1
      integer, parameter :: LAPI_MSG_PURGED = 2
      integer, parameter :: LAPI_MSG_PURGED_RCVD = 3
      integer, parameter :: LAPI_MSG_INVALID = 4

! LAPI_MSGPOLL: bits of status.
      integer, parameter :: LAPI_DISP_CNTR = 1
      integer, parameter :: LAPI_SEND_COMPLETE = 2
      integer, parameter :: LAPI_RECV_COMPLETE = 4
      integer, parameter :: LAPI_BOTH_COMPLETE = 8
      integer, parameter :: LAPI_POLLING_NET = 16
! The guide passes LAPI_MSG_STATE_T where C passes lapi_msg_info_t: the
! two are the same here.
      type LAPI_MSG_INFO_T
        sequence
        integer(kind=4) :: status, pad(LAPI_PAD64)
        integer(kind=LAPI_LONG_TYPE) :: reserve(10)
      end type LAPI_MSG_INFO_T
      type LAPI_MSG_STATE_T
        sequence
        integer(kind=4) :: status, pad(LAPI_PAD64)
        integer(kind=LAPI_LONG_TYPE) :: reserve(10)
      end type LAPI_MSG_STATE_T

! ---- Handlers (chapters 6, 7 and 11) ----
      integer, parameter :: LAPI_NORMAL = 0
      integer, parameter :: LAPI_LOCAL_STATE = 1
      integer, parameter :: LAPI_SEND_REPLY = 2
      integer, parameter :: LAPI_DELIVER_MSG = 0
      integer, parameter :: LAPI_BURY_MSG = 1
      integer, parameter :: LAPI_DROP_PKT = 2
      integer, parameter :: LAPI_INTERNAL_ERROR = 0
      integer, parameter :: LAPI_COMMUNICATION_ERROR = 1
      integer, parameter :: LAPI_PROGRAM_ERROR = 2
! What a header handler's argument msg_len really is.
      type LAPI_RETURN_INFO_T
        sequence
        integer(kind=LAPI_LONG_TYPE) :: msg_len
        integer(kind=4) :: MAGIC, ret_flags, ctl_flags, pad(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: dgsp_handle
        integer(kind=LAPI_LONG_TYPE) :: bytes
        integer(kind=4) :: src, pad2(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: udata_one_pkt_ptr
      end type LAPI_RETURN_INFO_T
      type LAPI_SH_INFO_T
        sequence
        integer(kind=4) :: src, reason
        integer(kind=LAPI_LONG_TYPE) :: reserve(6)
      end type LAPI_SH_INFO_T

! ---- Initialization (chapters 5, 16 and 18) ----
      integer, parameter :: LAPI_DEV_NONE = 0
      integer, parameter :: LAPI_DEV_UDP = 1
      integer, parameter :: LAPI_DEV_SHM = 2
      integer, parameter :: LAPI_DEV_VERBS = 3
      integer, parameter :: LAPI_DEV_DPDK = 4
      integer, parameter :: L1_LIB = 0
      integer, parameter :: L2_LIB = 1
      integer, parameter :: LAST_LIB = 2
      type LAPI_UDP_T
        sequence
        integer(kind=4) :: ip_addr, port_no
      end type LAPI_UDP_T
      type LAPI_UDPINFO_T
        sequence
        integer(kind=4) :: task_id, num_tasks, instance_no
      end type LAPI_UDPINFO_T
      type LAPI_EXTEND_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: udp_hdlr, add_udp_addrs
        integer(kind=4) :: num_udp_addr, pad(LAPI_PAD64)
      end type LAPI_EXTEND_T
      type COM_THREAD_INFO_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: attr, init_func, init_arg
      end type COM_THREAD_INFO_T
! Set every field to 0, then those that are wanted.
      type LAPI_INFO_T
        sequence
        integer(kind=4) :: protocol, lib_vers, epoch_num
        integer(kind=4) :: num_compl_hdlr_thr, instance_no, info6
        integer(kind=LAPI_ADDR_TYPE) :: err_hdlr, lapi_thread_attr
        integer(kind=LAPI_ADDR_TYPE) :: adapter_name, add_info
      end type LAPI_INFO_T

! ---- Read-modify-write ----
      integer, parameter :: COMPARE_AND_SWAP = 0
      integer, parameter :: FETCH_AND_ADD = 1
      integer, parameter :: FETCH_AND_OR = 2
      integer, parameter :: SWAP = 3

! ---- Vectors (chapter 6); info and len: addresses of arrays ----
      integer, parameter :: LAPI_GEN_GENERIC = 0
      integer, parameter :: LAPI_GEN_IOVECTOR = 1
      integer, parameter :: LAPI_GEN_STRIDED_XFER = 2
      type LAPI_VEC_T
        sequence
        integer(kind=4) :: vec_type, num_vecs
        integer(kind=LAPI_ADDR_TYPE) :: info, len
      end type LAPI_VEC_T
      type LAPI_LVEC_T
        sequence
        integer(kind=4) :: vec_type, num_vecs
        integer(kind=LAPI_ADDR_TYPE) :: info, len
      end type LAPI_LVEC_T

! ---- Data gather/scatter programs (chapter 6) ----
      integer, parameter :: LAPI_DGSM_SPARSE = 0
      integer, parameter :: LAPI_DGSM_CONTIG = 1
      integer, parameter :: LAPI_DGSM_UNIT = 2
      type LAPI_DGSP_DESCR_T
        sequence
        integer(kind=LAPI_ADDR_TYPE) :: code
        integer(kind=4) :: code_size, depth, density, pad(LAPI_PAD64)
        integer(kind=LAPI_LONG_TYPE) :: size, extent, lext, rext
        integer(kind=4) :: atom_size, pad2(LAPI_PAD64)
      end type LAPI_DGSP_DESCR_T
      integer, parameter :: LAPI_DGSM_COPY = 1
      integer, parameter :: LAPI_DGSM_MCOPY = 2
      integer, parameter :: LAPI_DGSM_GOSUB = 3
      integer, parameter :: LAPI_DGSM_ITERATE = 4
      integer, parameter :: LAPI_DGSM_CONTROL = 5
      integer, parameter :: LAPI_DGSM_NO_CTL = -1
! Programs are arrays of integer(kind=4). A long field is one or two
! of those, the low half first: transfer(value, field) makes one.
      integer, parameter :: LAPI_HALVES = LAPI_WORD_SIZE / 4
! Lengths of the instructions in integers.
      integer, parameter :: LAPI_DGSM_COPY_SIZE = 1 + 2 * LAPI_HALVES
      integer, parameter :: LAPI_DGSM_MCOPY_SIZE = 2 + 2 * LAPI_HALVES
      integer, parameter :: LAPI_DGSM_MCOPY_BLOCK_SIZE=2*LAPI_HALVES
      integer, parameter :: LAPI_DGSM_GOSUB_SIZE = 4 + 2 * LAPI_HALVES
      integer, parameter :: LAPI_DGSM_ITERATE_SIZE = 2
      integer, parameter :: LAPI_DGSM_CONTROL_SIZE = 3
      type LAPI_DGSM_COPY_T
        sequence
        integer(kind=4) :: opcode, bytes(LAPI_HALVES)
        integer(kind=4) :: offset(LAPI_HALVES)
      end type LAPI_DGSM_COPY_T
      type LAPI_DGSM_BLOCK_T
        sequence
        integer(kind=4) :: block_disp(LAPI_HALVES)
        integer(kind=4) :: block_len(LAPI_HALVES)
      end type LAPI_DGSM_BLOCK_T
      type LAPI_DGSM_MCOPY_T
        sequence
        integer(kind=4) :: opcode, count
        type(LAPI_DGSM_BLOCK_T) :: block(1)
      end type LAPI_DGSM_MCOPY_T
      type LAPI_DGSM_GOSUB_T
        sequence
        integer(kind=4) :: opcode, reps, offset(LAPI_HALVES)
        integer(kind=4) :: stride(LAPI_HALVES)
        integer(kind=4) :: to_loc, ret_loc
      end type LAPI_DGSM_GOSUB_T
      type LAPI_DGSM_ITERATE_T
        sequence
        integer(kind=4) :: opcode, iter_loc
      end type LAPI_DGSM_ITERATE_T
      type LAPI_DGSM_CONTROL_T
        sequence
        integer(kind=4) :: opcode, operation, operand
      end type LAPI_DGSM_CONTROL_T

! ---- LAPI_XFER (tables 23-31) ----
      integer, parameter :: LAPI_AM_XFER = 0
      integer, parameter :: LAPI_AMV_XFER = 1
      integer, parameter :: LAPI_DGSP_XFER = 2
      integer, parameter :: LAPI_GET_XFER = 3
      integer, parameter :: LAPI_GETV_XFER = 4
      integer, parameter :: LAPI_PUT_XFER = 5
      integer, parameter :: LAPI_PUTV_XFER = 6
      integer, parameter :: LAPI_RMW_XFER = 7
      integer, parameter :: LAPI_AM_LW_XFER = 8
! Bits of flags.
      integer, parameter :: USE_TGT_VEC_TYPE = 1
      integer, parameter :: BUFFER_BOTH_CONTIGUOUS = 2
      integer, parameter :: LAPI_NOT_USE_BULK_XFER = 4
      integer, parameter :: LAPI_USE_BULK_XFER = 8
      type LAPI_AM_T
        sequence
        integer(kind=4) :: Xfer_type, flags, tgt, pad
        integer(kind=8) :: hdr_hdl
        integer(kind=4) :: uhdr_len, pad2(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: uhdr, udata
        integer(kind=LAPI_LONG_TYPE) :: udata_len
        integer(kind=LAPI_ADDR_TYPE) :: shdlr, sinfo
        integer(kind=8) :: tgt_cntr
        integer(kind=LAPI_ADDR_TYPE) :: org_cntr, cmpl_cntr
      end type LAPI_AM_T
      type LAPI_AMV_T
        sequence
        integer(kind=4) :: Xfer_type, flags, tgt, pad
        integer(kind=8) :: hdr_hdl
        integer(kind=4) :: uhdr_len, pad2(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: uhdr, shdlr, sinfo, org_vec
        integer(kind=4) :: pad32(LAPI_PAD32)
        integer(kind=8) :: tgt_cntr
        integer(kind=LAPI_ADDR_TYPE) :: org_cntr, cmpl_cntr
      end type LAPI_AMV_T
      type LAPI_AMDGSP_T
        sequence
        integer(kind=4) :: Xfer_type, flags, tgt, pad
        integer(kind=8) :: hdr_hdl
        integer(kind=4) :: uhdr_len, pad2(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: uhdr, udata
        integer(kind=LAPI_LONG_TYPE) :: udata_len
        integer(kind=LAPI_ADDR_TYPE) :: shdlr, sinfo
        integer(kind=8) :: tgt_cntr
        integer(kind=LAPI_ADDR_TYPE) :: org_cntr, cmpl_cntr
        integer(kind=LAPI_ADDR_TYPE) :: dgsp
        integer(kind=LAPI_LONG_TYPE) :: status
      end type LAPI_AMDGSP_T
      type LAPI_GET_T
        sequence
        integer(kind=4) :: Xfer_type, flags, tgt, pad
        integer(kind=8) :: tgt_addr
        integer(kind=LAPI_ADDR_TYPE) :: org_addr
        integer(kind=LAPI_LONG_TYPE) :: len
        integer(kind=8) :: tgt_cntr
        integer(kind=LAPI_ADDR_TYPE) :: org_cntr, chndlr, cinfo
        integer(kind=4) :: pad32(LAPI_PAD32)
      end type LAPI_GET_T
      type LAPI_GETV_T
        sequence
        integer(kind=4) :: Xfer_type, flags, tgt, pad(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: org_vec, tgt_vec
        integer(kind=4) :: pad32(LAPI_PAD32)
        integer(kind=8) :: tgt_cntr
        integer(kind=LAPI_ADDR_TYPE) :: org_cntr, chndlr, cinfo
        integer(kind=4) :: pad2(LAPI_PAD32)
      end type LAPI_GETV_T
      type LAPI_PUT_T
        sequence
        integer(kind=4) :: Xfer_type, flags, tgt, pad
        integer(kind=8) :: tgt_addr
        integer(kind=LAPI_ADDR_TYPE) :: org_addr
        integer(kind=LAPI_LONG_TYPE) :: len
        integer(kind=LAPI_ADDR_TYPE) :: shdlr, sinfo
        integer(kind=8) :: tgt_cntr
        integer(kind=LAPI_ADDR_TYPE) :: org_cntr, cmpl_cntr
      end type LAPI_PUT_T
      type LAPI_PUTV_T
        sequence
        integer(kind=4) :: Xfer_type, flags, tgt, pad(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: shdlr, sinfo, org_vec, tgt_vec
        integer(kind=4) :: pad32(LAPI_PAD32)
        integer(kind=8) :: tgt_cntr
        integer(kind=LAPI_ADDR_TYPE) :: org_cntr, cmpl_cntr
      end type LAPI_PUTV_T
      type LAPI_RMW_T
        sequence
        integer(kind=4) :: Xfer_type, op, tgt, size
        integer(kind=8) :: tgt_var
        integer(kind=LAPI_ADDR_TYPE) :: in_val, prev_tgt_val, org_cntr
        integer(kind=LAPI_ADDR_TYPE) :: shdlr
        integer(kind=LAPI_ADDR_TYPE) :: sinfo
        integer(kind=4) :: pad32(LAPI_PAD32)
      end type LAPI_RMW_T
! Room for each of them.
      type LAPI_XFER_T
        sequence
        integer(kind=4) :: Xfer_type, pad
        integer(kind=8) :: fields(8 + 5 * LAPI_PAD64)
      end type LAPI_XFER_T

! ---- LAPI_UTIL (tables 14-22) ----
      integer, parameter :: LAPI_REGISTER_DGSP = 0
      integer, parameter :: LAPI_UNRESERVE_DGSP = 1
      integer, parameter :: LAPI_RESERVE_DGSP = 2
      integer, parameter :: LAPI_REG_DDM_FUNC = 3
      integer, parameter :: LAPI_ADD_UDP_DEST_PORT = 4
      integer, parameter :: LAPI_DGSP_PACK = 5
      integer, parameter :: LAPI_DGSP_UNPACK = 6
      integer, parameter :: LAPI_GET_THREAD_FUNC = 7
      type LAPI_REG_DGSP_T
        sequence
        integer(kind=4) :: Util_type, pad(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: idgsp, dgsp_handle
        integer(kind=LAPI_ADDR_TYPE) :: in_usr_func
        integer(kind=LAPI_LONG_TYPE) :: status
      end type LAPI_REG_DGSP_T
      type LAPI_RESV_DGSP_T
        sequence
        integer(kind=4) :: Util_type, pad(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: dgsp_handle
        integer(kind=LAPI_ADDR_TYPE) :: in_usr_func
        integer(kind=LAPI_LONG_TYPE) :: status
      end type LAPI_RESV_DGSP_T
      type LAPI_DREF_DGSP_T
        sequence
        integer(kind=4) :: Util_type, pad(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: dgsp_handle
        integer(kind=LAPI_ADDR_TYPE) :: in_usr_func
        integer(kind=LAPI_LONG_TYPE) :: status
      end type LAPI_DREF_DGSP_T
      type LAPI_REG_DDM_T
        sequence
        integer(kind=4) :: Util_type, pad(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: ddm_func
        integer(kind=LAPI_ADDR_TYPE) :: in_usr_func
        integer(kind=LAPI_LONG_TYPE) :: status
      end type LAPI_REG_DDM_T
      type LAPI_PACK_DGSP_T
        sequence
        integer(kind=4) :: Util_type, pad(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: dgsp_handle, in_buf
        integer(kind=LAPI_LONG_TYPE) :: bytes
        integer(kind=LAPI_ADDR_TYPE) :: out_buf
        integer(kind=LAPI_LONG_TYPE) :: out_size, position
        integer(kind=LAPI_ADDR_TYPE) :: in_usr_func
        integer(kind=LAPI_LONG_TYPE) :: status
      end type LAPI_PACK_DGSP_T
      type LAPI_UNPACK_DGSP_T
        sequence
        integer(kind=4) :: Util_type, pad(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: dgsp_handle, buf
        integer(kind=LAPI_LONG_TYPE) :: in_size
        integer(kind=LAPI_ADDR_TYPE) :: out_buf
        integer(kind=LAPI_LONG_TYPE) :: bytes, out_size, position
        integer(kind=LAPI_ADDR_TYPE) :: in_usr_func
        integer(kind=LAPI_LONG_TYPE) :: status
      end type LAPI_UNPACK_DGSP_T
      type LAPI_ADD_UDP_PORT_T
        sequence
        integer(kind=4) :: Util_type, tgt
        integer(kind=LAPI_ADDR_TYPE) :: udp_port
        integer(kind=4) :: instance_no, pad(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: in_usr_func
        integer(kind=LAPI_LONG_TYPE) :: status
      end type LAPI_ADD_UDP_PORT_T
      type LAPI_THREAD_FUNC_T
        sequence
        integer(kind=4) :: Util_type, pad(LAPI_PAD64)
        integer(kind=LAPI_ADDR_TYPE) :: mutex_lock, mutex_unlock
        integer(kind=LAPI_ADDR_TYPE) :: mutex_trylock
        integer(kind=LAPI_ADDR_TYPE) :: mutex_getowner, cond_wait
        integer(kind=LAPI_ADDR_TYPE) :: cond_timedwait
        integer(kind=LAPI_ADDR_TYPE) :: cond_signal, cond_init
        integer(kind=LAPI_ADDR_TYPE) :: cond_destroy
      end type LAPI_THREAD_FUNC_T
      type LAPI_COND_T
        sequence
        integer(kind=LAPI_LONG_LONG_TYPE) :: reserve(8)
      end type LAPI_COND_T
! Room for each of them.
      type LAPI_UTIL_T
        sequence
        integer(kind=4) :: Util_type, pad
        integer(kind=8) :: fields(4 + 5 * LAPI_PAD64)
      end type LAPI_UTIL_T
