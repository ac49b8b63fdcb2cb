! SPDX-License-Identifier: Apache-2.0
!
! lapi.f90 - LAPI for Fortran as a module: lapif.h, and an explicit interface of every call, so that the compiler sees
! a forgotten argument, or one of another kind. A program says `use lapi` where others include lapif.h; the calls are
! the same; lapif(7) is the page of both. For gfortran. Nothing of it has to be linked.
!
! - What may be of any type, or LAPI_ADDR_NULL, is type(*): data, counters of this task that may be left out, results.
!   gfortran is told that scalars and arrays of any rank are meant (NO_ARG_CHECK). It is passed as its address; of a
!   section with gaps gfortran passes that of a copy, which is gone when the call returns: such data takes LAPI_PUTV.
! - Where a procedure or a variable is possible the call is generic. Both specific procedures are the same function of
!   the library; bind(c) names it, as gfortran spells it, where the second one could not have the name.
module lapi
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_long
  implicit none
  private :: c_int, c_intptr_t, c_long
  include 'lapif.h'

  interface
    ! ---- Setup ----
    subroutine LAPI_INIT(hndl, lapi_info, ierror)
      import :: LAPI_INFO_T
      integer, intent(out) :: hndl, ierror
      type(LAPI_INFO_T), intent(inout) :: lapi_info
    end subroutine
    subroutine LAPI_TERM(hndl, ierror)
      integer, intent(in) :: hndl
      integer, intent(out) :: ierror
    end subroutine
    ! ret_val: an integer, LAPI_STATISTICS_T, or an integer for each task.
    subroutine LAPI_QENV(hndl, query, ret_val, ierror)
      integer, intent(in) :: hndl, query
      type(*) :: ret_val(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: ret_val
    end subroutine
    subroutine LAPI_SENV(hndl, query, set_val, ierror)
      integer, intent(in) :: hndl, query, set_val
      integer, intent(out) :: ierror
    end subroutine
    subroutine LAPI_MSG_STRING(error_code, buf, ierror)
      import :: LAPI_MAX_ERR_STRING
      integer, intent(in) :: error_code
      character(len=LAPI_MAX_ERR_STRING), intent(out) :: buf
      integer, intent(out) :: ierror
    end subroutine

    ! ---- Addresses ----
    subroutine LAPI_ADDRESS_INIT(hndl, my_addr, add_tab, ierror)
      import :: LAPI_ADDR_TYPE
      integer, intent(in) :: hndl
      integer(kind=LAPI_ADDR_TYPE), intent(in) :: my_addr
      integer(kind=LAPI_ADDR_TYPE), intent(out) :: add_tab(*)
      integer, intent(out) :: ierror
    end subroutine
    subroutine LAPI_ADDRESS_INIT64(hndl, my_addr, add_tab, ierror)
      import :: LAPI_ADDR_TYPE, LAPI_LONG_LONG_TYPE
      integer, intent(in) :: hndl
      integer(kind=LAPI_ADDR_TYPE), intent(in) :: my_addr
      integer(kind=LAPI_LONG_LONG_TYPE), intent(out) :: add_tab(*)
      integer, intent(out) :: ierror
    end subroutine
    subroutine LAPI_ADDR_GET(hndl, addr, addr_hndl, ierror)
      import :: LAPI_ADDR_TYPE
      integer, intent(in) :: hndl, addr_hndl
      integer(kind=LAPI_ADDR_TYPE), intent(out) :: addr
      integer, intent(out) :: ierror
    end subroutine

    ! ---- Data ----
    subroutine LAPI_PUT(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr, ierror)
      import :: LAPI_ADDR_TYPE, LAPI_LONG_TYPE
      integer, intent(in) :: hndl, tgt
      integer(kind=LAPI_LONG_TYPE), intent(in) :: len
      integer(kind=LAPI_ADDR_TYPE), intent(in) :: tgt_addr, tgt_cntr
      type(*) :: org_addr(*), org_cntr(*), cmpl_cntr(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_addr, org_cntr, cmpl_cntr
    end subroutine
    subroutine LAPI_GET(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, ierror)
      import :: LAPI_ADDR_TYPE, LAPI_LONG_TYPE
      integer, intent(in) :: hndl, tgt
      integer(kind=LAPI_LONG_TYPE), intent(in) :: len
      integer(kind=LAPI_ADDR_TYPE), intent(in) :: tgt_addr, org_addr, tgt_cntr
      type(*) :: org_cntr(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
    end subroutine
    subroutine LAPI_PUTV(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr, cmpl_cntr, ierror)
      import :: LAPI_ADDR_TYPE, LAPI_VEC_T
      integer, intent(in) :: hndl, tgt
      integer(kind=LAPI_ADDR_TYPE), intent(in) :: tgt_vec, tgt_cntr
      type(LAPI_VEC_T), intent(in) :: org_vec
      type(*) :: org_cntr(*), cmpl_cntr(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr, cmpl_cntr
    end subroutine
    subroutine LAPI_GETV(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr, ierror)
      import :: LAPI_ADDR_TYPE, LAPI_VEC_T
      integer, intent(in) :: hndl, tgt
      integer(kind=LAPI_ADDR_TYPE), intent(in) :: tgt_vec, tgt_cntr
      type(LAPI_VEC_T), intent(in) :: org_vec
      type(*) :: org_cntr(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
    end subroutine
    ! in_val: one or two integers. prev_tgt_val: one.
    subroutine LAPI_RMW(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr, ierror)
      import :: LAPI_ADDR_TYPE
      integer, intent(in) :: hndl, op, tgt
      integer(kind=LAPI_ADDR_TYPE), intent(in) :: tgt_var
      type(*) :: in_val(*), prev_tgt_val(*), org_cntr(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: in_val, prev_tgt_val, org_cntr
    end subroutine
    ! The same of kind LAPI_LONG_LONG_TYPE.
    subroutine LAPI_RMW64(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr, ierror)
      import :: LAPI_ADDR_TYPE
      integer, intent(in) :: hndl, op, tgt
      integer(kind=LAPI_ADDR_TYPE), intent(in) :: tgt_var
      type(*) :: in_val(*), prev_tgt_val(*), org_cntr(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: in_val, prev_tgt_val, org_cntr
    end subroutine
    ! xfer_cmd, util_cmd: one of the types that have the call's commands.
    subroutine LAPI_XFER(hndl, xfer_cmd, ierror)
      integer, intent(in) :: hndl
      type(*) :: xfer_cmd(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: xfer_cmd
    end subroutine
    subroutine LAPI_UTIL(hndl, util_cmd, ierror)
      integer, intent(in) :: hndl
      type(*) :: util_cmd(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: util_cmd
    end subroutine

    ! ---- Counters and progress ----
    subroutine LAPI_SETCNTR(hndl, cntr, val, ierror)
      import :: LAPI_CNTR_T
      integer, intent(in) :: hndl, val
      type(LAPI_CNTR_T), intent(inout) :: cntr
      integer, intent(out) :: ierror
    end subroutine
    subroutine LAPI_GETCNTR(hndl, cntr, val, ierror)
      import :: LAPI_CNTR_T
      integer, intent(in) :: hndl
      type(LAPI_CNTR_T), intent(inout) :: cntr
      integer, intent(out) :: val, ierror
    end subroutine
    subroutine LAPI_WAITCNTR(hndl, cntr, val, cur_cntr_val, ierror)
      import :: LAPI_CNTR_T
      integer, intent(in) :: hndl, val
      type(LAPI_CNTR_T), intent(inout) :: cntr
      type(*) :: cur_cntr_val(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cur_cntr_val
    end subroutine
    subroutine LAPI_NOPOLL_WAIT(hndl, cntr, val, cur_cntr_val, ierror)
      import :: LAPI_CNTR_T
      integer, intent(in) :: hndl, val
      type(LAPI_CNTR_T), intent(inout) :: cntr
      type(*) :: cur_cntr_val(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cur_cntr_val
    end subroutine
    subroutine LAPI_SETCNTR_WSTATUS(hndl, cntr, num_dest, dest_list, dest_status, ierror)
      import :: LAPI_CNTR_T
      integer, intent(in) :: hndl, num_dest
      type(LAPI_CNTR_T), intent(inout) :: cntr
      type(*) :: dest_list(*), dest_status(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest_list, dest_status
    end subroutine
    subroutine LAPI_PROBE(hndl, ierror)
      integer, intent(in) :: hndl
      integer, intent(out) :: ierror
    end subroutine
    ! info: LAPI_MSG_INFO_T or LAPI_MSG_STATE_T.
    subroutine LAPI_MSGPOLL(hndl, cnt, info, ierror)
      integer, intent(in) :: hndl, cnt
      type(*) :: info(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: info
    end subroutine
    subroutine LAPI_FENCE(hndl, ierror)
      integer, intent(in) :: hndl
      integer, intent(out) :: ierror
    end subroutine
    subroutine LAPI_GFENCE(hndl, ierror)
      integer, intent(in) :: hndl
      integer, intent(out) :: ierror
    end subroutine

    ! ---- Recovery ----
    subroutine LAPI_PURGE_TOTASK(hndl, dest, ierror)
      integer, intent(in) :: hndl, dest
      integer, intent(out) :: ierror
    end subroutine
    subroutine LAPI_RESUME_TOTASK(hndl, dest, ierror)
      integer, intent(in) :: hndl, dest
      integer, intent(out) :: ierror
    end subroutine
  end interface

  ! ---- Calls that take a procedure or a variable ----
  abstract interface
    subroutine lapi_address_of_procedure(my_addr, ret_addr, ierror)
      import :: LAPI_ADDR_TYPE
      external :: my_addr
      integer(kind=LAPI_ADDR_TYPE), intent(out) :: ret_addr
      integer, intent(out) :: ierror
    end subroutine
    subroutine lapi_address_of_variable(my_addr, ret_addr, ierror) bind(c)
      import :: c_int, c_intptr_t
      type(*) :: my_addr(*)
      integer(kind=c_intptr_t), intent(out) :: ret_addr
      integer(kind=c_int), intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: my_addr
    end subroutine
    subroutine lapi_addr_set_of_procedure(hndl, addr, addr_hndl, ierror)
      integer, intent(in) :: hndl, addr_hndl
      external :: addr
      integer, intent(out) :: ierror
    end subroutine
    subroutine lapi_addr_set_of_address(hndl, addr, addr_hndl, ierror) bind(c)
      import :: c_int, c_intptr_t
      integer(kind=c_int), intent(in) :: hndl, addr_hndl
      integer(kind=c_intptr_t), intent(in) :: addr
      integer(kind=c_int), intent(out) :: ierror
    end subroutine
    subroutine lapi_amsend_to_procedure(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, &
                                        cmpl_cntr, ierror)
      import :: LAPI_ADDR_TYPE, LAPI_LONG_TYPE
      integer, intent(in) :: hndl, tgt, uhdr_len
      external :: hdr_hdl
      integer(kind=LAPI_LONG_TYPE), intent(in) :: udata_len
      integer(kind=LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      type(*) :: uhdr(*), udata(*), org_cntr(*), cmpl_cntr(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr, udata, org_cntr, cmpl_cntr
    end subroutine
    ! hdr_hdl: an address, or an index of LAPI_ADDR_SET in an integer of any kind.
    subroutine lapi_amsend_to_variable(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, &
                                       cmpl_cntr, ierror) bind(c)
      import :: c_int, c_intptr_t, c_long
      integer(kind=c_int), intent(in) :: hndl, tgt, uhdr_len
      integer(kind=c_long), intent(in) :: udata_len
      integer(kind=c_intptr_t), intent(in) :: tgt_cntr
      type(*) :: hdr_hdl(*), uhdr(*), udata(*), org_cntr(*), cmpl_cntr(*)
      integer(kind=c_int), intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: hdr_hdl, uhdr, udata, org_cntr, cmpl_cntr
    end subroutine
    subroutine lapi_amsendv_to_procedure(hndl, tgt, hdr_hdl, uhdr, uhdr_len, org_vec, tgt_cntr, org_cntr, cmpl_cntr, &
                                         ierror)
      import :: LAPI_ADDR_TYPE, LAPI_VEC_T
      integer, intent(in) :: hndl, tgt, uhdr_len
      external :: hdr_hdl
      type(LAPI_VEC_T), intent(in) :: org_vec
      integer(kind=LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      type(*) :: uhdr(*), org_cntr(*), cmpl_cntr(*)
      integer, intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr, org_cntr, cmpl_cntr
    end subroutine
    subroutine lapi_amsendv_to_variable(hndl, tgt, hdr_hdl, uhdr, uhdr_len, org_vec, tgt_cntr, org_cntr, cmpl_cntr, &
                                        ierror) bind(c)
      import :: c_int, c_intptr_t
      integer(kind=c_int), intent(in) :: hndl, tgt, uhdr_len
      integer(kind=c_intptr_t), intent(in) :: tgt_cntr
      type(*) :: hdr_hdl(*), uhdr(*), org_vec(*), org_cntr(*), cmpl_cntr(*)
      integer(kind=c_int), intent(out) :: ierror
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: hdr_hdl, uhdr, org_vec, org_cntr, cmpl_cntr
    end subroutine
  end interface
  procedure(lapi_address_of_procedure) :: LAPI_ADDRESS, PLAPI_ADDRESS
  procedure(lapi_addr_set_of_procedure) :: LAPI_ADDR_SET, PLAPI_ADDR_SET
  procedure(lapi_amsend_to_procedure) :: LAPI_AMSEND, PLAPI_AMSEND
  procedure(lapi_amsendv_to_procedure) :: LAPI_AMSENDV, PLAPI_AMSENDV
  procedure(lapi_address_of_variable), bind(c, name='lapi_address_') :: lapi_address_1
  procedure(lapi_addr_set_of_address), bind(c, name='lapi_addr_set_') :: lapi_addr_set_1
  procedure(lapi_amsend_to_variable), bind(c, name='lapi_amsend_') :: lapi_amsend_1
  procedure(lapi_amsendv_to_variable), bind(c, name='lapi_amsendv_') :: lapi_amsendv_1
  procedure(lapi_address_of_variable), bind(c, name='plapi_address_') :: plapi_address_1
  procedure(lapi_addr_set_of_address), bind(c, name='plapi_addr_set_') :: plapi_addr_set_1
  procedure(lapi_amsend_to_variable), bind(c, name='plapi_amsend_') :: plapi_amsend_1
  procedure(lapi_amsendv_to_variable), bind(c, name='plapi_amsendv_') :: plapi_amsendv_1
  interface LAPI_ADDRESS
    procedure :: LAPI_ADDRESS, lapi_address_1
  end interface
  interface LAPI_ADDR_SET
    procedure :: LAPI_ADDR_SET, lapi_addr_set_1
  end interface
  interface LAPI_AMSEND
    procedure :: LAPI_AMSEND, lapi_amsend_1
  end interface
  interface LAPI_AMSENDV
    procedure :: LAPI_AMSENDV, lapi_amsendv_1
  end interface
  interface PLAPI_ADDRESS
    procedure :: PLAPI_ADDRESS, plapi_address_1
  end interface
  interface PLAPI_ADDR_SET
    procedure :: PLAPI_ADDR_SET, plapi_addr_set_1
  end interface
  interface PLAPI_AMSEND
    procedure :: PLAPI_AMSEND, plapi_amsend_1
  end interface
  interface PLAPI_AMSENDV
    procedure :: PLAPI_AMSENDV, plapi_amsendv_1
  end interface

  ! ---- Twins (chapter 9) ----
  procedure(LAPI_INIT) :: PLAPI_INIT
  procedure(LAPI_TERM) :: PLAPI_TERM
  procedure(LAPI_QENV) :: PLAPI_QENV
  procedure(LAPI_SENV) :: PLAPI_SENV
  procedure(LAPI_MSG_STRING) :: PLAPI_MSG_STRING
  procedure(LAPI_ADDRESS_INIT) :: PLAPI_ADDRESS_INIT
  procedure(LAPI_ADDRESS_INIT64) :: PLAPI_ADDRESS_INIT64
  procedure(LAPI_ADDR_GET) :: PLAPI_ADDR_GET
  procedure(LAPI_PUT) :: PLAPI_PUT
  procedure(LAPI_GET) :: PLAPI_GET
  procedure(LAPI_PUTV) :: PLAPI_PUTV
  procedure(LAPI_GETV) :: PLAPI_GETV
  procedure(LAPI_RMW) :: PLAPI_RMW
  procedure(LAPI_RMW64) :: PLAPI_RMW64
  procedure(LAPI_XFER) :: PLAPI_XFER
  procedure(LAPI_UTIL) :: PLAPI_UTIL
  procedure(LAPI_SETCNTR) :: PLAPI_SETCNTR
  procedure(LAPI_GETCNTR) :: PLAPI_GETCNTR
  procedure(LAPI_WAITCNTR) :: PLAPI_WAITCNTR
  procedure(LAPI_NOPOLL_WAIT) :: PLAPI_NOPOLL_WAIT
  procedure(LAPI_SETCNTR_WSTATUS) :: PLAPI_SETCNTR_WSTATUS
  procedure(LAPI_PROBE) :: PLAPI_PROBE
  procedure(LAPI_MSGPOLL) :: PLAPI_MSGPOLL
  procedure(LAPI_FENCE) :: PLAPI_FENCE
  procedure(LAPI_GFENCE) :: PLAPI_GFENCE
  procedure(LAPI_PURGE_TOTASK) :: PLAPI_PURGE_TOTASK
  procedure(LAPI_RESUME_TOTASK) :: PLAPI_RESUME_TOTASK
end module lapi
