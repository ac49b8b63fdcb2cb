! A program for LAM/MPI in Fortran: messages of every mode, some datatypes, wildcards, persistent requests, one-sided
! operations. What it prints is the same however messages travel.
program lam_fortran
  implicit none
  include 'mpif.h'
  integer, parameter :: most = 100000
  integer :: rank, tasks, ierror, right, left
  integer(kind=8) :: sum = 5381
  double precision :: given(most), got(most), attached(2 * most)

  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, tasks, ierror)
  right = mod(rank + 1, tasks)
  left = mod(rank + tasks - 1, tasks)
  call modes
  call datatypes
  call wildcards
  call persistent
  call one_sided
  call MPI_FINALIZE(ierror)

contains

  subroutine add(number)
    double precision, intent(in) :: number
    sum = iand(sum * 33 + nint(number, 8), int(z'7fffffff', 8))
  end subroutine

  ! A line of each process.
  subroutine report(what)
    character(*), intent(in) :: what
    integer :: mine, all(64), i
    mine = int(sum)
    call MPI_GATHER(mine, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0) then
      do i = 1, tasks
        print '(a,a,i0,a,i0)', what, ': process ', i - 1, ': ', all(i)
      end do
    end if
  end subroutine

  subroutine add_received(count, status)
    integer, intent(in) :: count, status(MPI_STATUS_SIZE)
    integer :: received, i
    call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, received, ierror)
    call add(dble(received))
    call add(dble(status(MPI_SOURCE)))
    call add(dble(status(MPI_TAG)))
    do i = 1, count
      call add(got(i))
    end do
  end subroutine

  subroutine modes
    integer :: lengths(4) = [0, 1, 2000, most], i, j, mode, n, tag, bytes, requests(2), statuses(MPI_STATUS_SIZE, 2)
    call MPI_BUFFER_ATTACH(attached, 16 * most, ierror)
    do mode = 1, 4
      do i = 1, 4
        n = lengths(i)
        tag = mode * 10 + i
        given(:n) = [(mod(rank * 100 + tag + j, 1000), j = 1, n)]
        call MPI_IRECV(got, n, MPI_DOUBLE_PRECISION, left, tag, MPI_COMM_WORLD, requests(1), ierror)
        call MPI_BARRIER(MPI_COMM_WORLD, ierror)
        select case (mode)
        case (1)
          call MPI_ISEND(given, n, MPI_DOUBLE_PRECISION, right, tag, MPI_COMM_WORLD, requests(2), ierror)
        case (2)
          call MPI_IBSEND(given, n, MPI_DOUBLE_PRECISION, right, tag, MPI_COMM_WORLD, requests(2), ierror)
        case (3)
          call MPI_ISSEND(given, n, MPI_DOUBLE_PRECISION, right, tag, MPI_COMM_WORLD, requests(2), ierror)
        case (4)
          call MPI_IRSEND(given, n, MPI_DOUBLE_PRECISION, right, tag, MPI_COMM_WORLD, requests(2), ierror)
        end select
        call MPI_WAITALL(2, requests, statuses, ierror)
        call add_received(n, statuses(:, 1))
      end do
    end do
    call MPI_BUFFER_DETACH(attached, bytes, ierror)
    call report('modes')
  end subroutine

  ! Rows of a matrix, which are not contiguous here, and what has a type of its own.
  subroutine datatypes
    double precision :: matrix(50, 40)
    complex :: numbers(10), others(10)
    character(20) :: text, heard
    logical :: truth, told
    integer :: row, i, j, status(MPI_STATUS_SIZE)
    matrix = reshape([((rank + i * 100 + j, i = 1, 50), j = 1, 40)], [50, 40])
    call MPI_TYPE_VECTOR(40, 1, 50, MPI_DOUBLE_PRECISION, row, ierror)
    call MPI_TYPE_COMMIT(row, ierror)
    do i = 1, 50, 7
      call MPI_SENDRECV(matrix(i, 1), 1, row, right, i, got, 40, MPI_DOUBLE_PRECISION, left, i, MPI_COMM_WORLD, &
                        status, ierror)
      call add_received(40, status)
    end do
    call MPI_TYPE_FREE(row, ierror)
    numbers = [(cmplx(rank, i), i = 1, 10)]
    call MPI_SENDRECV(numbers, 10, MPI_COMPLEX, right, 1, others, 10, MPI_COMPLEX, left, 1, MPI_COMM_WORLD, status, ierror)
    call add(dble(real(others(10)) * 100 + aimag(others(10))))
    write (text, '(a,i0)') 'process ', rank
    call MPI_SENDRECV(text, 20, MPI_CHARACTER, right, 2, heard, 20, MPI_CHARACTER, left, 2, MPI_COMM_WORLD, status, ierror)
    call add(dble(iachar(heard(9:9))))
    truth = mod(rank, 2) == 0
    call MPI_SENDRECV(truth, 1, MPI_LOGICAL, right, 3, told, 1, MPI_LOGICAL, left, 3, MPI_COMM_WORLD, status, ierror)
    call add(merge(1d0, 2d0, told))
    call report('datatypes')
  end subroutine

  ! Process 0 hears everybody, and what has one tag in its order.
  subroutine wildcards
    integer :: turn, value(2), last(0:63, 0:2), status(MPI_STATUS_SIZE), probed(MPI_STATUS_SIZE)
    integer, parameter :: turns = 100
    last = 0
    if (rank /= 0) then
      do turn = 1, turns
        value = [rank, turn]
        call MPI_SEND(value, 2, MPI_INTEGER, 0, mod(turn, 3), MPI_COMM_WORLD, ierror)
      end do
    else
      do turn = 1, turns * (tasks - 1)
        call MPI_PROBE(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, probed, ierror)
        call MPI_RECV(value, 2, MPI_INTEGER, MPI_ANY_SOURCE, probed(MPI_TAG), MPI_COMM_WORLD, status, ierror)
        associate (before => last(value(1), mod(value(2), 3)))
          if (value(1) /= status(MPI_SOURCE) .or. value(2) <= before) print *, 'message', value, 'after', before
          before = value(2)
        end associate
      end do
    end if
    call add(dble(maxval(last(tasks - 1, :))))
    call MPI_BARRIER(MPI_COMM_WORLD, ierror)
    call report('wildcards')
  end subroutine

  subroutine persistent
    integer :: requests(2), statuses(MPI_STATUS_SIZE, 2), turn
    call MPI_RECV_INIT(got, 3000, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_SSEND_INIT(given, 3000, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, requests(2), ierror)
    do turn = 1, 5
      given(:3000) = turn + rank
      call MPI_STARTALL(2, requests, ierror)
      call MPI_WAITALL(2, requests, statuses, ierror)
      call add_received(3000, statuses(:, 1))
    end do
    call MPI_REQUEST_FREE(requests(1), ierror)
    call MPI_REQUEST_FREE(requests(2), ierror)
    call report('persistent')
  end subroutine

  subroutine one_sided
    integer :: window, words(8), number
    integer(kind=8) :: place
    words = 0
    number = rank + 100
    call MPI_WIN_CREATE(words, int(32, 8), 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierror)
    call MPI_WIN_FENCE(0, window, ierror)
    place = 3
    call MPI_PUT(number, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, window, ierror)
    place = 5
    call MPI_ACCUMULATE(number, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, MPI_SUM, window, ierror)
    call MPI_WIN_FENCE(0, window, ierror)
    call add(dble(words(4)))
    call add(dble(words(6)))
    call MPI_WIN_FREE(window, ierror)
    call report('one-sided')
  end subroutine
end program
