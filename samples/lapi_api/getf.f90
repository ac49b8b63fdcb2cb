! LAPI_GET: fetches data from a task that does not take part. The origin counter says when it is here, the target
! counter tells the other task that its data has been read. org_addr of LAPI_GET holds an address.
module get_data
  use sample
  implicit none
  integer, parameter :: length = 100
  integer, volatile :: offered(length), fetched(length)
  type(LAPI_CNTR_T) :: taken, here
end module get_data

program getf
  use get_data
  implicit none
  integer :: i, error
  integer(kind=LAPI_ADDR_TYPE) :: own, offered_by_buddy, taken_of_buddy, fetched_at

  call start()
  call clear(taken)
  call clear(here)
  offered = [(1000 * task + i, i = 1, length)]
  call LAPI_ADDRESS(offered, own, error)
  offered_by_buddy = address_in_buddy(own)
  call LAPI_ADDRESS(taken, own, error)
  taken_of_buddy = address_in_buddy(own)
  if (driver) then
    call LAPI_ADDRESS(fetched, fetched_at, error)
    call LAPI_GET(handle, buddy, 4_LAPI_LONG_TYPE * length, offered_by_buddy, fetched_at, taken_of_buddy, here, error)
    call succeeded(error, 'LAPI_GET')
    call wait_for(here)
    call check(all(fetched == [(1000 * buddy + i, i = 1, length)]), 'the data of LAPI_GET')
  else
    call wait_for(taken)
    offered = 0
  end if
  call finish('LAPI_GET')
end program getf
