/* The bodies of the MPIX_ functions of streams: as the public ones, behind the
 * question whether this library serves the process (mpix_stream.c). Those of
 * messages take their arguments as one. */
#ifndef MGDS_PMPI_MPIX_H
#define MGDS_PMPI_MPIX_H

#include "mpix_gds.h"

#define MGDS_MPIX_BODY(name) extern __typeof__(MPIX_##name) mgds_mpix_##name

/* Arguments of a message; those that a function does not have are 0. */
struct mgds_mpix_args {
    const void *buf;
    MPI_Count count;
    MPI_Datatype type;
    int peer, tag;
    MPI_Comm comm;
    int from, to; /* indices of streams */
    MPI_Request *request;
    MPI_Status *status;
};

#define MGDS_MPIX_COUNTED(name)                                                \
    int mgds_mpix_##name(const struct mgds_mpix_args *args)

/* stream.c */
MGDS_MPIX_BODY(Stream_create);
MGDS_MPIX_BODY(Stream_free);
MGDS_MPIX_BODY(Stream_progress);
MGDS_MPIX_BODY(Start_progress_thread);
MGDS_MPIX_BODY(Stop_progress_thread);
MGDS_MPIX_BODY(Stream_get_native);
MGDS_MPIX_BODY(Stream_get_error);
MGDS_MPIX_BODY(Stream_synchronize);
MGDS_MPIX_BODY(Stream_dump);
MGDS_MPIX_BODY(Info_set_hex);
MGDS_MPIX_BODY(Info_get_hex);

/* stream_group.c */
MGDS_MPIX_BODY(Stream_group_start);
MGDS_MPIX_BODY(Stream_group_end);

/* transport.c */
MGDS_MPIX_BODY(Request_get_transport);

/* stream_create.c */
MGDS_MPIX_BODY(Stream_comm_create);
MGDS_MPIX_BODY(Stream_comm_create_multiplex);
MGDS_MPIX_BODY(Comm_get_stream);

/* enqueue.c */
MGDS_MPIX_COUNTED(Send_enqueue);
MGDS_MPIX_COUNTED(Recv_enqueue);
MGDS_MPIX_COUNTED(Isend_enqueue);
MGDS_MPIX_COUNTED(Irecv_enqueue);
MGDS_MPIX_BODY(Wait_enqueue);
MGDS_MPIX_BODY(Waitall_enqueue);
int mgds_mpix_Allreduce_enqueue(MPI_Comm comm);

/* stream_start.c */
MGDS_MPIX_BODY(Start_enqueue);
MGDS_MPIX_BODY(Startall_enqueue);

/* stream_p2p.c */
MGDS_MPIX_COUNTED(Stream_send);
MGDS_MPIX_COUNTED(Stream_isend);
MGDS_MPIX_COUNTED(Stream_recv);
MGDS_MPIX_COUNTED(Stream_irecv);

#undef MGDS_MPIX_BODY
#undef MGDS_MPIX_COUNTED

#endif
