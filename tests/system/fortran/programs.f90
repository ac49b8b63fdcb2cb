! LAPI_UTIL: data gather/scatter programs made in Fortran, packed, unpacked, sent and accumulated.
module program_handlers
  use fortran_case
  use, intrinsic :: iso_c_binding, only: c_int, c_long
  implicit none
  ! The pieces of an array: 3 integers of every 5, from the second on.
  integer, parameter :: kRuns = 4000, kExtent = 5, kPiece = 3, kFirst = 2, kPacked = kRuns * kPiece
  ! What a user header asks for.
  integer, parameter :: kContiguous = 0, kScattered = 1, kAdded = 2
  integer, parameter :: kOperation = 4, kOperand = 3
  integer, volatile :: inbox(kPacked), scattered(kRuns * kExtent), odd_calls = 0
  integer(kind=LAPI_ADDR_TYPE) :: pieces_program, adding_program
contains

  integer(kind=LAPI_ADDR_TYPE) function accept(hdl, uhdr, uhdr_len, info, comp_h, user_info)
    integer :: hdl, uhdr, uhdr_len
    type(LAPI_RETURN_INFO_T) :: info
    integer(kind=LAPI_ADDR_TYPE) :: comp_h
    type(LAPI_ADDR_T) :: user_info
    integer :: error
    comp_h = LAPI_ADDR_NULL
    user_info%addr = LAPI_ADDR_NULL
    accept = LAPI_ADDR_NULL
    if (hdl /= handle .or. uhdr_len /= 8 .or. info%msg_len /= 4 * kPacked) return
    if (uhdr == kScattered) info%dgsp_handle = pieces_program
    if (uhdr == kAdded) info%dgsp_handle = adding_program
    if (uhdr == kContiguous) then
      call LAPI_ADDRESS(inbox, accept, error)
    else
      call LAPI_ADDRESS(scattered, accept, error)
    end if
  end function accept

  ! A data distribution manager function, which C's rules hold for: adds, times the operand.
  integer(c_long) function add(in, inout, bytes, operand, operation) bind(c)
    integer(c_long), value :: bytes
    integer(c_int), value :: operand, operation
    integer(c_int) :: in(bytes / 4), inout(bytes / 4)
    if (mod(bytes, 4_c_long) /= 0 .or. operation /= kOperation) odd_calls = odd_calls + 1
    inout = inout + operand * in
    add = bytes
  end function add
end module program_handlers

program programs
  use program_handlers
  implicit none
  integer, parameter :: kIndex = 9, kCopySize = LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE
  integer, volatile :: outbox(kRuns * kExtent), packed(kPacked)
  type(LAPI_CNTR_T) :: arrived, free, done
  integer(kind=LAPI_ADDR_TYPE), allocatable :: arrived_at(:)
  integer :: error, i
  call start()
  call clear(arrived); call clear(free); call clear(done)
  allocate(arrived_at(0:tasks - 1))
  arrived_at = exchange(loc(arrived))
  call LAPI_ADDR_SET(handle, accept, kIndex, error)
  call expect(error, LAPI_SUCCESS, 'LAPI_ADDR_SET')
  outbox = [(task * 100000 + i, i = 1, kRuns * kExtent)]
  pieces_program = program_of([integer ::], LAPI_DGSM_CONTIG, 0)
  call passed('LAPI_REGISTER_DGSP')
  call pack_and_unpack()
  call messages()
  call accumulate()
  call references()
  call refused()
  call finish()
