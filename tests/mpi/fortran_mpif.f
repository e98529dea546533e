C     A ring through mpif.h (fixed form), blocking and nonblocking.
      program ring
      implicit none
      include 'mpif.h'
      integer ierr, rank, size, left, right, got, total
      integer requests(2), statuses(MPI_STATUS_SIZE, 2)
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      right = mod(rank + 1, size)
      left = mod(rank + size - 1, size)
      call MPI_IRECV(got, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD,
     &               requests(1), ierr)
      call MPI_ISEND(rank, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD,
     &               requests(2), ierr)
      call MPI_WAITALL(2, requests, statuses, ierr)
      if (got .ne. left) call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      call MPI_ALLREDUCE(MPI_IN_PLACE, got, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      total = size * (size - 1) / 2
      if (got .ne. total) call MPI_ABORT(MPI_COMM_WORLD, 2, ierr)
      call MPI_FINALIZE(ierr)
      if (rank .eq. 0) print *, 'fortran: all well'
      end
