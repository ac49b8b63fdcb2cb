! Task 0 puts 8 bytes to an address that task 1 does not have: task 1 dies of it, and says whose call it was.
program wrong_address
  use fortran_case
  implicit none
  integer(kind=8), volatile :: word = 7
  integer :: error
  call start()
  call LAPI_GFENCE(handle, error)
  if (task == 0) call LAPI_PUT(handle, 1, 8_8, 4096_8, word, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, error)
  call LAPI_GFENCE(handle, error)
  call finish()
end program wrong_address
