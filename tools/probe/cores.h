/* How many cores a rank has, and the library's progress thread in it. */
#ifndef MGDS_PROBE_CORES_H
#define MGDS_PROBE_CORES_H

/* Of this thread; hardware threads of one core count once. */
int mgds_probe_rank_cores(void);

/* Of the progress thread; 0: there is none now. */
int mgds_probe_progress_cores(void);

#endif
