! LAPI_ADD_UDP_DEST_PORT: tasks without a launcher that know nobody's address at first.
program ports
  use fortran_case
  implicit none
  integer, volatile :: value = -1
  integer :: other, error
  call start(alone=.true.)
  if (tasks < 2 .or. size(udp_list) /= tasks) then
    write(error_unit, '(a)') 'ports: at least two tasks and API_UDP_LIST with an entry for each'
    error stop 1
  end if
  ! Nothing can reach this task's memory yet: the address need not be one of the target's.
  call LAPI_PUT(handle, right, 4_8, loc(value), task, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, error)
  call expect(error, LAPI_ERR_NO_CONNECTIVITY, 'LAPI_PUT to a task without address')
  call add(right, 0, 1, LAPI_ERR_UDP_PORT_INFO, 'LAPI_ADD_UDP_DEST_PORT without address')
  do other = 0, tasks - 1
    if (other == task) cycle
    call add(other, udp_list(other + 1)%ip_addr, udp_list(other + 1)%port_no, LAPI_SUCCESS, 'LAPI_ADD_UDP_DEST_PORT')
  end do
  call passed('LAPI_ADD_UDP_DEST_PORT says where the others are')
  call put_round()
  call finish()
contains

  subroutine add(other, address, port, wanted, what)
    integer, intent(in) :: other, address, port, wanted
    character(len=*), intent(in) :: what
    type(LAPI_ADD_UDP_PORT_T) :: command
    type(LAPI_UDP_T), target :: place
    place = LAPI_UDP_T(address, port)
    command%Util_type = LAPI_ADD_UDP_DEST_PORT
    command%tgt = other
    command%udp_port = loc(place)
    command%instance_no = 0
    command%in_usr_func = LAPI_ADDR_NULL
    command%status = -1
    call LAPI_UTIL(handle, command, error)
    call expect(error, wanted, what)
  end subroutine add

  subroutine put_round()
    integer(kind=LAPI_ADDR_TYPE) :: values(0:tasks - 1), counters(0:tasks - 1)
    type(LAPI_CNTR_T), volatile :: arrived
    call clear(arrived)
    values = exchange(loc(value))
    counters = exchange(loc(arrived))
    call LAPI_PUT(handle, right, 4_8, values(right), task, counters(right), LAPI_ADDR_NULL, LAPI_ADDR_NULL, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_PUT')
    call wait_for(arrived, 1, 'LAPI_WAITCNTR')
    call expect(value, left, 'the data of LAPI_PUT')
    call passed('messages go to the ports that were added')
  end subroutine put_round
end program ports
