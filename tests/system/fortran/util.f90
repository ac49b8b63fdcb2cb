! LAPI_UTIL: the functions of the shared lock, called from Fortran (chapter 12), ports of other tasks, wrong commands.
module lock_functions
  use, intrinsic :: iso_c_binding
  implicit none
  abstract interface
    integer(c_int) function lock_function(hndl) bind(c)
      import :: c_int
      integer(c_int), value :: hndl
    end function lock_function
    integer(c_int) function owner_function(hndl, tid) bind(c)
      import :: c_int, c_long
      integer(c_int), value :: hndl
      integer(c_long) :: tid
    end function owner_function
  end interface
contains

  ! The procedure at an address that the library gave.
  function lock_at(address) result(pointer_to)
    integer(c_intptr_t), intent(in) :: address
    procedure(lock_function), pointer :: pointer_to
    call c_f_procpointer(transfer(address, c_null_funptr), pointer_to)
  end function lock_at
end module lock_functions

program util
  use fortran_case
  use lock_functions
  implicit none
  call start()
  call lock()
  call ports()
  call refused()
  call finish()
contains

  subroutine lock()
    type(LAPI_THREAD_FUNC_T) :: functions
    procedure(lock_function), pointer :: mutex_lock, mutex_unlock, mutex_trylock
    procedure(owner_function), pointer :: mutex_getowner
    integer(c_long) :: owner
    integer, volatile :: value
    type(LAPI_CNTR_T), volatile :: done
    integer :: error, attempt, result
    functions%Util_type = LAPI_GET_THREAD_FUNC
    call LAPI_UTIL(handle, functions, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_GET_THREAD_FUNC')
    mutex_lock => lock_at(functions%mutex_lock)
    mutex_unlock => lock_at(functions%mutex_unlock)
    mutex_trylock => lock_at(functions%mutex_trylock)
    call c_f_procpointer(transfer(functions%mutex_getowner, c_null_funptr), mutex_getowner)
    call expect(mutex_lock(handle), 0, 'mutex_lock')
    owner = 0
    call expect(mutex_getowner(handle, owner), 0, 'mutex_getowner')
    call expect_true(owner /= 0, 'somebody owns the lock')
    ! A call with the lock held.
    call clear(done)
    value = 1
    call LAPI_PUT(handle, task, 4_8, loc(value), task, LAPI_ADDR_NULL, LAPI_ADDR_NULL, done, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_PUT with the lock held')
    call wait_for(done, 1, 'LAPI_WAITCNTR with the lock held')
    call expect(value, task, 'the data of LAPI_PUT with the lock held')
    call expect(mutex_unlock(handle), 0, 'mutex_unlock')
    ! A thread of the library may hold it for a moment.
    do attempt = 1, 100000000
      result = mutex_trylock(handle)
      if (result == 0) exit
    end do
    call expect(result, 0, 'mutex_trylock')
    call expect(mutex_unlock(handle), 0, 'mutex_unlock again')
    call passed('LAPI_GET_THREAD_FUNC')
  end subroutine lock

  ! The launcher knows where the tasks are: it is the last thing that is looked at.
  subroutine ports()
    type(LAPI_ADD_UDP_PORT_T) :: command
    type(LAPI_UDP_T), target :: place
    integer :: error
    place%ip_addr = transfer([127_1, 0_1, 0_1, 1_1], place%ip_addr)
    place%port_no = 20000
    command%Util_type = LAPI_ADD_UDP_DEST_PORT
    command%tgt = tasks
    command%udp_port = loc(place)
    command%instance_no = 0
    command%in_usr_func = LAPI_ADDR_NULL
    call LAPI_UTIL(handle, command, error)
    call expect(error, LAPI_ERR_TGT, 'LAPI_ADD_UDP_DEST_PORT of no task')
    command%tgt = task
    call LAPI_UTIL(handle, command, error)
    call expect(error, LAPI_ERR_TGT, 'LAPI_ADD_UDP_DEST_PORT of oneself')
    if (tasks > 1) then
      command%tgt = right
      call LAPI_UTIL(handle, command, error)
      call expect(error, LAPI_ERR_UTIL_CMD, 'LAPI_ADD_UDP_DEST_PORT under a launcher')
      command%udp_port = LAPI_ADDR_NULL
      call LAPI_UTIL(handle, command, error)
      call expect(error, LAPI_ERR_UDP_PORT_INFO, 'LAPI_ADD_UDP_DEST_PORT without a port')
    end if
    call passed('LAPI_ADD_UDP_DEST_PORT')
  end subroutine ports

  subroutine refused()
    type(LAPI_UTIL_T) :: command
    integer :: error
    command%Util_type = -1
    command%pad = 0
    command%fields = 0
    call LAPI_UTIL(handle, command, error)
    call expect(error, LAPI_ERR_UTIL_CMD, 'LAPI_UTIL of no type')
    call LAPI_UTIL(handle, LAPI_ADDR_NULL, error)
    call expect(error, LAPI_ERR_UTIL_CMD, 'LAPI_UTIL of nothing')
    call passed('LAPI_UTIL refuses wrong commands')
  end subroutine refused
end program util
