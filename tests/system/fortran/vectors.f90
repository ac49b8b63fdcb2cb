! LAPI_PUTV, LAPI_GETV and LAPI_AMSENDV with the three kinds of vectors, to the right neighbour, and the same transfers
! by LAPI_XFER.
module vector_handlers
  use fortran_case
  implicit none
  integer, parameter :: kPieces = 200, kPiece = 5, kGap = 7, kWords = kPieces * kGap
  integer, volatile :: inbox(kWords), outbox(kWords)
  integer(kind=LAPI_ADDR_TYPE) :: scatter_info(kPieces)
  integer(kind=LAPI_LONG_TYPE) :: scatter_lengths(kPieces)
  type(LAPI_VEC_T), target :: scatter
  type(LAPI_CNTR_T) :: arrived, free, done
  integer, parameter :: kFetchedSeed = 6
  integer, volatile :: sent = 0, fetched = 0
contains

  ! A header handler of vectors returns the address of a vector: every piece in reverse order.
  integer(kind=LAPI_ADDR_TYPE) function accept(hdl, uhdr, uhdr_len, len_vec, comp_h, user_info)
    integer :: hdl, uhdr(2), uhdr_len
    integer(kind=LAPI_LONG_TYPE) :: len_vec
    integer(kind=LAPI_ADDR_TYPE) :: comp_h
    type(LAPI_ADDR_T) :: user_info
    integer :: error
    accept = LAPI_ADDR_NULL
    comp_h = LAPI_ADDR_NULL
    user_info%addr = LAPI_ADDR_NULL
    if (hdl == handle .and. uhdr_len == 8 .and. uhdr(1) == left .and. len_vec == 4 * kPieces * kPiece) &
      call LAPI_ADDRESS(scatter, accept, error)
  end function accept

  ! Addresses of the pieces of an array at `base`.
  function pieces(base) result(addresses)
    integer(kind=LAPI_ADDR_TYPE), intent(in) :: base
    integer(kind=LAPI_ADDR_TYPE) :: addresses(kPieces)
    integer :: i
    addresses = [(base + 4 * (i - 1) * kGap, i = 1, kPieces)]
  end function pieces

  ! Every piece of inbox holds what `from` filled in with `seed`, every gap nothing.
  logical function holds(from, seed)
    integer, intent(in) :: from, seed
    integer :: i
    holds = all(inbox == [(merge(from * 100000 + seed + i, -1, mod(i - 1, kGap) < kPiece), i = 1, kWords)])
  end function holds

  ! A send completion handler: its argument is `sent`.
  subroutine note_sent(hdl, count, info)
    integer :: hdl
    integer, volatile :: count
    type(LAPI_SH_INFO_T) :: info
    if (hdl == handle .and. info%src == right .and. info%reason == LAPI_SUCCESS) count = count + 1
  end subroutine note_sent

  ! The completion handler of a get, which finds the data in its place: its argument is `fetched`.
  subroutine note_fetched(hdl, count)
    integer :: hdl
    integer, volatile :: count
    if (hdl == handle .and. holds(right, kFetchedSeed)) count = count + 1
  end subroutine note_fetched

  subroutine fill(seed)
    integer, intent(in) :: seed
    integer :: i, error
    outbox = [(task * 100000 + seed + i, i = 1, kWords)]
    inbox = -1
    call LAPI_GFENCE(handle, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_GFENCE')
  end subroutine fill
end module vector_handlers

program vectors
  use vector_handlers
  implicit none
  integer :: error, i
  integer(kind=LAPI_ADDR_TYPE) :: here_at, there_at
  integer(kind=LAPI_ADDR_TYPE), allocatable :: inboxes(:), outboxes(:), arrived_at(:), handlers(:)
  integer(kind=LAPI_ADDR_TYPE), target :: here_info(kPieces), there_info(kPieces)
  integer(kind=LAPI_LONG_TYPE), target :: lengths(kPieces)
  type(LAPI_VEC_T), target :: here, there
  call start()
  call clear(arrived); call clear(free); call clear(done)
  allocate(inboxes(0:tasks - 1), outboxes(0:tasks - 1), arrived_at(0:tasks - 1), handlers(0:tasks - 1))
  inboxes = exchange(loc(inbox))
  outboxes = exchange(loc(outbox))
  arrived_at = exchange(loc(arrived))
  call LAPI_ADDRESS(accept, here_at, error)
  handlers = exchange(here_at)
  lengths = 4 * kPiece
  here = LAPI_VEC_T(LAPI_GEN_IOVECTOR, kPieces, loc(here_info), loc(lengths))
  there = LAPI_VEC_T(LAPI_GEN_IOVECTOR, kPieces, loc(there_info), loc(lengths))
  call LAPI_ADDRESS(here, here_at, error)
  call LAPI_ADDRESS(there, there_at, error)
  call put()
  call get()
  call strided()
  call message()
  call put_by_xfer()
  call get_by_xfer()
  call message_by_xfer()
  call refused()
  call finish()
contains

  subroutine put()
    call fill(0)
    here_info = pieces(loc(outbox))
    there_info = pieces(inboxes(right))
    call LAPI_PUTV(handle, right, there_at, here, arrived_at(right), free, done, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_PUTV')
    call wait_for(arrived, 1, 'the target counter of LAPI_PUTV')
    call expect_true(holds(left, 0), 'the data of LAPI_PUTV')
    call wait_for(free, 1, 'the origin counter of LAPI_PUTV')
    call wait_for(done, 1, 'the completion counter of LAPI_PUTV')
    call passed('LAPI_PUTV')
  end subroutine put

  subroutine get()
    call fill(1)
    here_info = pieces(loc(inbox))
    there_info = pieces(outboxes(right))
    call LAPI_GETV(handle, right, there_at, here, arrived_at(right), free, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_GETV')
    call wait_for(free, 1, 'the origin counter of LAPI_GETV')
    call expect_true(holds(right, 1), 'the data of LAPI_GETV')
    call wait_for(arrived, 1, 'the target counter of LAPI_GETV')
    call passed('LAPI_GETV')
  end subroutine get

  subroutine strided()
    integer(kind=LAPI_ADDR_TYPE), target :: from(3), to(3)
    type(LAPI_VEC_T), target :: strided_here, strided_there
    call fill(2)
    from = [loc(outbox), 4_8 * kPiece, 4_8 * kGap]
    to = [inboxes(right), 4_8 * kPiece, 4_8 * kGap]
    strided_here = LAPI_VEC_T(LAPI_GEN_STRIDED_XFER, kPieces, loc(from), LAPI_ADDR_NULL)
    strided_there = LAPI_VEC_T(LAPI_GEN_STRIDED_XFER, kPieces, loc(to), LAPI_ADDR_NULL)
    call LAPI_PUTV(handle, right, loc(strided_there), strided_here, arrived_at(right), LAPI_ADDR_NULL, LAPI_ADDR_NULL, &
                   error)
    call expect(error, LAPI_SUCCESS, 'LAPI_PUTV with strides')
    call wait_for(arrived, 1, 'the target counter of LAPI_PUTV with strides')
    call expect_true(holds(left, 2), 'the data of LAPI_PUTV with strides')
    call passed('LAPI_GEN_STRIDED_XFER')
  end subroutine strided

  subroutine message()
    integer :: header(2)
    scatter_info = pieces(loc(inbox))
    scatter_info = scatter_info(kPieces:1:-1)
    scatter_lengths = 4 * kPiece
    scatter = LAPI_VEC_T(LAPI_GEN_GENERIC, kPieces, loc(scatter_info), loc(scatter_lengths))
    call fill(3)
    here_info = pieces(loc(outbox))
    here_info = here_info(kPieces:1:-1)
    here%vec_type = LAPI_GEN_GENERIC
    header = [task, 0]
    call LAPI_AMSENDV(handle, right, handlers(right), header, 8, here, arrived_at(right), free, done, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_AMSENDV')
    call wait_for(arrived, 1, 'the target counter of LAPI_AMSENDV')
    call expect_true(holds(left, 3), 'the data of LAPI_AMSENDV')
    call wait_for(free, 1, 'the origin counter of LAPI_AMSENDV')
    call wait_for(done, 1, 'the completion counter of LAPI_AMSENDV')
    here%vec_type = LAPI_GEN_IOVECTOR
    call passed('LAPI_AMSENDV')
  end subroutine message

  ! The target's vector is of either of two types: the same one in tasks of 64 bits.
  subroutine put_by_xfer()
    type(LAPI_PUTV_T) :: command
    type(LAPI_LVEC_T), target :: long_there
    integer(kind=LAPI_LONG_LONG_TYPE), target :: long_info(kPieces), long_lengths(kPieces)
    integer :: seed
    long_info = pieces(inboxes(right))
    long_lengths = 4 * kPiece
    long_there = LAPI_LVEC_T(LAPI_GEN_IOVECTOR, kPieces, loc(long_info), loc(long_lengths))
    command%Xfer_type = LAPI_PUTV_XFER
    command%tgt = right
    call LAPI_ADDRESS(note_sent, command%shdlr, error)
    call LAPI_ADDRESS(sent, command%sinfo, error)
    command%org_vec = here_at
    command%tgt_cntr = arrived_at(right)
    call LAPI_ADDRESS(free, command%org_cntr, error)
    call LAPI_ADDRESS(done, command%cmpl_cntr, error)
    do seed = 4, 5
      call fill(seed)
      here_info = pieces(loc(outbox))
      there_info = pieces(inboxes(right))
      command%flags = merge(0, USE_TGT_VEC_TYPE, seed == 4)
      command%tgt_vec = merge(loc(long_there), there_at, seed == 4)
      call LAPI_XFER(handle, command, error)
      call expect(error, LAPI_SUCCESS, 'LAPI_XFER of a vector put')
      call wait_for(arrived, 1, 'the target counter of a vector put')
      call expect_true(holds(left, seed), 'the data of a vector put')
      call wait_for(free, 1, 'the origin counter of a vector put')
      call wait_for(done, 1, 'the completion counter of a vector put')
      call expect_eventually(sent, seed - 3, 'the send completion handler of a vector put')
    end do
    call passed('LAPI_PUTV_XFER')
  end subroutine put_by_xfer

  subroutine get_by_xfer()
    type(LAPI_GETV_T) :: command
    call fill(kFetchedSeed)
    here_info = pieces(loc(inbox))
    there_info = pieces(outboxes(right))
    command%Xfer_type = LAPI_GETV_XFER
    command%flags = USE_TGT_VEC_TYPE
    command%tgt = right
    command%org_vec = here_at
    command%tgt_vec = there_at
    command%tgt_cntr = arrived_at(right)
    call LAPI_ADDRESS(free, command%org_cntr, error)
    call LAPI_ADDRESS(note_fetched, command%chndlr, error)
    call LAPI_ADDRESS(fetched, command%cinfo, error)
    call LAPI_XFER(handle, command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_XFER of a vector get')
    call wait_for(free, 1, 'the origin counter of a vector get')
    call expect_true(holds(right, kFetchedSeed), 'the data of a vector get')
    call expect_eventually(fetched, 1, 'the completion handler of a vector get')
    call wait_for(arrived, 1, 'the target counter of a vector get')
    call passed('LAPI_GETV_XFER')
  end subroutine get_by_xfer

  ! Scattered as by LAPI_AMSENDV; this end names the pieces in the same, reverse, order.
  subroutine message_by_xfer()
    type(LAPI_AMV_T) :: command
    integer, volatile :: header(2)
    call fill(7)
    here_info = pieces(loc(outbox))
    here_info = here_info(kPieces:1:-1)
    here%vec_type = LAPI_GEN_GENERIC
    header = [task, 0]
    command%Xfer_type = LAPI_AMV_XFER
    command%flags = 0
    command%tgt = right
    command%hdr_hdl = handlers(right)
    command%uhdr_len = 8
    call LAPI_ADDRESS(header, command%uhdr, error)
    call LAPI_ADDRESS(note_sent, command%shdlr, error)
    call LAPI_ADDRESS(sent, command%sinfo, error)
    command%org_vec = here_at
    command%tgt_cntr = arrived_at(right)
    call LAPI_ADDRESS(free, command%org_cntr, error)
    call LAPI_ADDRESS(done, command%cmpl_cntr, error)
    sent = 0
    call LAPI_XFER(handle, command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_XFER of a vector message')
    call wait_for(arrived, 1, 'the target counter of a vector message')
    call expect_true(holds(left, 7), 'the data of a vector message')
    call wait_for(free, 1, 'the origin counter of a vector message')
    call wait_for(done, 1, 'the completion counter of a vector message')
    call expect_eventually(sent, 1, 'the send completion handler of a vector message')
    here%vec_type = LAPI_GEN_IOVECTOR
    call passed('LAPI_AMV_XFER')
  end subroutine message_by_xfer

  subroutine refused()
    call LAPI_PUTV(handle, right, LAPI_ADDR_NULL, here, arrived_at(right), free, done, error)
    call expect(error, LAPI_ERR_TGT_VEC_NULL, 'LAPI_PUTV to nothing')
    call LAPI_PUTV(handle, right, there_at, LAPI_ADDR_NULL, arrived_at(right), free, done, error)
    call expect(error, LAPI_ERR_ORG_VEC_NULL, 'LAPI_PUTV of nothing')
    call LAPI_GETV(handle, right, LAPI_ADDR_NULL, here, arrived_at(right), free, error)
    call expect(error, LAPI_ERR_TGT_VEC_NULL, 'LAPI_GETV from nothing')
    call LAPI_AMSENDV(handle, right, LAPI_ADDR_NULL, i, 4, here, arrived_at(right), free, done, error)
    call expect(error, LAPI_ERR_HDR_HNDLR_NULL, 'LAPI_AMSENDV without handler')
    call passed('vectors that are refused')
  end subroutine refused
end program vectors
