! LAPI_PUT: copies data to a task that does not take part. The target counter tells it that the data is there.
module put_data
  use sample
  implicit none
  integer, parameter :: length = 100
  integer, volatile :: inbox(length) = 0
  type(LAPI_CNTR_T) :: arrived
end module put_data

program putf
  use put_data
  implicit none
  integer :: numbers(length), i, error
  integer(kind=LAPI_ADDR_TYPE) :: own, inbox_of_buddy, arrived_of_buddy

  call start()
  call clear(arrived)
  call LAPI_ADDRESS(inbox, own, error)
  inbox_of_buddy = address_in_buddy(own)
  call LAPI_ADDRESS(arrived, own, error)
  arrived_of_buddy = address_in_buddy(own)
  if (driver) then
    numbers = [(3 * i, i = 1, length)]
    call LAPI_PUT(handle, buddy, 4_LAPI_LONG_TYPE * length, inbox_of_buddy, numbers, arrived_of_buddy, &
                  LAPI_ADDR_NULL, LAPI_ADDR_NULL, error)
    call succeeded(error, 'LAPI_PUT')
  else
    call wait_for(arrived)
    call check(all(inbox == [(3 * i, i = 1, length)]), 'the data of LAPI_PUT')
  end if
  call finish('LAPI_PUT')
end program putf
