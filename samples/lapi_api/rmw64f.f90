! LAPI_RMW64: LAPI_RMW for 64-bit variables.
module rmw64_data
  use sample
  implicit none
  integer(kind=LAPI_LONG_LONG_TYPE), parameter :: large = 2_8**40
  integer(kind=LAPI_LONG_LONG_TYPE), volatile :: word = large
contains

  integer(kind=LAPI_LONG_LONG_TYPE) function modify(operation, variable, input)
    integer, intent(in) :: operation
    integer(kind=LAPI_ADDR_TYPE), intent(in) :: variable
    integer(kind=LAPI_LONG_LONG_TYPE), intent(in) :: input(*)
    integer(kind=LAPI_LONG_LONG_TYPE), volatile :: previous
    integer :: error
    type(LAPI_CNTR_T) :: answered
    call clear(answered)
    previous = -1
    call LAPI_RMW64(handle, operation, buddy, variable, input, previous, answered, error)
    call succeeded(error, 'LAPI_RMW64')
    call wait_for(answered)
    modify = previous
  end function modify
end module rmw64_data

program rmw64f
  use rmw64_data
  implicit none
  integer :: error
  integer(kind=LAPI_ADDR_TYPE) :: own, word_of_buddy

  call start()
  call LAPI_ADDRESS(word, own, error)
  word_of_buddy = address_in_buddy(own)
  if (driver) then
    call check(modify(FETCH_AND_ADD, word_of_buddy, [2 * large]) == large, 'FETCH_AND_ADD')
    call check(modify(FETCH_AND_OR, word_of_buddy, [1_8]) == 3 * large, 'FETCH_AND_OR')
    call check(modify(COMPARE_AND_SWAP, word_of_buddy, [3 * large + 1, 4 * large]) == TRUE, 'COMPARE_AND_SWAP')
    call check(modify(SWAP, word_of_buddy, [-5_8]) == 4 * large, 'SWAP')
  end if
  call fence()
  call check(word == merge(large, -5_8, driver), 'the variable in the end')
  call finish('LAPI_RMW64')
end program rmw64f
