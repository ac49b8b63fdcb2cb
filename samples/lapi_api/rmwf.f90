! LAPI_RMW: changes an integer of another task atomically and says what it was. All tasks draw tickets from task 0, and
! no number is given twice; then each driver uses the other operations on its buddy's variable.
module rmw_data
  use sample
  implicit none
  integer, parameter :: tickets = 100
  integer, volatile :: next_ticket = 0, word = 1
contains

  ! One operation, to its end.
  integer function modify(operation, target, variable, input)
    integer, intent(in) :: operation, target
    integer(kind=LAPI_ADDR_TYPE), intent(in) :: variable
    integer, intent(in) :: input(*)
    integer, volatile :: previous
    integer :: error
    type(LAPI_CNTR_T) :: answered
    call clear(answered)
    previous = -1
    call LAPI_RMW(handle, operation, target, variable, input, previous, answered, error)
    call succeeded(error, 'LAPI_RMW')
    call wait_for(answered)
    modify = previous
  end function modify
end module rmw_data

program rmwf
  use rmw_data
  implicit none
  integer :: i, error, ticket, last
  integer(kind=LAPI_ADDR_TYPE) :: own, word_of_buddy
  integer(kind=LAPI_ADDR_TYPE), allocatable :: counters(:)

  call start()
  allocate(counters(0:tasks - 1))
  call LAPI_ADDRESS(next_ticket, own, error)
  call LAPI_ADDRESS_INIT(handle, own, counters, error)
  call succeeded(error, 'LAPI_ADDRESS_INIT')
  last = -1
  do i = 1, tickets
    ticket = modify(FETCH_AND_ADD, 0, counters(0), [1])
    call check(ticket > last .and. ticket < tickets * tasks, 'tickets grow')
    last = ticket
  end do
  call fence()
  if (task == 0) call check(next_ticket == tickets * tasks, 'no ticket is given twice')

  call LAPI_ADDRESS(word, own, error)
  word_of_buddy = address_in_buddy(own)
  if (driver) then
    call check(modify(FETCH_AND_OR, buddy, word_of_buddy, [6]) == 1, 'FETCH_AND_OR')
    call check(modify(SWAP, buddy, word_of_buddy, [50]) == 7, 'SWAP')
    call check(modify(COMPARE_AND_SWAP, buddy, word_of_buddy, [51, 98]) == FALSE, 'a wrong guess')
    call check(modify(COMPARE_AND_SWAP, buddy, word_of_buddy, [50, 99]) == TRUE, 'a right guess')
  end if
  call fence()
  call check(word == merge(1, 99, driver), 'the variable in the end')
  call finish('LAPI_RMW')
end program rmwf
