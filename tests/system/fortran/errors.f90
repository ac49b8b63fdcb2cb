! LAPI_ADDR_NULL and wrong values in every argument that a call refuses, the queries with structures, and the texts.
program errors
  use fortran_case
  implicit none
  type(LAPI_CNTR_T) :: counter
  integer :: error, value, in_val(2)
  integer(kind=8) :: wide
  integer(kind=LAPI_ADDR_TYPE) :: address, target_address
  call start()
  call clear(counter)
  target_address = loc(value)
  call set_up_calls()
  call address_calls()
  call transfer_calls()
  call message_calls()
  call counter_calls()
  call queries()
  call texts()
  call expect_true(LAPI_ADDR_NULL == 0, 'nothing has been written to LAPI_ADDR_NULL')
  call finish()
contains

  subroutine refused(wanted, what)
    integer, intent(in) :: wanted
    character(len=*), intent(in) :: what
    call expect(error, wanted, what)
    error = -1
  end subroutine refused

  subroutine set_up_calls()
    integer :: list(25), second
    call LAPI_INIT(second, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_INFO_NULL, 'LAPI_INIT without info')
    list = 0
    call LAPI_INIT(LAPI_ADDR_NULL, list, error)
    call refused(LAPI_ERR_HNDL_INVALID, 'LAPI_INIT without handle')
    list(6) = 1
    call LAPI_INIT(second, list, error)
    call refused(LAPI_ERR_INFO_NONZERO, 'LAPI_INIT with info6')
    list(6) = 0
    call LAPI_INIT(second, list, error)
    call refused(LAPI_SUCCESS, 'a second context, with an array of integers')
    call expect_true(second /= handle, 'another handle')
    call expect_true(list(1) == LAPI_DEV_UDP .or. list(1) == LAPI_DEV_SHM, 'the protocol in the first integer')
    call LAPI_TERM(second, error)
    call refused(LAPI_SUCCESS, 'LAPI_TERM')
    call LAPI_TERM(second, error)
    call refused(LAPI_ERR_HNDL_INVALID, 'LAPI_TERM again')
    call LAPI_QENV(handle, TASK_ID, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_RET_PTR_NULL, 'LAPI_QENV without value')
    call LAPI_QENV(handle, LAST_QUERY, value, error)
    call refused(LAPI_ERR_QUERY_TYPE, 'LAPI_QENV of no query')
    call LAPI_SENV(handle, TASK_ID, 1, error)
    call refused(LAPI_ERR_QUERY_TYPE, 'LAPI_SENV of TASK_ID')
    call LAPI_SENV(handle, TIMEOUT, 9, error)
    call refused(LAPI_ERR_SET_VAL, 'LAPI_SENV of 9 seconds')
    call passed('LAPI_INIT, LAPI_TERM, LAPI_QENV, LAPI_SENV')
  end subroutine set_up_calls

  subroutine address_calls()
    call LAPI_ADDRESS(LAPI_ADDR_NULL, address, error)
    call refused(LAPI_ERR_ORG_ADDR_NULL, 'LAPI_ADDRESS of nothing')
    call LAPI_ADDRESS(value, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_TGT_ADDR_NULL, 'LAPI_ADDRESS to nowhere')
    call LAPI_ADDRESS_INIT(handle, address, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_RET_PTR_NULL, 'LAPI_ADDRESS_INIT to nowhere')
    call LAPI_ADDRESS_INIT64(handle, address, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_RET_PTR_NULL, 'LAPI_ADDRESS_INIT64 to nowhere')
    call LAPI_ADDR_SET(handle, address, 0, error)
    call refused(LAPI_ERR_ADDR_HNDL_RANGE, 'LAPI_ADDR_SET of index 0')
    call LAPI_ADDR_GET(handle, address, -1, error)
    call refused(LAPI_ERR_ADDR_HNDL_RANGE, 'LAPI_ADDR_GET of index -1')
    call LAPI_ADDR_GET(handle, LAPI_ADDR_NULL, 1, error)
    call refused(LAPI_ERR_RET_PTR_NULL, 'LAPI_ADDR_GET to nowhere')
    call passed('address calls')
  end subroutine address_calls

  subroutine transfer_calls()
    call LAPI_PUT(handle, tasks, 4_8, target_address, value, LAPI_ADDR_NULL, counter, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_TGT, 'LAPI_PUT to no task')
    call LAPI_PUT(handle, right, -1_8, target_address, value, LAPI_ADDR_NULL, counter, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_DATA_LEN, 'LAPI_PUT of a negative length')
    call LAPI_PUT(handle, right, 4_8, target_address, LAPI_ADDR_NULL, LAPI_ADDR_NULL, counter, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_ORG_ADDR_NULL, 'LAPI_PUT of nothing')
    call LAPI_PUT(handle, right, 4_8, LAPI_ADDR_NULL, value, LAPI_ADDR_NULL, counter, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_TGT_ADDR_NULL, 'LAPI_PUT to nowhere')
    call LAPI_GET(handle, -1, 4_8, target_address, target_address, LAPI_ADDR_NULL, counter, error)
    call refused(LAPI_ERR_TGT, 'LAPI_GET from no task')
    call LAPI_GET(handle, right, 4_8, target_address, LAPI_ADDR_NULL, LAPI_ADDR_NULL, counter, error)
    call refused(LAPI_ERR_ORG_ADDR_NULL, 'LAPI_GET to nowhere')
    call LAPI_GET(handle, right, 4_8, LAPI_ADDR_NULL, target_address, LAPI_ADDR_NULL, counter, error)
    call refused(LAPI_ERR_TGT_ADDR_NULL, 'LAPI_GET from nowhere')
    in_val = 0
    wide = 0
    call LAPI_RMW(handle, 4, right, target_address, in_val, value, counter, error)
    call refused(LAPI_ERR_RMW_OP, 'LAPI_RMW of no operation')
    call LAPI_RMW(handle, SWAP, right, LAPI_ADDR_NULL, in_val, value, counter, error)
    call refused(LAPI_ERR_TGT_VAR_NULL, 'LAPI_RMW of nothing')
    call LAPI_RMW(handle, SWAP, right, target_address, LAPI_ADDR_NULL, value, counter, error)
    call refused(LAPI_ERR_IN_VAL_NULL, 'LAPI_RMW without operand')
    call LAPI_RMW64(handle, SWAP, tasks, target_address, wide, wide, counter, error)
    call refused(LAPI_ERR_TGT, 'LAPI_RMW64 in no task')
    call LAPI_RMW64(handle, SWAP, right, target_address, LAPI_ADDR_NULL, wide, counter, error)
    call refused(LAPI_ERR_IN_VAL_NULL, 'LAPI_RMW64 without operand')
    call LAPI_PUT(-1, right, 4_8, target_address, value, LAPI_ADDR_NULL, counter, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_HNDL_INVALID, 'LAPI_PUT without context')
    call passed('LAPI_PUT, LAPI_GET, LAPI_RMW, LAPI_RMW64')
  end subroutine transfer_calls

  subroutine message_calls()
    call LAPI_AMSEND(handle, right, LAPI_ADDR_NULL, value, 4, value, 4_8, LAPI_ADDR_NULL, counter, counter, error)
    call refused(LAPI_ERR_HDR_HNDLR_NULL, 'LAPI_AMSEND without handler')
    call LAPI_AMSEND(handle, right, 0, value, 4, value, 4_8, LAPI_ADDR_NULL, counter, counter, error)
    call refused(LAPI_ERR_HDR_HNDLR_NULL, 'LAPI_AMSEND to index 0')
    call LAPI_AMSEND(handle, right, 9, LAPI_ADDR_NULL, 4, value, 4_8, LAPI_ADDR_NULL, counter, counter, error)
    call refused(LAPI_ERR_UHDR_NULL, 'LAPI_AMSEND without user header')
    call LAPI_AMSEND(handle, right, 9, value, 3, value, 4_8, LAPI_ADDR_NULL, counter, counter, error)
    call refused(LAPI_ERR_HDR_LEN, 'LAPI_AMSEND with 3 bytes of user header')
    call LAPI_AMSEND(handle, right, 9, value, 4, LAPI_ADDR_NULL, 4_8, LAPI_ADDR_NULL, counter, counter, error)
    call refused(LAPI_ERR_ORG_ADDR_NULL, 'LAPI_AMSEND without data')
    call passed('LAPI_AMSEND')
  end subroutine message_calls

  subroutine counter_calls()
    call LAPI_SETCNTR(handle, LAPI_ADDR_NULL, 1, error)
    call refused(LAPI_ERR_CNTR_NULL, 'LAPI_SETCNTR without counter')
    call LAPI_GETCNTR(handle, LAPI_ADDR_NULL, value, error)
    call refused(LAPI_ERR_CNTR_NULL, 'LAPI_GETCNTR without counter')
    call LAPI_GETCNTR(handle, counter, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_RET_PTR_NULL, 'LAPI_GETCNTR without value')
    call LAPI_WAITCNTR(handle, LAPI_ADDR_NULL, 1, value, error)
    call refused(LAPI_ERR_CNTR_NULL, 'LAPI_WAITCNTR without counter')
    call LAPI_MSGPOLL(handle, 1, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_MSG_INFO_NULL, 'LAPI_MSGPOLL without info')
    call LAPI_PROBE(-1, error)
    call refused(LAPI_ERR_HNDL_INVALID, 'LAPI_PROBE without context')
    call LAPI_FENCE(-1, error)
    call refused(LAPI_ERR_HNDL_INVALID, 'LAPI_FENCE without context')
    call LAPI_GFENCE(-1, error)
    call refused(LAPI_ERR_HNDL_INVALID, 'LAPI_GFENCE without context')
    call LAPI_GETCNTR(handle, counter, value, error)
    call expect(value, 0, 'refused calls move no counter')
    call passed('counters and progress')
  end subroutine counter_calls

  subroutine queries()
    type(LAPI_STATISTICS_T) :: before, after
    integer :: shared(0:tasks - 1), enabled, with_memory
    call LAPI_QENV(handle, QUERY_LOCAL_SEND_STATISTICS, before, error)
    call LAPI_PUT(handle, task, 4_8, target_address, in_val, LAPI_ADDR_NULL, counter, LAPI_ADDR_NULL, error)
    call wait_for(counter, 1, 'LAPI_PUT to oneself')
    call LAPI_FENCE(handle, error)
    call LAPI_QENV(handle, QUERY_LOCAL_SEND_STATISTICS, after, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_QENV of statistics')
    call expect_long(after%Tot_data_sent - before%Tot_data_sent, 4_8, 'bytes to oneself')
    call LAPI_QENV(handle, QUERY_SHM_ENABLED, enabled, error)
    call LAPI_QENV(handle, QUERY_SHM_NUM_TASKS, with_memory, error)
    call LAPI_QENV(handle, QUERY_SHM_TASKS, shared, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_QENV of QUERY_SHM_TASKS')
    if (enabled == 1) call expect(count(shared >= 0), with_memory, 'tasks that share memory')
    if (enabled == 0) call expect(count(shared >= 0), 0, 'no task shares memory')
    call passed('queries of structures and arrays')
  end subroutine queries

  ! The text ends with a zero, in an array of characters and in a character variable.
  subroutine texts()
    character :: buf(LAPI_MAX_ERR_STRING)
    character(len=LAPI_MAX_ERR_STRING) :: text
    integer :: i, length
    buf = '#'
    call LAPI_MSG_STRING(LAPI_ERR_TGT, buf, error)
    call refused(LAPI_SUCCESS, 'LAPI_MSG_STRING')
    call LAPI_MSG_STRING(LAPI_ERR_TGT, text, error)
    call refused(LAPI_SUCCESS, 'LAPI_MSG_STRING to a variable')
    length = index(text, char(0)) - 1
    call expect_true(length > 0 .and. length < 100, 'the length of the text')
    call expect_true(all(buf(1:length) == [(text(i:i), i = 1, length)]), 'the same text in both')
    call expect_true(buf(length + 1) == char(0) .and. buf(length + 2) == '#', 'the zero behind it, and nothing more')
    call LAPI_MSG_STRING(399, text, error)
    call refused(LAPI_ERR_CODE_UNKNOWN, 'LAPI_MSG_STRING of no code')
    call LAPI_MSG_STRING(LAPI_SUCCESS, LAPI_ADDR_NULL, error)
    call refused(LAPI_ERR_RET_PTR_NULL, 'LAPI_MSG_STRING to nowhere')
    call passed('LAPI_MSG_STRING')
  end subroutine texts
end program errors
