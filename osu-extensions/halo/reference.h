/*
 * The same steps on the CPU, written without the code of the kernels: fields in
 * host memory, faces exchanged by plain MPI.
 */
#ifndef MGDS_HALO_REFERENCE_H
#define MGDS_HALO_REFERENCE_H

#include "osu-extensions/halo/halo.h"

struct mgds_halo_reference {
    uint64_t *field; /* as the GPU's after those steps */
    size_t elements;
};

/* What a field holds before the first step; `row` tells sizes apart. */
void mgds_halo_fill(const struct mgds_halo *h, uint64_t row, uint64_t *field);

/*
 * Runs so many steps from that on; with exchange false, ghosts stay what they
 * were. Collective over h->world.comm. Returns 0 or -ENOMEM; undone by fini.
 */
int mgds_halo_reference_init(struct mgds_halo_reference *reference,
                             const struct mgds_halo *h, uint64_t row,
                             size_t steps, bool exchange);
void mgds_halo_reference_fini(struct mgds_halo_reference *reference);

#endif
