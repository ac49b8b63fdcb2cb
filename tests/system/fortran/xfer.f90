! LAPI_XFER with the derived types of lapif.h, to the right neighbour: counters and the handlers of the origin.
module xfer_handlers
  use fortran_case
  implicit none
  integer, parameter :: kLength = 30000
  integer, volatile :: inbox(kLength), outbox(kLength), fetched(kLength), word
  integer(kind=8), volatile :: wide
  integer, volatile :: sent_to = -1, sent_reason = -1, sent = 0, gotten = 0
  type(LAPI_CNTR_T) :: arrived, free, done
contains

  ! A send completion handler: its argument is `sent`.
  subroutine note_sent(hdl, count, info)
    integer :: hdl
    integer, volatile :: count
    type(LAPI_SH_INFO_T) :: info
    sent_to = info%src
    sent_reason = info%reason
    if (hdl == handle) count = count + 1
  end subroutine note_sent

  ! The completion handler of a get: its argument is `gotten`.
  subroutine note_gotten(hdl, count)
    integer :: hdl
    integer, volatile :: count
    if (hdl == handle .and. fetched(kLength) == right * 3 + kLength) count = count + 1
  end subroutine note_gotten

  integer(kind=LAPI_ADDR_TYPE) function accept(hdl, uhdr, uhdr_len, msg_len, comp_h, user_info)
    integer :: hdl, uhdr, uhdr_len
    integer(kind=LAPI_LONG_TYPE) :: msg_len
    integer(kind=LAPI_ADDR_TYPE) :: comp_h
    type(LAPI_ADDR_T) :: user_info
    integer :: error
    accept = LAPI_ADDR_NULL
    comp_h = LAPI_ADDR_NULL
    user_info%addr = LAPI_ADDR_NULL
    if (hdl == handle .and. uhdr_len == 4 .and. msg_len == 4_8 * uhdr) call LAPI_ADDRESS(inbox, accept, error)
  end function accept
end module xfer_handlers

program xfer
  use xfer_handlers
  implicit none
  integer, parameter :: kIndex = 3
  integer :: error, i
  integer(kind=LAPI_ADDR_TYPE) :: own
  integer(kind=LAPI_ADDR_TYPE), allocatable :: inboxes(:), words(:), wides(:), arrived_at(:)
  call start()
  call clear(arrived); call clear(free); call clear(done)
  allocate(inboxes(0:tasks - 1), words(0:tasks - 1), wides(0:tasks - 1), arrived_at(0:tasks - 1))
  inboxes = exchange(loc(inbox))
  words = exchange(loc(word))
  wides = exchange(loc(wide))
  arrived_at = exchange(loc(arrived))
  call LAPI_ADDRESS(accept, own, error)
  call LAPI_ADDR_SET(handle, own, kIndex, error)
  call expect(error, LAPI_SUCCESS, 'LAPI_ADDR_SET')
  call LAPI_GFENCE(handle, error)
  call put()
  call get()
  call messages()
  call read_modify_write()
  call refused()
  call finish()
