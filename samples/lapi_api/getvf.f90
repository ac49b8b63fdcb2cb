! LAPI_GETV: fetches several pieces from several places. The origin describes both sides, with addresses of the target on
! that side.
module getv_data
  use sample
  implicit none
  integer, volatile :: offered(100), front(10), back(20)
  type(LAPI_CNTR_T) :: fetched
end module getv_data

program getvf
  use getv_data
  implicit none
  integer :: i, error
  integer(kind=LAPI_ADDR_TYPE) :: own, offered_by_buddy, there_at
  integer(kind=LAPI_ADDR_TYPE) :: from(2), to(2)
  integer(kind=LAPI_LONG_TYPE) :: sizes(2) = [40, 80]
  type(LAPI_VEC_T) :: here, there

  call start()
  call clear(fetched)
  offered = [(1000 * task + i, i = 1, 100)]
  call LAPI_ADDRESS(offered, own, error)
  offered_by_buddy = address_in_buddy(own)
  if (driver) then
    from = [offered_by_buddy + 4 * 80, offered_by_buddy + 4 * 40]
    call LAPI_ADDRESS(front, to(1), error)
    call LAPI_ADDRESS(back, to(2), error)
    here%vec_type = LAPI_GEN_IOVECTOR
    here%num_vecs = 2
    call LAPI_ADDRESS(to, here%info, error)
    call LAPI_ADDRESS(sizes, here%len, error)
    there = here
    call LAPI_ADDRESS(from, there%info, error)
    call LAPI_ADDRESS(there, there_at, error)  ! tgt_vec holds an address
    call LAPI_GETV(handle, buddy, there_at, here, LAPI_ADDR_NULL, fetched, error)
    call succeeded(error, 'LAPI_GETV')
    call wait_for(fetched)
    call check(all(front == [(1000 * buddy + i, i = 81, 90)]), 'the first piece of LAPI_GETV')
    call check(all(back == [(1000 * buddy + i, i = 41, 60)]), 'the second piece of LAPI_GETV')
  end if
  call finish('LAPI_GETV')
end program getvf
