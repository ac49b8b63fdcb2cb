! What every sample in Fortran does around its topic: checks, the context, and who talks to whom. Tasks work in pairs:
! 0 and 1, 2 and 3, and so on. The even one of a pair drives, the odd one is its buddy.
module sample
  use, intrinsic :: iso_fortran_env, only: error_unit
  use lapi  ! or include 'lapif.h' behind implicit none: the same names, and no look at the arguments
  implicit none
  integer :: handle, task = -1, tasks, buddy
  logical :: driver
contains

  ! Ends the task with status 1 when something is not as it should be; lapirun then ends the others.
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write(error_unit, '(a, i0, 2a)') 'task ', task, ': wrong: ', what
    error stop 1
  end subroutine check

  ! The return code of a call that must succeed.
  subroutine succeeded(error, what)
    integer, intent(in) :: error
    character(len=*), intent(in) :: what
    character(len=LAPI_MAX_ERR_STRING) :: text
    integer :: ignored
    if (error == LAPI_SUCCESS) return
    text = ' '
    call LAPI_MSG_STRING(error, text, ignored)
    write(error_unit, '(a, i0, 3a, i0, 2a)') 'task ', task, ': ', what, ': ', error, ', ', trim(text)
    error stop 1
  end subroutine succeeded

  subroutine start()
    type(LAPI_INFO_T) :: info
    integer :: error
    info%lib_vers = LAST_LIB
    info%protocol = 0; info%epoch_num = 0; info%num_compl_hdlr_thr = 0; info%instance_no = 0; info%info6 = 0
    info%err_hdlr = 0; info%lapi_thread_attr = 0; info%adapter_name = 0; info%add_info = 0
    call LAPI_INIT(handle, info, error)
    call succeeded(error, 'LAPI_INIT')
    call LAPI_SENV(handle, ERROR_CHK, 1, error)  ! wrong arguments are reported
    call succeeded(error, 'LAPI_SENV')
    call LAPI_QENV(handle, TASK_ID, task, error)
    call succeeded(error, 'LAPI_QENV')
    call LAPI_QENV(handle, NUM_TASKS, tasks, error)
    call succeeded(error, 'LAPI_QENV')
    call check(mod(tasks, 2) == 0, 'nobody is left without a buddy')
    buddy = ieor(task, 1)
    driver = mod(task, 2) == 0
  end subroutine start

  ! The buddy's address of what has the address `own` here.
  function address_in_buddy(own) result(address)
    integer(kind=LAPI_ADDR_TYPE), intent(in) :: own
    integer(kind=LAPI_ADDR_TYPE) :: address, table(0:tasks - 1)
    integer :: error
    call LAPI_ADDRESS_INIT(handle, own, table, error)
    call succeeded(error, 'LAPI_ADDRESS_INIT')
    address = table(buddy)
  end function address_in_buddy

  subroutine clear(counter)
    type(LAPI_CNTR_T), intent(out) :: counter
    counter%cntr = 0; counter%num_dest = 0; counter%dest_list = 0; counter%dest_status = 0; counter%reserve = 0
  end subroutine clear

  ! Waits until the counter has gone up by one.
  subroutine wait_for(counter)
    type(LAPI_CNTR_T) :: counter
    integer :: error
    call LAPI_WAITCNTR(handle, counter, 1, LAPI_ADDR_NULL, error)
    call succeeded(error, 'LAPI_WAITCNTR')
  end subroutine wait_for

  subroutine fence()
    integer :: error
    call LAPI_GFENCE(handle, error)
    call succeeded(error, 'LAPI_GFENCE')
  end subroutine fence

  ! After the last check: everybody has everything, and every task says so.
  subroutine finish(what)
    character(len=*), intent(in) :: what
    integer :: error
    call fence()
    call LAPI_TERM(handle, error)
    call succeeded(error, 'LAPI_TERM')
    write(*, '(a, i0, a, i0, 3a)') 'task ', task, ' of ', tasks, ': ', what, ' in Fortran: right'
  end subroutine finish
end module sample
