! A ring through "use mpi", with sentinels (MPI_IN_PLACE, STATUS_IGNORE).
program ring
  use mpi
  implicit none
  integer :: ierr, rank, size, left, right, got
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 4, got, 1, MPI_INTEGER, &
                    left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  if (got /= left) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_INTEGER, MPI_SUM, &
                     MPI_COMM_WORLD, ierr)
  if (got /= size * (size - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
  call MPI_Finalize(ierr)
  if (rank == 0) print *, 'fortran: all well'
end program ring