contains

  logical function in_piece(i)
    integer, intent(in) :: i
    in_piece = mod(i - 1, kExtent) >= kFirst - 1 .and. mod(i - 1, kExtent) < kFirst - 1 + kPiece
  end function in_piece

  ! What `from` has in its outbox, without the gaps.
  function pieces(from)
    integer, intent(in) :: from
    integer :: pieces(kPacked), all_words(kRuns * kExtent), i
    all_words = [(from * 100000 + i, i = 1, kRuns * kExtent)]
    pieces = pack(all_words, [(in_piece(i), i = 1, kRuns * kExtent)])
  end function pieces

  ! The handle of a program of the pieces that begins with the instruction `first`, or with none.
  integer(kind=LAPI_ADDR_TYPE) function program_of(first, density, atom_size)
    integer, intent(in) :: first(:), density, atom_size
    type(LAPI_REG_DGSP_T) :: registration
    type(LAPI_DGSP_DESCR_T) :: description
    type(LAPI_DGSM_COPY_T) :: copy
    type(LAPI_DGSM_ITERATE_T) :: iterate
    integer(kind=4) :: code(size(first) + kCopySize)
    copy%opcode = LAPI_DGSM_COPY
    copy%bytes = transfer(4_8 * kPiece, copy%bytes)
    copy%offset = transfer(4_8 * (kFirst - 1), copy%offset)
    iterate%opcode = LAPI_DGSM_ITERATE
    iterate%iter_loc = -(size(first) + LAPI_DGSM_COPY_SIZE)
    code = [first, transfer(copy, code), transfer(iterate, code)]
    call LAPI_ADDRESS(code, description%code, error)
    description%code_size = size(code)
    description%depth = 1
    description%density = density
    description%size = 4 * kPiece
    description%extent = 4 * kExtent
    description%lext = 4 * (kFirst - 1)
    description%rext = 4 * (kFirst - 1 + kPiece)
    description%atom_size = atom_size
    registration%Util_type = LAPI_REGISTER_DGSP
    call LAPI_ADDRESS(description, registration%idgsp, error)
    registration%dgsp_handle = 0
    registration%in_usr_func = LAPI_ADDR_NULL
    call LAPI_UTIL(handle, registration, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_REGISTER_DGSP')
    call expect_true(registration%dgsp_handle /= 0, 'the handle of a program')
    program_of = registration%dgsp_handle
    code = 0  ! the library has its own copy
  end function program_of

  subroutine pack_and_unpack()
    type(LAPI_PACK_DGSP_T) :: pack_command
    type(LAPI_UNPACK_DGSP_T) :: unpack_command
    integer, volatile :: unpacked(kRuns * kExtent)
    packed = -1
    pack_command%Util_type = LAPI_DGSP_PACK
    pack_command%dgsp_handle = pieces_program
    call LAPI_ADDRESS(outbox, pack_command%in_buf, error)
    pack_command%bytes = 4 * kPacked
    call LAPI_ADDRESS(packed, pack_command%out_buf, error)
    pack_command%out_size = 4 * kPacked
    pack_command%position = 0
    pack_command%in_usr_func = LAPI_ADDR_NULL
    call LAPI_UTIL(handle, pack_command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_DGSP_PACK')
    call expect_long(pack_command%position, 4_8 * kPacked, 'the position behind what was packed')
    call expect_true(all(packed == pieces(task)), 'what was packed')
    unpacked = -1
    unpack_command%Util_type = LAPI_DGSP_UNPACK
    unpack_command%dgsp_handle = pieces_program
    call LAPI_ADDRESS(packed, unpack_command%buf, error)
    unpack_command%in_size = 4 * kPacked
    call LAPI_ADDRESS(unpacked, unpack_command%out_buf, error)
    unpack_command%bytes = 4 * kPacked
    unpack_command%out_size = 4 * kRuns * kExtent
    unpack_command%position = 0
    unpack_command%in_usr_func = LAPI_ADDR_NULL
    call LAPI_UTIL(handle, unpack_command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_DGSP_UNPACK')
    call expect_true(all([(unpacked(i) == merge(outbox(i), -1, in_piece(i)), i = 1, kRuns * kExtent)]), &
                     'what was unpacked')
    call passed('LAPI_DGSP_PACK, LAPI_DGSP_UNPACK')
  end subroutine pack_and_unpack

  ! Sends the pieces of the outbox and waits until those of the left neighbour are here.
  subroutine send(what, dgsp)
    integer, intent(in) :: what
    integer(kind=LAPI_ADDR_TYPE), intent(in) :: dgsp
    type(LAPI_AMDGSP_T) :: command
    integer, volatile :: header(2)
    call LAPI_GFENCE(handle, error)
    header = [what, 0]
    command%Xfer_type = LAPI_DGSP_XFER
    command%flags = 0
    command%tgt = right
    command%hdr_hdl = kIndex
    command%uhdr_len = 8
    call LAPI_ADDRESS(header, command%uhdr, error)
    call LAPI_ADDRESS(outbox, command%udata, error)
    command%udata_len = 4 * kPacked
    command%shdlr = LAPI_ADDR_NULL
    command%sinfo = LAPI_ADDR_NULL
    command%tgt_cntr = arrived_at(right)
    call LAPI_ADDRESS(free, command%org_cntr, error)
    call LAPI_ADDRESS(done, command%cmpl_cntr, error)
    command%dgsp = dgsp
    command%status = -1
    call LAPI_XFER(handle, command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_XFER with a program')
    call expect_true(command%status == LAPI_SUCCESS, 'the status of LAPI_XFER with a program')
    call wait_for(arrived, 1, 'the target counter of LAPI_XFER with a program')
    call wait_for(free, 1, 'the origin counter of LAPI_XFER with a program')
    call wait_for(done, 1, 'the completion counter of LAPI_XFER with a program')
  end subroutine send

  subroutine messages()
    inbox = -1
    call send(kContiguous, pieces_program)
    call expect_true(all(inbox == pieces(left)), 'the data of a gathered message')
    scattered = -1
    call send(kScattered, pieces_program)
    call expect_true(all([(scattered(i) == merge(left * 100000 + i, -1, in_piece(i)), i = 1, kRuns * kExtent)]), &
                     'the data of a message that is gathered and scattered')
    call passed('LAPI_DGSP_XFER')
  end subroutine messages

  subroutine accumulate()
    type(LAPI_REG_DDM_T) :: command
    type(LAPI_DGSM_CONTROL_T) :: control
    integer(kind=LAPI_ADDR_TYPE) :: atoms_program
    command%Util_type = LAPI_REG_DDM_FUNC
    call LAPI_ADDRESS(add, command%ddm_func, error)
    command%in_usr_func = LAPI_ADDR_NULL
    call LAPI_UTIL(handle, command, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_REG_DDM_FUNC')
    control = LAPI_DGSM_CONTROL_T(LAPI_DGSM_CONTROL, kOperation, kOperand)
    adding_program = program_of(transfer(control, [0]), LAPI_DGSM_SPARSE, 4)
    atoms_program = program_of([integer ::], LAPI_DGSM_SPARSE, 4)
    scattered = [(1000 * i, i = 1, kRuns * kExtent)]
    call send(kAdded, atoms_program)
    call expect_true(all([(scattered(i) == 1000 * i + merge(kOperand * (left * 100000 + i), 0, in_piece(i)), &
                           i = 1, kRuns * kExtent)]), 'the data of an accumulated message')
    call expect(odd_calls, 0, 'calls of the function with other values than those of CONTROL')
    call passed('LAPI_REG_DDM_FUNC')
  end subroutine accumulate

  ! Reserved once more, it must be given back twice.
  subroutine references()
    type(LAPI_RESV_DGSP_T) :: reservation
    type(LAPI_DREF_DGSP_T) :: release
    reservation = LAPI_RESV_DGSP_T(LAPI_RESERVE_DGSP, 0, pieces_program, LAPI_ADDR_NULL, LAPI_SUCCESS)
    call LAPI_UTIL(handle, reservation, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_RESERVE_DGSP')
    release = LAPI_DREF_DGSP_T(LAPI_UNRESERVE_DGSP, 0, pieces_program, LAPI_ADDR_NULL, LAPI_SUCCESS)
    call LAPI_UTIL(handle, release, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_UNRESERVE_DGSP')
    call LAPI_UTIL(handle, release, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_UNRESERVE_DGSP again')
    call passed('LAPI_RESERVE_DGSP, LAPI_UNRESERVE_DGSP')
  end subroutine references

  subroutine refused()
    type(LAPI_REG_DGSP_T) :: registration
    registration%Util_type = LAPI_REGISTER_DGSP
    registration%idgsp = LAPI_ADDR_NULL
    registration%in_usr_func = LAPI_ADDR_NULL
    call LAPI_UTIL(handle, registration, error)
    call expect(error, LAPI_ERR_DGSP, 'LAPI_REGISTER_DGSP of nothing')
    call passed('programs that are refused')
  end subroutine refused
end program programs
