! The frame of the tests in Fortran: a context, expectations, numbered cases. A task in which something is wrong says
! what and ends; lapirun then ends the others. API_UDP_LIST=address:port,... (one entry per task) makes the program
! start without a launcher over UDP.
module fortran_case
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  include 'lapif.h'
  integer :: handle, task, tasks, right, left
  integer :: cases = 0
  type(LAPI_UDP_T), allocatable, target :: udp_list(:)  ! empty: a launcher is there
contains

  ! Usage of each program: lapirun -n N PROGRAM [interrupt|polling]
  ! `alone`: LAPI_INIT is told of the own entry of API_UDP_LIST only.
  subroutine start(alone)
    logical, intent(in), optional :: alone
    type(LAPI_INFO_T) :: info
    type(LAPI_EXTEND_T), target :: extension
    type(LAPI_UDP_T), allocatable, target :: told(:)
    character(len=16) :: mode
    integer :: error
    info%lib_vers = LAST_LIB
    info%protocol = 0; info%epoch_num = 0; info%num_compl_hdlr_thr = 0; info%instance_no = 0; info%info6 = 0
    info%err_hdlr = 0; info%lapi_thread_attr = 0; info%adapter_name = 0; info%add_info = 0
    task = -1
    call read_udp_list()
    told = udp_list
    if (size(told) > 0) then
      if (present(alone)) call forget_all_but_own(told)
      extension%udp_hdlr = 0; extension%num_udp_addr = 0; extension%pad = 0
      extension%add_udp_addrs = loc(told)
      info%add_info = loc(extension)
    end if
    call LAPI_INIT(handle, info, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_INIT')
    call LAPI_SENV(handle, ERROR_CHK, 1, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_SENV')
    call LAPI_QENV(handle, TASK_ID, task, error)
    call LAPI_QENV(handle, NUM_TASKS, tasks, error)
    right = mod(task + 1, tasks)
    left = mod(task + tasks - 1, tasks)
    call get_command_argument(1, mode)
    if (mode == 'polling') call LAPI_SENV(handle, INTERRUPT_SET, 0, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_SENV of the mode')
  end subroutine start

  subroutine read_udp_list()
    character(len=1000) :: text
    character(len=30) :: entry
    integer :: octets(4), port, comma, i
    allocate(udp_list(0))
    call get_environment_variable('API_UDP_LIST', text)
    do while (len_trim(text) > 0)
      comma = index(trim(text) // ',', ',')
      entry = text(:comma - 1)
      text = text(comma + 1:)
      do i = 1, len(entry)
        if (index('.:', entry(i:i)) > 0) entry(i:i) = ' '
      end do
      read(entry, *) octets, port
      ! As inet_addr() says it: the first octet at the lowest address.
      udp_list = [udp_list, LAPI_UDP_T(octets(1) + ishft(octets(2), 8) + ishft(octets(3), 16) + ishft(octets(4), 24), &
                                       port)]
    end do
  end subroutine read_udp_list

  ! Nothing is known of the other tasks: 0.0.0.0, as who has no address yet.
  subroutine forget_all_but_own(list)
    type(LAPI_UDP_T), intent(inout) :: list(:)
    character(len=16) :: text
    integer :: own, i
    call get_environment_variable('MP_CHILD', text)
    read(text, *) own
    do i = 1, size(list)
      if (i /= own + 1) list(i)%ip_addr = 0
    end do
  end subroutine forget_all_but_own

  subroutine finish()
    integer :: error
    call LAPI_GFENCE(handle, error)
    call expect(error, LAPI_SUCCESS, 'the last LAPI_GFENCE')
    call LAPI_TERM(handle, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_TERM')
    call LAPI_TERM(handle, error)
    call expect(error, LAPI_ERR_HNDL_INVALID, 'a second LAPI_TERM')
    if (task == 0) write(*, '(a, i0)') '1..', cases
  end subroutine finish

  subroutine expect(value, wanted, what)
    integer, intent(in) :: value, wanted
    character(len=*), intent(in) :: what
    if (value == wanted) return
    write(error_unit, '(a, i0, 3a, i0, a, i0)') 'task ', task, ': ', what, ': ', value, ' is not ', wanted
    write(*, '(a, i0, 2a)') 'not ok ', cases + 1, ' - ', what
    error stop 1
  end subroutine expect

  subroutine expect_long(value, wanted, what)
    integer(kind=8), intent(in) :: value, wanted
    character(len=*), intent(in) :: what
    if (value == wanted) return
    write(error_unit, '(a, i0, 3a, i0, a, i0)') 'task ', task, ': ', what, ': ', value, ' is not ', wanted
    write(*, '(a, i0, 2a)') 'not ok ', cases + 1, ' - ', what
    error stop 1
  end subroutine expect_long

  subroutine expect_true(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    call expect(merge(1, 0, condition), 1, what)
  end subroutine expect_true

  ! All tasks have come to the end of a case.
  subroutine passed(title)
    character(len=*), intent(in) :: title
    integer :: error
    call LAPI_GFENCE(handle, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_GFENCE at the end of a case')
    cases = cases + 1
    if (task == 0) write(*, '(a, i0, 2a)') 'ok ', cases, ' - ', title
  end subroutine passed

  subroutine clear(counter)
    type(LAPI_CNTR_T), intent(out) :: counter
    counter%cntr = 0; counter%num_dest = 0; counter%dest_list = 0; counter%dest_status = 0; counter%reserve = 0
  end subroutine clear

  ! Waits and expects that exactly `value` came.
  subroutine wait_for(counter, value, what)
    type(LAPI_CNTR_T) :: counter
    integer, intent(in) :: value
    character(len=*), intent(in) :: what
    integer :: rest, error
    rest = -1
    call LAPI_WAITCNTR(handle, counter, value, rest, error)
    call expect(error, LAPI_SUCCESS, what)
    call expect(rest, 0, what // ', rest')
  end subroutine wait_for

  ! Handlers run in other threads, or in this one when it makes progress.
  subroutine expect_eventually(count, wanted, what)
    integer, volatile :: count
    integer, intent(in) :: wanted
    character(len=*), intent(in) :: what
    integer :: rounds, error
    do rounds = 1, 100000000
      if (count >= wanted) exit
      call LAPI_PROBE(handle, error)
    end do
    call expect(count, wanted, what)
  end subroutine expect_eventually

  ! Everybody's address of something of this task, by task.
  function exchange(own) result(table)
    integer(kind=LAPI_ADDR_TYPE), intent(in) :: own
    integer(kind=LAPI_ADDR_TYPE) :: table(0:tasks - 1)
    integer :: error
    call LAPI_ADDRESS_INIT(handle, own, table, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_ADDRESS_INIT')
    call expect_true(table(task) == own, 'the own entry of LAPI_ADDRESS_INIT')
  end function exchange
end module fortran_case
