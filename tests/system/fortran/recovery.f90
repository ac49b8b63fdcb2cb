! The calls of chapter 19: statuses of counters, waiting without polling, purge and resume.
program recovery
  use fortran_case
  implicit none
  integer, volatile :: inbox = -1, statuses(3)
  integer :: destinations(3), error, rest
  type(LAPI_CNTR_T), volatile :: arrived
  integer(kind=LAPI_ADDR_TYPE), allocatable :: inboxes(:), arrived_at(:)
  logical :: purges, is_purged
  call start()
  call clear(arrived)
  allocate(inboxes(0:tasks - 1), arrived_at(0:tasks - 1))
  inboxes = exchange(loc(inbox))
  arrived_at = exchange(loc(arrived))
  call refused()
  call statuses_and_wait()
  ! Tasks in pairs: of the one that is purged nothing is needed any more, and it needs nothing.
  purges = mod(task, 2) == 0 .and. right > task
  is_purged = mod(task, 2) == 1
  if (is_purged) call say_through()
  if (purges) call purge_and_resume()
  call LAPI_TERM(handle, error)
  call expect(error, LAPI_SUCCESS, 'LAPI_TERM')
  if (task == 0) write(*, '(a, i0)') '1..', cases
contains

  subroutine refused()
    call LAPI_NOPOLL_WAIT(handle, LAPI_ADDR_NULL, 1, rest, error)
    call expect(error, LAPI_ERR_CNTR_NULL, 'LAPI_NOPOLL_WAIT without counter')
    call LAPI_NOPOLL_WAIT(handle, arrived, 0, rest, error)
    call expect(error, LAPI_ERR_CNTR_VAL, 'LAPI_NOPOLL_WAIT for 0')
    destinations = left
    call LAPI_SETCNTR_WSTATUS(handle, LAPI_ADDR_NULL, 1, destinations, statuses, error)
    call expect(error, LAPI_ERR_CNTR_NULL, 'LAPI_SETCNTR_WSTATUS without counter')
    call LAPI_SETCNTR_WSTATUS(handle, arrived, 1, destinations, LAPI_ADDR_NULL, error)
    call expect(error, LAPI_ERR_RET_PTR_NULL, 'LAPI_SETCNTR_WSTATUS without statuses')
    call LAPI_PURGE_TOTASK(handle, tasks, error)
    call expect(error, LAPI_ERR_TGT, 'LAPI_PURGE_TOTASK of no task')
    call LAPI_RESUME_TOTASK(handle, tasks, error)
    call expect(error, LAPI_ERR_TGT, 'LAPI_RESUME_TOTASK of no task')
    call LAPI_PURGE_TOTASK(handle, task, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_PURGE_TOTASK of oneself')
    call LAPI_RESUME_TOTASK(handle, task, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_RESUME_TOTASK of oneself')
    call passed('calls that are refused or have no effect')
  end subroutine refused

  ! The left task moves the counter twice, a task that does not exist never.
  subroutine statuses_and_wait()
    integer :: round
    destinations = [left, left, tasks]
    statuses = -1
    call LAPI_SETCNTR_WSTATUS(handle, arrived, 3, destinations, statuses, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_SETCNTR_WSTATUS')
    call expect_true(all(statuses == [LAPI_MSG_INITIAL, LAPI_MSG_INITIAL, LAPI_MSG_INVALID]), 'statuses at first')
    call LAPI_GFENCE(handle, error)
    do round = 1, 2
      call LAPI_PUT(handle, right, 4_8, inboxes(right), task, arrived_at(right), LAPI_ADDR_NULL, LAPI_ADDR_NULL, error)
      call expect(error, LAPI_SUCCESS, 'LAPI_PUT')
    end do
    rest = -1
    call LAPI_NOPOLL_WAIT(handle, arrived, 2, rest, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_NOPOLL_WAIT')
    call expect(rest, 0, 'the rest that LAPI_NOPOLL_WAIT says')
    call expect(inbox, left, 'the data that was waited for')
    call expect_true(all(statuses == [LAPI_MSG_RECVD, LAPI_MSG_RECVD, LAPI_MSG_INVALID]), 'statuses at last')
    call LAPI_SETCNTR_WSTATUS(handle, arrived, 0, LAPI_ADDR_NULL, LAPI_ADDR_NULL, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_SETCNTR_WSTATUS without list')
    call passed('LAPI_SETCNTR_WSTATUS, LAPI_NOPOLL_WAIT')
  end subroutine statuses_and_wait

  ! A purge throws away what is under way in both directions: also what the other task still needs to come out of a
  ! LAPI_GFENCE that this one has left. So the other says that it is out, and does nothing more with this task.
  subroutine say_through()
    call LAPI_PUT(handle, left, 4_8, inboxes(left), task, arrived_at(left), LAPI_ADDR_NULL, LAPI_ADDR_NULL, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_PUT to the task that purges')
  end subroutine say_through

  subroutine purge_and_resume()
    type(LAPI_CNTR_T), volatile :: counter
    call clear(counter)
    call wait_for(arrived, 1, 'the other task is through')
    call expect(inbox, right, 'who is through')
    call LAPI_PURGE_TOTASK(handle, right, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_PURGE_TOTASK')
    call LAPI_PUT(handle, right, 4_8, inboxes(right), task, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, error)
    call expect(error, LAPI_ERR_TGT_PURGED, 'LAPI_PUT to a purged task')
    call LAPI_GFENCE(handle, error)
    call expect(error, LAPI_ERR_TGT_PURGED, 'LAPI_GFENCE with a purged task')
    destinations = right
    call LAPI_SETCNTR_WSTATUS(handle, counter, 1, destinations, statuses, error)
    call expect(statuses(1), LAPI_MSG_INVALID, 'the status of a purged task')
    call LAPI_RESUME_TOTASK(handle, right, error)
    call expect(error, LAPI_SUCCESS, 'LAPI_RESUME_TOTASK')
    call LAPI_SETCNTR_WSTATUS(handle, counter, 1, destinations, statuses, error)
    call expect(statuses(1), LAPI_MSG_INITIAL, 'the status of a task that is resumed')
    cases = cases + 1
    if (task == 0) write(*, '(a, i0, a)') 'ok ', cases, ' - LAPI_PURGE_TOTASK, LAPI_RESUME_TOTASK'
  end subroutine purge_and_resume
end program recovery
