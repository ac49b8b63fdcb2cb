! LAPI_AMSEND: an active message. Its header handler runs in the target when the message's first packet arrives, and
! says where the data goes; its completion handler runs when all of it is there. lapifort links programs at fixed
! addresses: a procedure is the same in all tasks and can be passed.
module am_data
  use sample
  implicit none
  integer, parameter :: length = 100
  integer, volatile :: inbox(length) = 0, total = 0
contains

  integer(kind=LAPI_ADDR_TYPE) function header_handler(hndl, uhdr, uhdr_len, msg_len, comp_h, user_info)
    integer :: hndl, uhdr, uhdr_len, error
    integer(kind=LAPI_LONG_TYPE) :: msg_len
    integer(kind=LAPI_ADDR_TYPE) :: comp_h
    type(LAPI_ADDR_T) :: user_info
    external :: completion_handler
    header_handler = LAPI_ADDR_NULL
    if (hndl /= handle .or. uhdr_len /= 4 .or. uhdr /= buddy .or. msg_len /= 4 * length) return
    call LAPI_ADDRESS(completion_handler, comp_h, error)
    call LAPI_ADDRESS(inbox, user_info%addr, error)  ! what the completion handler is told
    call LAPI_ADDRESS(inbox, header_handler, error)  ! where the data goes
  end function header_handler
end module am_data

subroutine completion_handler(hndl, numbers)
  use am_data
  implicit none
  integer :: hndl, numbers(length)
  if (hndl == handle) total = sum(numbers)
end subroutine completion_handler

program amf
  use am_data
  implicit none
  integer :: numbers(length), i, error
  type(LAPI_CNTR_T) :: completed

  call start()
  call clear(completed)
  call fence()  ! everybody knows its buddy before the first message comes
  if (driver) then
    numbers = [(i, i = 1, length)]
    call LAPI_AMSEND(handle, buddy, header_handler, task, 4, numbers, 4_LAPI_LONG_TYPE * length, LAPI_ADDR_NULL, &
                     LAPI_ADDR_NULL, completed, error)
    call succeeded(error, 'LAPI_AMSEND')
    call wait_for(completed)  ! the buddy's completion handler has returned
  end if
  call fence()
  call check(total == merge(0, length * (length + 1) / 2, driver), 'the sum of the data of LAPI_AMSEND')
  call finish('LAPI_AMSEND')
end program amf
