! LAPI_AMSENDV: an active message whose data lies in several places on both sides. The header handler answers with the
! address of a vector; with LAPI_GEN_GENERIC its pieces may differ from the sender's.
module amv_data
  use sample
  implicit none
  integer, parameter :: length = 90
  integer, volatile :: inbox(length) = 0
  ! What a header handler returns stays as it is until the message is complete.
  integer(kind=LAPI_ADDR_TYPE) :: pieces(3)
  integer(kind=LAPI_LONG_TYPE) :: lengths(3) = 120
  type(LAPI_VEC_T) :: vector
contains

  integer(kind=LAPI_ADDR_TYPE) function header_handler(hndl, uhdr, uhdr_len, len_vec, comp_h, user_info)
    integer :: hndl, uhdr, uhdr_len, error
    integer(kind=LAPI_LONG_TYPE) :: len_vec
    integer(kind=LAPI_ADDR_TYPE) :: comp_h
    type(LAPI_ADDR_T) :: user_info
    comp_h = LAPI_ADDR_NULL
    user_info%addr = LAPI_ADDR_NULL
    header_handler = LAPI_ADDR_NULL
    if (hndl /= handle .or. uhdr_len /= 4 .or. uhdr /= buddy .or. len_vec /= 4 * length) return
    call LAPI_ADDRESS(vector, header_handler, error)
  end function header_handler
end module amv_data

program amvf
  use amv_data
  implicit none
  integer :: front(50), back(40), i, error
  integer(kind=LAPI_ADDR_TYPE) :: parts(2)
  integer(kind=LAPI_LONG_TYPE) :: sizes(2) = [200, 160]
  type(LAPI_VEC_T) :: parts_of_data
  type(LAPI_CNTR_T) :: completed

  call start()
  call clear(completed)
  call LAPI_ADDRESS(inbox(61), pieces(1), error)  ! three pieces, the last first
  call LAPI_ADDRESS(inbox(31), pieces(2), error)
  call LAPI_ADDRESS(inbox(1), pieces(3), error)
  vector%vec_type = LAPI_GEN_GENERIC
  vector%num_vecs = 3
  call LAPI_ADDRESS(pieces, vector%info, error)
  call LAPI_ADDRESS(lengths, vector%len, error)
  call fence()  ! the vector is there before the first message comes
  if (driver) then
    front = [(i, i = 1, 50)]
    back = [(i, i = 51, 90)]
    call LAPI_ADDRESS(front, parts(1), error)
    call LAPI_ADDRESS(back, parts(2), error)
    parts_of_data%vec_type = LAPI_GEN_GENERIC
    parts_of_data%num_vecs = 2
    call LAPI_ADDRESS(parts, parts_of_data%info, error)
    call LAPI_ADDRESS(sizes, parts_of_data%len, error)
    call LAPI_AMSENDV(handle, buddy, header_handler, task, 4, parts_of_data, LAPI_ADDR_NULL, LAPI_ADDR_NULL, &
                      completed, error)
    call succeeded(error, 'LAPI_AMSENDV')
    call wait_for(completed)
  end if
  call fence()
  if (.not. driver) then
    call check(all(inbox == [(i, i = 61, 90), (i, i = 31, 60), (i, i = 1, 30)]), 'the data of LAPI_AMSENDV')
  end if
  call finish('LAPI_AMSENDV')
end program amvf
