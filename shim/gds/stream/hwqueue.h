/*
 * How many streams of a GPU stand in a wait of ours. When as many as it has
 * hardware queues do, no other stream of it runs, and what would end the waits
 * may be among those (measured). CUDA_DEVICE_MAX_CONNECTIONS says how many
 * there are: 8 unless set, at most 32, and CUDA reads it when it starts. So it
 * is raised before that: by mpix-gds-run, else in MPI_Init.
 */
#ifndef MGDS_STREAM_HWQUEUE_H
#define MGDS_STREAM_HWQUEUE_H

#include <stdbool.h>

/* Sets CUDA_DEVICE_MAX_CONNECTIONS to 32 unless the user set it or libcuda is
 * in the process already. Where other threads hardly run yet: MPI_Init. */
void mgds_hwqueue_prepare(void);

/* A stream was made: looks how many hardware queues there are. One line, once,
 * if it was too late for that. */
void mgds_hwqueue_tell(void);

enum { MGDS_HWQUEUE_DEVICES = 64 };

/* A stream of the device begins to stand in a wait, or ends to. Warns once when
 * the device is nearly full of them. Any thread. */
void mgds_hwqueue_enter(int device);
void mgds_hwqueue_leave(int device);

/* How many stand there now; and whether any does, of any device. */
int mgds_hwqueue_count(int device);
bool mgds_hwqueue_any(void);

/* A stream's kernels that wait may have so many blocks, though only one of them
 * runs at a time: `wanted`, or 0 if all streams together would have more than
 * one for every second multiprocessor: then others might find no room while
 * all of them stand. To be returned with the stream. */
unsigned mgds_hwqueue_grant(int device, unsigned wanted, unsigned processors);
void mgds_hwqueue_return(int device, unsigned blocks);

#endif
