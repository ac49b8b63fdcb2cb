! LAPI_PUT, LAPI_GET, LAPI_RMW, LAPI_RMW64, counters and LAPI_ADDRESS_INIT64, each with its right neighbour.
module transfer_data
  use fortran_case
  implicit none
  integer, parameter :: kLength = 40000  ! integers: several packets
  integer, volatile :: inbox(kLength), word
  integer :: outbox(kLength), fetched(kLength)
  integer(kind=8), volatile :: wide
  type(LAPI_CNTR_T) :: arrived, taken, free, done
  integer(kind=LAPI_ADDR_TYPE), allocatable :: inboxes(:), words(:), wides(:), arrived_at(:), taken_at(:)
end module transfer_data

program transfer
  use transfer_data
  implicit none
  call start()
  call clear(arrived); call clear(taken); call clear(free); call clear(done)
  call learn_addresses()
  call put()
  call get()
  call read_modify_write()
  call read_modify_write_64()
  call counters()
  call finish()
contains

  subroutine learn_addresses()
    integer(kind=LAPI_LONG_LONG_TYPE) :: long_table(0:tasks - 1)
    integer(kind=LAPI_ADDR_TYPE) :: own
    integer :: error
    allocate(inboxes(0:tasks - 1), words(0:tasks - 1), wides(0:tasks - 1), arrived_at(0:tasks - 1), &
             taken_at(0:tasks - 1))
    call LAPI_ADDRESS(inbox, own, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_ADDRESS')
    call expect_true(own == loc(inbox), 'LAPI_ADDRESS gives the address')
    inboxes = exchange(own)
    call LAPI_ADDRESS(word, own, error)
    words = exchange(own)
    call LAPI_ADDRESS(arrived, own, error)
    arrived_at = exchange(own)
    call LAPI_ADDRESS(taken, own, error)
    taken_at = exchange(own)
    call LAPI_ADDRESS(wide, own, error)
    wides = exchange(own)
    call LAPI_ADDRESS_INIT64(handle, own, long_table, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_ADDRESS_INIT64')
    call expect_true(all(long_table == wides), 'LAPI_ADDRESS_INIT64 gives what LAPI_ADDRESS_INIT gives')
    call LAPI_ADDRESS_INIT(handle, LAPI_ADDR_NULL, long_table, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_ADDRESS_INIT of nothing')
    call expect_true(all(long_table == 0), 'everybody gave LAPI_ADDR_NULL')
    call passed('addresses')
  end subroutine learn_addresses

  subroutine put()
    integer :: i, error, round
    do round = 1, 10
      outbox = [(task * 1000000 + round * 100000 + i, i = 1, kLength)]
      call LAPI_PUT(handle, right, 4_8 * kLength, inboxes(right), outbox, arrived_at(right), free, done, error)
      call expect(error, LAPI_SUCCESS, 'LAPI_PUT')
      call wait_for(arrived, 1, 'the target counter of LAPI_PUT')
      call expect_true(all(inbox == [(left * 1000000 + round * 100000 + i, i = 1, kLength)]), 'the data of LAPI_PUT')
      call wait_for(free, 1, 'the origin counter of LAPI_PUT')
      call wait_for(done, 1, 'the completion counter of LAPI_PUT')
      call LAPI_GFENCE(handle, error)
    end do
    ! Without counters, and of a piece in the middle.
    outbox(1) = -task
    call LAPI_PUT(handle, right, 4_8, inboxes(right) + 4, outbox, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_PUT without counters')
    call LAPI_GFENCE(handle, error)
    call expect(inbox(2), -left, 'the data of a LAPI_PUT without counters')
    call expect(inbox(1), left * 1000000 + 10 * 100000 + 1, 'the neighbour of that data')
    call passed('LAPI_PUT')
  end subroutine put

  subroutine get()
    integer :: i, error
    integer(kind=LAPI_ADDR_TYPE) :: fetched_at
    inbox = [(task * 7 + i, i = 1, kLength)]
    call LAPI_ADDRESS(fetched, fetched_at, error)
    fetched = -1
    call LAPI_GFENCE(handle, error)
    call LAPI_GET(handle, right, 4_8 * kLength, inboxes(right), fetched_at, taken_at(right), done, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_GET')
    call wait_for(done, 1, 'the origin counter of LAPI_GET')
    call expect_true(all(fetched == [(right * 7 + i, i = 1, kLength)]), 'the data of LAPI_GET')
    call wait_for(taken, 1, 'the target counter of LAPI_GET')
    call passed('LAPI_GET')
  end subroutine get

  ! Everybody on task 0's word: the previous values are those of some order.
  subroutine read_modify_write()
    integer :: error, previous, operands(2), i, before
    word = 0
    call LAPI_GFENCE(handle, error)
    before = -1
    do i = 1, 100
      call LAPI_RMW(handle, FETCH_AND_ADD, 0, words(0), 3, previous, done, error)
      call expect(error, LAPI_SUCCESS, 'LAPI_RMW')
      call wait_for(done, 1, 'the origin counter of LAPI_RMW')
      call expect_true(previous > before .and. mod(previous, 3) == 0, 'the previous value grows')
      before = previous
    end do
    call LAPI_GFENCE(handle, error)
    if (task == 0) call expect(word, 300 * tasks, 'FETCH_AND_ADD')
    word = 1
    call LAPI_GFENCE(handle, error)
    call LAPI_RMW(handle, FETCH_AND_OR, right, words(right), 6, LAPI_ADDR_NULL, LAPI_ADDR_NULL, error)
    call LAPI_GFENCE(handle, error)
    call expect(word, 7, 'FETCH_AND_OR')
    call LAPI_GFENCE(handle, error)
    call LAPI_RMW(handle, SWAP, right, words(right), 50 + task, previous, done, error)
    call wait_for(done, 1, 'SWAP')
    call expect(previous, 7, 'what SWAP found')
    call LAPI_GFENCE(handle, error)
    call expect(word, 50 + left, 'SWAP')
    call LAPI_GFENCE(handle, error)
    operands = [50 + task, 99]
    call LAPI_RMW(handle, COMPARE_AND_SWAP, right, words(right), operands, previous, done, error)
    call wait_for(done, 1, 'COMPARE_AND_SWAP')
    call expect(previous, TRUE, 'COMPARE_AND_SWAP swaps what is equal')
    call LAPI_RMW(handle, COMPARE_AND_SWAP, right, words(right), operands, previous, done, error)
    call wait_for(done, 1, 'COMPARE_AND_SWAP')
    call expect(previous, FALSE, 'COMPARE_AND_SWAP leaves what is not')
    call LAPI_GFENCE(handle, error)
    call expect(word, 99, 'COMPARE_AND_SWAP')
    call passed('LAPI_RMW')
  end subroutine read_modify_write

  subroutine read_modify_write_64()
    integer(kind=LAPI_LONG_LONG_TYPE) :: previous, operands(2)
    integer :: error
    wide = 2_8**40
    call LAPI_GFENCE(handle, error)
    call LAPI_RMW64(handle, FETCH_AND_ADD, right, wides(right), 2_8**41, previous, done, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_RMW64')
    call wait_for(done, 1, 'the origin counter of LAPI_RMW64')
    call expect_long(previous, 2_8**40, 'what LAPI_RMW64 found')
    call LAPI_GFENCE(handle, error)
    call expect_long(wide, 3 * 2_8**40, 'FETCH_AND_ADD of 64 bits')
    call LAPI_GFENCE(handle, error)
    call LAPI_RMW64(handle, FETCH_AND_OR, right, wides(right), 1_8, previous, done, error)
    call wait_for(done, 1, 'FETCH_AND_OR of 64 bits')
    operands = [3 * 2_8**40 + 1, -5_8]
    call LAPI_RMW64(handle, COMPARE_AND_SWAP, right, wides(right), operands, previous, done, error)
    call wait_for(done, 1, 'COMPARE_AND_SWAP of 64 bits')
    call expect_long(previous, 1_8, 'COMPARE_AND_SWAP of 64 bits swapped')
    call LAPI_RMW64(handle, SWAP, right, wides(right), int(task, 8), previous, done, error)
    call wait_for(done, 1, 'SWAP of 64 bits')
    call expect_long(previous, -5_8, 'what SWAP of 64 bits found')
    call LAPI_GFENCE(handle, error)
    call expect_long(wide, int(left, 8), 'SWAP of 64 bits')
    call passed('LAPI_RMW64')
  end subroutine read_modify_write_64

  subroutine counters()
    type(LAPI_CNTR_T) :: counter
    integer :: value, error
    call clear(counter)
    call LAPI_SETCNTR(handle, counter, 5, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_SETCNTR')
    call LAPI_GETCNTR(handle, counter, value, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_GETCNTR')
    call expect(value, 5, 'LAPI_GETCNTR')
    call LAPI_WAITCNTR(handle, counter, 3, value, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_WAITCNTR')
    call expect(value, 2, 'LAPI_WAITCNTR says the rest')
    call LAPI_WAITCNTR(handle, counter, 1, LAPI_ADDR_NULL, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_WAITCNTR that says nothing')
    call LAPI_GETCNTR(handle, counter, value, error)
    call expect(value, 1, 'the rest of the rest')
    call expect_true(LAPI_ADDR_NULL == 0, 'LAPI_ADDR_NULL is still 0')
    call passed('counters')
  end subroutine counters
end program transfer
