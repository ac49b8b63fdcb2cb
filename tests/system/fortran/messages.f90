! LAPI_AMSEND with every way to name a header handler, completion handlers, LAPI_ADDR_SET and LAPI_ADDR_GET, and the
! calls that make progress. The program is linked at fixed addresses: a procedure has one address in all tasks.
module message_handlers
  use fortran_case
  implicit none
  integer, parameter :: kMost = 50000
  integer, volatile :: inbox(kMost), header_seen(4), lengths_seen(2), source_seen
  integer, volatile :: completed = 0, buried = 0
  integer(kind=LAPI_ADDR_TYPE) :: completed_at
contains

  ! uhdr: 4 integers. The data goes to inbox; the completion handler gets the address of `completed`.
  integer(kind=LAPI_ADDR_TYPE) function accept(hdl, uhdr, uhdr_len, info, comp_h, user_info)
    integer :: hdl, uhdr(4), uhdr_len
    type(LAPI_RETURN_INFO_T) :: info
    integer(kind=LAPI_ADDR_TYPE) :: comp_h
    type(LAPI_ADDR_T) :: user_info
    integer :: error
    external :: count_message
    header_seen = uhdr
    lengths_seen = [uhdr_len, int(info%msg_len)]
    source_seen = info%src
    call LAPI_ADDRESS(count_message, comp_h, error)
    call LAPI_ADDRESS(completed, user_info%addr, error)
    call LAPI_ADDRESS(inbox, accept, error)
    if (hdl /= handle) accept = LAPI_ADDR_NULL
  end function accept

  ! The guide's plain form: the length alone, no completion handler, and nothing is wanted.
  integer(kind=LAPI_ADDR_TYPE) function bury(hdl, uhdr, uhdr_len, msg_len, comp_h, user_info)
    integer :: hdl, uhdr, uhdr_len
    integer(kind=LAPI_LONG_TYPE) :: msg_len
    integer(kind=LAPI_ADDR_TYPE) :: comp_h
    type(LAPI_ADDR_T) :: user_info
    comp_h = LAPI_ADDR_NULL
    user_info%addr = LAPI_ADDR_NULL
    if (hdl == handle .and. uhdr_len == 0) buried = buried + int(msg_len)
    bury = LAPI_ADDR_NULL
  end function bury
end module message_handlers

subroutine count_message(hdl, count)
  integer :: hdl
  integer, volatile :: count
  if (hdl >= 0) count = count + 1
end subroutine count_message

program messages
  use message_handlers
  implicit none
  integer, parameter :: kIndex = 7
  type(LAPI_CNTR_T) :: arrived, free, done
  integer(kind=LAPI_ADDR_TYPE), allocatable :: handlers(:), arrived_at(:)
  integer :: outbox(kMost), error, sent = 0
  integer(kind=8) :: wide_index = kIndex
  integer(kind=LAPI_ADDR_TYPE) :: own, found
  call start()
  call clear(arrived); call clear(free); call clear(done)
  allocate(handlers(0:tasks - 1), arrived_at(0:tasks - 1))
  call LAPI_ADDRESS(accept, own, error)
  handlers = exchange(own)
  call LAPI_ADDRESS(arrived, own, error)
  arrived_at = exchange(own)
  call registered_handlers()
  call every_way_to_name_a_handler()
  call nothing_is_wanted()
  call progress()
  call finish()
