/* The hardware queues of a device, CUDA_DEVICE_MAX_CONNECTIONS of them. A
 * stream holds one while it stands in a memory operation that waits, or in a
 * kernel or graph that has something queued behind it. When all are held,
 * nothing else starts on that device, whatever its priority or context. Also:
 * no kernel starts where 128 run (MPIX_SIM_RUNNING_KERNELS). Switched by
 * MPIX_SIM_QUEUE_LIMIT. */
#ifndef MGDS_SIM_QUEUE_H
#define MGDS_SIM_QUEUE_H

struct mgds_gpu_stream;

/* Waits until the stream may start the operation at its head. Locked. */
void mgds_queue_enter(struct mgds_gpu_stream *stream);

/* Its operation has ended: others may start. Locked. */
void mgds_queue_leave(struct mgds_gpu_stream *stream);

#endif
