/*
 * A stream of the open GPU that is filled first and runs then, and the time it
 * took. Touches libcuda.so.1 (gpu.h opens the device). One thread.
 */
#ifndef MGDS_BENCH_QUEUE_H
#define MGDS_BENCH_QUEUE_H

struct mgds_bench_queue;

/* Returns 0 or negative errno; undone by destroy. */
int mgds_bench_queue_create(struct mgds_bench_queue **out);
void mgds_bench_queue_destroy(struct mgds_bench_queue *queue); /* idle */

/* The native handle, a CUstream. */
void *mgds_bench_queue_stream(const struct mgds_bench_queue *queue);

/* What is put on the stream from here on waits for go. 0 or -EIO, as below. */
int mgds_bench_queue_hold(struct mgds_bench_queue *queue);
void mgds_bench_queue_go(struct mgds_bench_queue *queue);

/* Marks, on the stream, where time begins and ends. */
int mgds_bench_queue_begin(struct mgds_bench_queue *queue);
int mgds_bench_queue_end(struct mgds_bench_queue *queue);

/* The host waits for the stream, as fast as it can; or for the end mark,
 * without a core, so that it does not count as the library's CPU time. */
int mgds_bench_queue_wait(struct mgds_bench_queue *queue);
int mgds_bench_queue_rest(struct mgds_bench_queue *queue);

/* Seconds between the marks, by the GPU's clock; after a wait or rest. */
int mgds_bench_queue_seconds(const struct mgds_bench_queue *queue,
                             double *seconds);

#endif