contains

  subroutine registered_handlers()
    call LAPI_ADDR_SET(handle, handlers(task), kIndex, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_ADDR_SET')
    call LAPI_ADDR_GET(handle, found, kIndex, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_ADDR_GET')
    call expect_true(found == handlers(task), 'LAPI_ADDR_GET finds what LAPI_ADDR_SET was given')
    call LAPI_ADDR_SET(handle, bury, kIndex + 1, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_ADDR_SET of a procedure')
    call LAPI_ADDR_GET(handle, found, kIndex + 1, error)
    call LAPI_ADDRESS(bury, own, error)
    call expect_true(found == own, 'LAPI_ADDR_SET takes a procedure')
    call LAPI_ADDR_SET(handle, LAPI_ADDR_NULL, kIndex + 2, error)
    call LAPI_ADDR_GET(handle, found, kIndex + 2, error)
    call expect_true(found == LAPI_ADDR_NULL, 'LAPI_ADDR_SET of nothing')
    call passed('LAPI_ADDR_SET, LAPI_ADDR_GET')
  end subroutine registered_handlers

  ! What the message from the left must have brought, of `length` integers.
  subroutine check(length, what)
    integer, intent(in) :: length
    character(len=*), intent(in) :: what
    integer :: i
    call expect(error, LAPI_SUCCESS, what)
    sent = sent + 1
    call wait_for(arrived, 1, what // ', target counter')
    call expect_true(all(header_seen == [left, length, sent, -1]), what // ', user header')
    call expect_true(all(lengths_seen == [16, 4 * length]), what // ', lengths')
    call expect(source_seen, left, what // ', source')
    call expect_true(all(inbox(1:length) == [(left + sent * i, i = 1, length)]), what // ', data')
    call expect(completed, sent, what // ', completion handler before the target counter')
    call wait_for(free, 1, what // ', origin counter')
    call wait_for(done, 1, what // ', completion counter')
    call LAPI_GFENCE(handle, error)
  end subroutine check

  function header(length)
    integer, intent(in) :: length
    integer :: header(4), i
    outbox(1:length) = [(task + (sent + 1) * i, i = 1, length)]
    header = [task, length, sent + 1, -1]
  end function header

  subroutine every_way_to_name_a_handler()
    integer :: sizes(4) = [0, 1, 100, kMost], at, size
    do at = 1, 4
      size = sizes(at)
      call LAPI_AMSEND(handle, right, accept, header(size), 16, outbox, 4_8 * size, arrived_at(right), free, &
                       done, error)
      call check(size, 'LAPI_AMSEND to a procedure')
      call LAPI_AMSEND(handle, right, kIndex, header(size), 16, outbox, 4_8 * size, arrived_at(right), free, &
                       done, error)
      call check(size, 'LAPI_AMSEND to an index')
      call LAPI_AMSEND(handle, right, wide_index, header(size), 16, outbox, 4_8 * size, arrived_at(right), free, done, &
                       error)
      call check(size, 'LAPI_AMSEND to an index in 64 bits')
      call LAPI_AMSEND(handle, right, %val(kIndex), header(size), 16, outbox, 4_8 * size, arrived_at(right), free, &
                       done, error)
      call check(size, 'LAPI_AMSEND to an index by value')
      call LAPI_AMSEND(handle, right, handlers(right), header(size), 16, outbox, 4_8 * size, arrived_at(right), free, &
                       done, error)
      call check(size, 'LAPI_AMSEND to an address')
    end do
    call passed('LAPI_AMSEND')
  end subroutine every_way_to_name_a_handler

  subroutine nothing_is_wanted()
    call LAPI_AMSEND(handle, right, kIndex + 1, LAPI_ADDR_NULL, 0, outbox, 4000_8, arrived_at(right), LAPI_ADDR_NULL, &
                     LAPI_ADDR_NULL, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_AMSEND without counters')
    call wait_for(arrived, 1, 'the target counter of a message that is thrown away')
    call expect(buried, 4000, 'the length that the handler saw')
    call passed('a header handler that returns LAPI_ADDR_NULL')
  end subroutine nothing_is_wanted

  subroutine progress()
    type(LAPI_MSG_STATE_T) :: state
    type(LAPI_MSG_INFO_T) :: info
    integer :: rounds
    state%status = -1
    call LAPI_MSGPOLL(handle, 1, state, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_MSGPOLL')
    call expect_true(state%status >= 0, 'LAPI_MSGPOLL sets the status')
    call LAPI_SENV(handle, INTERRUPT_SET, 0, error)
    call LAPI_GFENCE(handle, error)
    call LAPI_AMSEND(handle, right, kIndex + 1, LAPI_ADDR_NULL, 0, outbox, 8_8, LAPI_ADDR_NULL, LAPI_ADDR_NULL, &
                     LAPI_ADDR_NULL, error)
    rounds = 0
    info%status = LAPI_DISP_CNTR
    do while (iand(info%status, LAPI_RECV_COMPLETE) == 0 .and. rounds < 100000000)
      call LAPI_MSGPOLL(handle, 1000, info, error)
      call expect(error, LAPI_SUCCESS, 'LAPI_MSGPOLL until something comes')
      rounds = rounds + 1
    end do
    call expect(buried, 4008, 'LAPI_MSGPOLL received the message')
    call LAPI_PROBE(handle, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_PROBE')
    call LAPI_FENCE(handle, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_FENCE')
    call passed('LAPI_MSGPOLL, LAPI_PROBE, LAPI_FENCE')
  end subroutine progress
end program messages
