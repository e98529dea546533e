/*
 * MPIX_Stream objects: a GPU stream of the program, or a serial context of the
 * CPU. Counted: by the program until MPIX_Stream_free, and by communicators.
 * The handle means the object until the last reference goes, so that
 * MPIX_Comm_get_stream has something to give.
 */
#ifndef MGDS_PMPI_STREAM_H
#define MGDS_PMPI_STREAM_H

#include <mpi.h>
#include <stdbool.h>

#include "mpix_gds.h"

struct mgds_gstream;

struct mgds_stream {
    unsigned refs; /* atomic */
    bool freed;    /* by the program: atomic */
    MPIX_Stream handle;
    void *native;
    struct mgds_gstream *gpu; /* NULL: of the CPU */
};

/* With a reference, or NULL if that is no stream. */
struct mgds_stream *mgds_stream_find(MPIX_Stream handle);

void mgds_stream_get(struct mgds_stream *stream);

/* NULL is allowed. */
void mgds_stream_put(struct mgds_stream *stream);

/* What is no stream: tells the error handler, and gives the code. */
int mgds_stream_refuse(MPIX_Stream handle);

#endif