contains

  subroutine put()
    type(LAPI_PUT_T) :: command
    outbox = [(task * 5 + i, i = 1, kLength)]
    command%Xfer_type = LAPI_PUT_XFER
    command%flags = 0
    command%tgt = right
    command%tgt_addr = inboxes(right)
    call LAPI_ADDRESS(outbox, command%org_addr, error)
    command%len = 4 * kLength
    call LAPI_ADDRESS(note_sent, command%shdlr, error)
    call LAPI_ADDRESS(sent, command%sinfo, error)
    command%tgt_cntr = arrived_at(right)
    command%org_cntr = LAPI_ADDR_NULL
    call LAPI_ADDRESS(done, command%cmpl_cntr, error)
    call LAPI_XFER(handle, command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_XFER of a put')
    call wait_for(arrived, 1, 'the target counter of a put')
    call expect_true(all(inbox == [(left * 5 + i, i = 1, kLength)]), 'the data of a put')
    call wait_for(done, 1, 'the completion counter of a put')
    call LAPI_FENCE(handle, error)
    call expect_eventually(sent, 1, 'the send completion handler of a put')
    call expect(sent_to, right, 'the task that it names')
    call expect(sent_reason, LAPI_SUCCESS, 'the reason that it gives')
    call passed('LAPI_PUT_XFER')
  end subroutine put

  subroutine get()
    type(LAPI_GET_T) :: command
    inbox = [(task * 3 + i, i = 1, kLength)]
    call LAPI_GFENCE(handle, error)
    command%Xfer_type = LAPI_GET_XFER
    command%flags = 0
    command%tgt = right
    command%tgt_addr = inboxes(right)
    call LAPI_ADDRESS(fetched, command%org_addr, error)
    command%len = 4 * kLength
    command%tgt_cntr = LAPI_ADDR_NULL
    call LAPI_ADDRESS(free, command%org_cntr, error)
    call LAPI_ADDRESS(note_gotten, command%chndlr, error)
    call LAPI_ADDRESS(gotten, command%cinfo, error)
    call LAPI_XFER(handle, command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_XFER of a get')
    call wait_for(free, 1, 'the origin counter of a get')
    call expect_true(all(fetched == [(right * 3 + i, i = 1, kLength)]), 'the data of a get')
    call expect_eventually(gotten, 1, 'the completion handler of a get')
    call passed('LAPI_GET_XFER')
  end subroutine get

  subroutine messages()
    type(LAPI_AM_T) :: command
    integer, volatile :: header
    outbox = [(task * 11 + i, i = 1, kLength)]
    inbox = -1
    header = 10
    call LAPI_GFENCE(handle, error)
    command%Xfer_type = LAPI_AM_XFER
    command%flags = 0
    command%tgt = right
    command%hdr_hdl = kIndex
    command%uhdr_len = 4
    call LAPI_ADDRESS(header, command%uhdr, error)
    call LAPI_ADDRESS(outbox, command%udata, error)
    command%udata_len = 40
    command%shdlr = LAPI_ADDR_NULL
    command%sinfo = LAPI_ADDR_NULL
    command%tgt_cntr = arrived_at(right)
    call LAPI_ADDRESS(free, command%org_cntr, error)
    call LAPI_ADDRESS(done, command%cmpl_cntr, error)
    call LAPI_XFER(handle, command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_XFER of an active message')
    call wait_for(arrived, 1, 'the target counter of an active message')
    call expect_true(all(inbox(1:10) == [(left * 11 + i, i = 1, 10)]), 'the data of an active message')
    call expect(inbox(11), -1, 'what lies behind it')
    call wait_for(free, 1, 'the origin counter of an active message')
    call wait_for(done, 1, 'the completion counter of an active message')
    call LAPI_GFENCE(handle, error)
    outbox = outbox + 1
    command%Xfer_type = LAPI_AM_LW_XFER
    call LAPI_XFER(handle, command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_XFER of a lightweight message')
    call LAPI_GFENCE(handle, error)
    call expect_true(all(inbox(1:10) == [(left * 11 + i + 1, i = 1, 10)]), 'the data of a lightweight message')
    call LAPI_GETCNTR(handle, free, i, error)
    call expect(i, 0, 'the origin counter that it must not touch')
    call passed('LAPI_AM_XFER, LAPI_AM_LW_XFER')
  end subroutine messages

  subroutine read_modify_write()
    type(LAPI_RMW_T) :: command
    integer, volatile :: input, previous
    integer(kind=8), volatile :: wide_input, wide_previous
    word = 100 + task
    wide = 2_8**50 + task
    call LAPI_GFENCE(handle, error)
    command%Xfer_type = LAPI_RMW_XFER
    command%op = FETCH_AND_ADD
    command%tgt = right
    command%size = 32
    command%tgt_var = words(right)
    input = 7
    call LAPI_ADDRESS(input, command%in_val, error)
    call LAPI_ADDRESS(previous, command%prev_tgt_val, error)
    call LAPI_ADDRESS(free, command%org_cntr, error)
    command%shdlr = LAPI_ADDR_NULL
    command%sinfo = LAPI_ADDR_NULL
    call LAPI_XFER(handle, command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_XFER of a read-modify-write')
    call wait_for(free, 1, 'the origin counter of a read-modify-write')
    call expect(previous, 100 + right, 'what a read-modify-write found')
    command%op = SWAP
    command%size = 64
    command%tgt_var = wides(right)
    wide_input = -6
    call LAPI_ADDRESS(wide_input, command%in_val, error)
    call LAPI_ADDRESS(wide_previous, command%prev_tgt_val, error)
    call LAPI_XFER(handle, command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_XFER of a read-modify-write of 64 bits')
    call wait_for(free, 1, 'the origin counter of a read-modify-write of 64 bits')
    call expect_long(wide_previous, 2_8**50 + right, 'what a read-modify-write of 64 bits found')
    call LAPI_GFENCE(handle, error)
    call expect(word, 107 + task, 'the word that was added to')
    call expect_long(wide, -6_8, 'the word that was swapped')
    call passed('LAPI_RMW_XFER')
  end subroutine read_modify_write

  subroutine refused()
    type(LAPI_XFER_T) :: command
    command%Xfer_type = -1
    command%fields = 0
    call LAPI_XFER(handle, command, error)
    call expect(error, LAPI_ERR_XFER_CMD, 'LAPI_XFER of no type')
    call LAPI_XFER(handle, LAPI_ADDR_NULL, error)
    call expect(error, LAPI_ERR_XFER_CMD, 'LAPI_XFER of nothing')
    command%Xfer_type = LAPI_PUT_XFER
    command%pad = 0
    call LAPI_XFER(-1, command, error)
    call expect(error, LAPI_ERR_HNDL_INVALID, 'LAPI_XFER without context')
    call passed('LAPI_XFER refuses wrong commands')
  end subroutine refused
end program xfer
