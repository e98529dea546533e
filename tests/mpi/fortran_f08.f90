! A ring through "use mpi_f08", whose library mixes MPI_ and PMPI_ names.
program ring
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2)
  type(MPI_Comm) :: twin
  integer :: rank, size, left, right, got, count
  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, twin)
  call MPI_Comm_rank(twin, rank)
  call MPI_Comm_size(twin, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call MPI_Irecv(got, 1, MPI_INTEGER, left, 5, twin, requests(1))
  call MPI_Isend(rank, 1, MPI_INTEGER, right, 5, twin, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call MPI_Get_count(statuses(1), MPI_INTEGER, count)
  if (got /= left .or. count /= 1) call MPI_Abort(twin, 1)
  call MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_INTEGER, MPI_SUM, twin)
  if (got /= size * (size - 1) / 2) call MPI_Abort(twin, 2)
  call MPI_Comm_free(twin)
  call MPI_Finalize()
  if (rank == 0) print *, 'fortran: all well'
end program ring
