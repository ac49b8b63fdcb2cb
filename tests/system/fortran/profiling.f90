! Chapter 9: a program's own LAPI_GFENCE and LAPI_PUT are called in place of the library's, and call PLAPI_x.
module profile
  implicit none
  integer :: puts = 0, fences = 0
  integer(kind=8) :: bytes = 0
end module profile

program profiling
  use fortran_case
  use profile, only: puts, fences, bytes
  implicit none
  integer :: value = -1, own, error, round
  type(LAPI_CNTR_T) :: done
  integer(kind=LAPI_ADDR_TYPE), allocatable :: values(:)
  integer(kind=LAPI_ADDR_TYPE) :: address
  call start()
  call clear(done)
  own = task
  call LAPI_ADDRESS(value, address, error)
  values = exchange(address)
  do round = 1, 10
    call LAPI_PUT(handle, right, 4_8, values(right + 1), own, LAPI_ADDR_NULL, &
                  LAPI_ADDR_NULL, done, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_PUT')
  end do
  call wait_for(done, 10, 'the puts')
  call expect(puts, 10, 'own calls of LAPI_PUT')
  call expect_long(bytes, 40_8, 'bytes that they saw')
  call passed('own calls')
  call expect(value, left, 'what the left task put')
  call expect(fences, 1, 'own calls of LAPI_GFENCE')
  call finish()
end program profiling

subroutine LAPI_PUT(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr, ierror)
  use profile, only: puts, bytes
  implicit none
  integer :: hndl, tgt, org_addr, tgt_cntr, org_cntr, cmpl_cntr, ierror
  integer(kind=8) :: len, tgt_addr
  puts = puts + 1
  bytes = bytes + len
  call PLAPI_PUT(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr, ierror)
end subroutine LAPI_PUT

subroutine LAPI_GFENCE(hndl, ierror)
  use profile, only: fences
  implicit none
  integer :: hndl, ierror
  fences = fences + 1
  call PLAPI_GFENCE(hndl, ierror)
end subroutine LAPI_GFENCE
