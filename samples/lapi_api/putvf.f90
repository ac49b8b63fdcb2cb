! LAPI_PUTV: copies several pieces to several places. The origin describes both sides, with addresses of the target on
! that side; LAPI_GEN_IOVECTOR wants as many pieces of the same lengths on both.
module putv_data
  use sample
  implicit none
  integer, volatile :: inbox(100) = 0
  type(LAPI_CNTR_T) :: arrived
end module putv_data

program putvf
  use putv_data
  implicit none
  integer :: front(10), back(20), i, error
  integer(kind=LAPI_ADDR_TYPE) :: own, inbox_of_buddy, arrived_of_buddy, there_at
  integer(kind=LAPI_ADDR_TYPE) :: from(2), to(2)
  integer(kind=LAPI_LONG_TYPE) :: sizes(2) = [40, 80]
  type(LAPI_VEC_T) :: here, there
  type(LAPI_CNTR_T) :: completed

  call start()
  call clear(arrived)
  call clear(completed)
  call LAPI_ADDRESS(inbox, own, error)
  inbox_of_buddy = address_in_buddy(own)
  call LAPI_ADDRESS(arrived, own, error)
  arrived_of_buddy = address_in_buddy(own)
  if (driver) then
    front = 1
    back = 2
    call LAPI_ADDRESS(front, from(1), error)
    call LAPI_ADDRESS(back, from(2), error)
    to = [inbox_of_buddy + 4 * 80, inbox_of_buddy + 4 * 40]
    here%vec_type = LAPI_GEN_IOVECTOR
    here%num_vecs = 2
    call LAPI_ADDRESS(from, here%info, error)
    call LAPI_ADDRESS(sizes, here%len, error)
    there = here
    call LAPI_ADDRESS(to, there%info, error)
    call LAPI_ADDRESS(there, there_at, error)  ! tgt_vec holds an address
    call LAPI_PUTV(handle, buddy, there_at, here, arrived_of_buddy, LAPI_ADDR_NULL, completed, error)
    call succeeded(error, 'LAPI_PUTV')
    call wait_for(completed)
  else
    call wait_for(arrived)
    call check(all(inbox == [(0, i = 1, 40), (2, i = 41, 60), (0, i = 61, 80), (1, i = 81, 90), (0, i = 91, 100)]), &
               'the data of LAPI_PUTV')
  end if
  call finish('LAPI_PUTV')
end program putvf
