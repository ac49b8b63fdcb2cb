! LAPI_XFER that does what LAPI_AMSEND does. The header handler goes into the transfer as its address in the buddy.
module am_xfer_data
  use sample
  implicit none
  integer, parameter :: length = 100
  integer, volatile :: inbox(length) = 0, numbers(length), total = 0
  type(LAPI_CNTR_T) :: completed
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
    call LAPI_ADDRESS(inbox, user_info%addr, error)
    call LAPI_ADDRESS(inbox, header_handler, error)
  end function header_handler
end module am_xfer_data

subroutine completion_handler(hndl, arrived)
  use am_xfer_data
  implicit none
  integer :: hndl, arrived(length)
  if (hndl == handle) total = sum(arrived)
end subroutine completion_handler

program am_xferf
  use am_xfer_data
  implicit none
  integer :: i, error
  integer(kind=LAPI_ADDR_TYPE) :: own, handler_of_buddy
  type(LAPI_AM_T) :: transfer

  call start()
  call clear(completed)
  call LAPI_ADDRESS(header_handler, own, error)
  handler_of_buddy = address_in_buddy(own)
  if (driver) then
    numbers = [(i, i = 1, length)]
    transfer%Xfer_type = LAPI_AM_XFER
    transfer%flags = 0
    transfer%tgt = buddy
    transfer%hdr_hdl = handler_of_buddy
    transfer%uhdr_len = 4
    call LAPI_ADDRESS(task, transfer%uhdr, error)
    call LAPI_ADDRESS(numbers, transfer%udata, error)
    transfer%udata_len = 4 * length
    transfer%shdlr = LAPI_ADDR_NULL
    transfer%sinfo = LAPI_ADDR_NULL
    transfer%tgt_cntr = LAPI_ADDR_NULL
    transfer%org_cntr = LAPI_ADDR_NULL
    call LAPI_ADDRESS(completed, transfer%cmpl_cntr, error)
    call LAPI_XFER(handle, transfer, error)
    call succeeded(error, 'LAPI_XFER')
    call wait_for(completed)
  end if
  call fence()
  call check(total == merge(0, length * (length + 1) / 2, driver), 'the sum of the data of LAPI_XFER')
  call finish('LAPI_XFER, active message,')
end program am_xferf
