! A Fortran program whose arrays are in GPU memory, unmodified: the driver gives
! addresses, c_f_pointer makes arrays of them, and "use mpi_f08" sends those.
! Two ranks or more, around a ring; each byte is compared.
!
! Exit status: 0 all well, 1 a wrong byte or a failed call, 77 no GPU.
module driver
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(c_int) function cuInit(flags) bind(c, name="cuInit")
      import
      integer(c_int), value :: flags
    end function
    integer(c_int) function cuDeviceGetCount(count) bind(c, name="cuDeviceGetCount")
      import
      integer(c_int) :: count
    end function
    integer(c_int) function cuDevicePrimaryCtxRetain(context, device) &
        bind(c, name="cuDevicePrimaryCtxRetain")
      import
      type(c_ptr) :: context
      integer(c_int), value :: device
    end function
    integer(c_int) function cuCtxSetCurrent(context) bind(c, name="cuCtxSetCurrent")
      import
      type(c_ptr), value :: context
    end function
    integer(c_int) function cuMemAlloc(at, bytes) bind(c, name="cuMemAlloc_v2")
      import
      type(c_ptr) :: at
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function cuMemFree(at) bind(c, name="cuMemFree_v2")
      import
      type(c_ptr), value :: at
    end function
    integer(c_int) function cuMemcpyHtoD(to, from, bytes) bind(c, name="cuMemcpyHtoD_v2")
      import
      type(c_ptr), value :: to, from
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function cuMemcpyDtoH(to, from, bytes) bind(c, name="cuMemcpyDtoH_v2")
      import
      type(c_ptr), value :: to, from
      integer(c_size_t), value :: bytes
    end function
  end interface
end module driver

program pointers
  use mpi_f08
  use driver
  implicit none
  integer, parameter :: sizes(4) = [1, 125, 8192, 131072], skipped = 77
  integer :: rank, ranks, i

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call open_gpu()
  do i = 1, size(sizes)
    call round_the_ring(sizes(i))
  end do
  call sum_up(5000)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) print '(a)', 'pointers: all well'
  call MPI_Finalize()

contains

  subroutine need(code, what)
    integer(c_int), intent(in) :: code
    character(*), intent(in) :: what
    if (code == 0) return
    print '(a,a,a,i0)', 'pointers: ', what, ': CUDA error ', code
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine open_gpu()
    type(c_ptr) :: context
    integer(c_int) :: count
    count = 0
    if (cuInit(0) == 0) then
      if (cuDeviceGetCount(count) /= 0) count = 0
    end if
    if (count == 0) then
      print '(a)', 'pointers: no GPU'
      call MPI_Finalize()
      call exit(skipped)
    end if
    call need(cuDevicePrimaryCtxRetain(context, mod(rank, count)), 'cuDevicePrimaryCtxRetain')
    call need(cuCtxSetCurrent(context), 'cuCtxSetCurrent')
  end subroutine

  ! An array in GPU memory with these values.
  subroutine make(array, values)
    real(c_double), pointer, intent(out) :: array(:)
    real(c_double), target, intent(in) :: values(:)
    type(c_ptr) :: at
    integer(c_size_t) :: bytes
    bytes = 8_c_size_t * size(values)
    call need(cuMemAlloc(at, bytes), 'cuMemAlloc')
    call need(cuMemcpyHtoD(at, c_loc(values), bytes), 'cuMemcpyHtoD')
    call c_f_pointer(at, array, [size(values)])
  end subroutine

  subroutine drop(array)
    real(c_double), pointer, intent(in) :: array(:)
    call need(cuMemFree(c_loc(array)), 'cuMemFree')
  end subroutine

  subroutine expect(array, values, what)
    real(c_double), pointer, intent(in) :: array(:)
    real(c_double), intent(in) :: values(:)
    character(*), intent(in) :: what
    real(c_double), target :: found(size(values))
    call need(cuMemcpyDtoH(c_loc(found), c_loc(array), 8_c_size_t * size(values)), 'cuMemcpyDtoH')
    if (all(found == values)) return
    print '(a,a,a,i0,a)', 'pointers: ', what, ' of ', size(values), ' elements: wrong'
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  function pattern(n, source) result(values)
    integer, intent(in) :: n, source
    real(c_double) :: values(n)
    integer :: k
    values = [(k + 1000000.0_c_double * source, k = 1, n)]
  end function

  subroutine round_the_ring(n)
    integer, intent(in) :: n
    real(c_double), pointer :: out(:), into(:)
    real(c_double) :: nothing(n)
    type(MPI_Request) :: requests(2)
    integer :: left, right
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)
    nothing = 0
    call make(out, pattern(n, rank))
    call make(into, nothing)
    call MPI_Irecv(into, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(out, n, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call expect(into, pattern(n, left), 'Isend and Irecv')
    call drop(into)
    call make(into, nothing)
    call MPI_Sendrecv(out, n, MPI_DOUBLE_PRECISION, right, 2, into, n, MPI_DOUBLE_PRECISION, &
        left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(into, pattern(n, left), 'Sendrecv')
    call drop(into)
    call drop(out)
  end subroutine

  subroutine sum_up(n)
    integer, intent(in) :: n
    real(c_double), pointer :: mine(:), sums(:)
    real(c_double) :: total(n)
    integer :: k
    total = 0
    do k = 0, ranks - 1
      total = total + pattern(n, k)
    end do
    call make(mine, pattern(n, rank))
    call make(sums, pattern(n, rank))
    call MPI_Allreduce(mine, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call expect(sums, total, 'Allreduce')
    call drop(mine)
    call drop(sums)
  end subroutine
end program pointers
