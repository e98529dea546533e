/* What the stand-in for a profiler has heard. */
#ifndef MGDS_TEST_NVTX_LISTENER_H
#define MGDS_TEST_NVTX_LISTENER_H

struct nvtx_heard {
    int pushes;
    int pops;
    char last[64]; /* name of the last range */
};

#endif
