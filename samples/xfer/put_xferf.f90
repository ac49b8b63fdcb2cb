! LAPI_XFER that does what LAPI_PUT does: the transfer is a derived type, all addresses in it come from LAPI_ADDRESS.
module put_xfer_data
  use sample
  implicit none
  integer, parameter :: length = 10000
  integer, volatile :: inbox(length) = 0, numbers(length)
  type(LAPI_CNTR_T) :: arrived, completed
end module put_xfer_data

program put_xferf
  use put_xfer_data
  implicit none
  integer :: i, error
  integer(kind=LAPI_ADDR_TYPE) :: own, inbox_of_buddy, arrived_of_buddy
  type(LAPI_PUT_T) :: transfer

  call start()
  call clear(arrived)
  call clear(completed)
  call LAPI_ADDRESS(inbox, own, error)
  inbox_of_buddy = address_in_buddy(own)
  call LAPI_ADDRESS(arrived, own, error)
  arrived_of_buddy = address_in_buddy(own)
  if (driver) then
    numbers = [(7 * i, i = 1, length)]
    transfer%Xfer_type = LAPI_PUT_XFER
    transfer%flags = 0
    transfer%tgt = buddy
    transfer%tgt_addr = inbox_of_buddy
    call LAPI_ADDRESS(numbers, transfer%org_addr, error)
    transfer%len = 4 * length
    transfer%shdlr = LAPI_ADDR_NULL
    transfer%sinfo = LAPI_ADDR_NULL
    transfer%tgt_cntr = arrived_of_buddy
    transfer%org_cntr = LAPI_ADDR_NULL
    call LAPI_ADDRESS(completed, transfer%cmpl_cntr, error)
    call LAPI_XFER(handle, transfer, error)
    call succeeded(error, 'LAPI_XFER')
    call wait_for(completed)
  else
    call wait_for(arrived)
    call check(all(inbox == [(7 * i, i = 1, length)]), 'the data of LAPI_XFER')
  end if
  call finish('LAPI_XFER, put,')
end program put_xferf
