/* Kernels of the halo benchmark: the step of the program, packing of faces that
 * do not lie in a row, and its reverse. */
#include "device/impl/kernel.h"
#include "osu-extensions/halo/args.h"

/* The spin of a step of a chosen length. */
MGDS_FN uint64_t halo_clock(void)
{
#if MGDS_ON_GPU
    return (uint64_t)clock64();
#else
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

MGDS_FN uint32_t halo_first(const struct mgds_self *self)
{
    return self->block * self->threads + self->thread;
}

MGDS_FN uint32_t halo_stride(const struct mgds_self *self)
{
    return self->blocks * self->threads;
}

/* Where element e of a face of dimension d is in dimension k, from 0. */
MGDS_FN uint32_t halo_where(const struct mgds_halo_face *face, uint32_t d,
                            uint32_t k, uint32_t dims, uint32_t e)
{
    uint32_t cell = e / face->run;
    uint32_t first_of_two = d == 0 ? 1 : 0;

    return dims == 3 && k == first_of_two ? cell / face->inner
                                          : cell % face->inner;
}

/* No two neighbours do the same, and none is undone by another. */
MGDS_FN uint64_t halo_mix(uint64_t own, uint64_t theirs, uint32_t face)
{
    uint32_t turn = 7 * face + 1;

    return (own ^ (theirs << turn | theirs >> (64 - turn))) *
               0x9E3779B97F4A7C15u +
           face;
}

/* Whether a cell of face f is at either end of dimension k: 0 no, 1 at the
 * lower one, 2 at the upper one. There are two cells at least. */
MGDS_FN uint32_t halo_end(const struct mgds_halo_args *a, uint32_t f,
                          uint32_t k, uint32_t e)
{
    uint32_t where;

    if (k == f / 2)
        return f % 2 == MGDS_HALO_LOWER ? 1 : 2;
    where = halo_where(&a->edge[f], f / 2, k, a->dims, e);
    if (where == 0)
        return 1;
    return where == a->cells[k] - 1 ? 2 : 0;
}

/* A cell at several faces belongs to the first of them, whose thread sees to
 * all its neighbours. */
MGDS_FN void halo_cell(const struct mgds_halo_args *a, uint64_t *field,
                       uint32_t f, uint32_t e)
{
    uint64_t at = mgds_halo_place(&a->edge[f], e);
    uint64_t value;

    for (uint32_t k = 0; k < f / 2; k++) {
        if (halo_end(a, f, k, e))
            return;
    }
    value = field[at];
    for (uint32_t k = f / 2; k < a->dims; k++) {
        uint32_t end = halo_end(a, f, k, e);

        if (end == 1)
            value = halo_mix(value, field[at - a->step[k]], 2 * k);
        else if (end == 2)
            value = halo_mix(value, field[at + a->step[k]], 2 * k + 1);
    }
    field[at] = value;
}

MGDS_FN void halo_step_body(const struct mgds_self *self,
                            const struct mgds_halo_args *a)
{
    uint64_t *field =
        (uint64_t *)mgds_mem_at((const void *)(uintptr_t)a->field);
    uint64_t begin = halo_clock();

    for (uint32_t f = 0; f < 2 * a->dims; f++) {
        for (uint32_t e = halo_first(self); e < a->elements;
             e += halo_stride(self))
            halo_cell(a, field, f, e);
    }
    while (halo_clock() - begin < a->ticks)
        mgds_self_pause(self);
}

MGDS_FN void halo_pack_body(const struct mgds_self *self,
                            const struct mgds_halo_args *a)
{
    const uint64_t *field =
        (const uint64_t *)mgds_mem_at((const void *)(uintptr_t)a->field);
    uint64_t *packed =
        (uint64_t *)mgds_mem_at((const void *)(uintptr_t)a->packed);

    for (uint32_t f = 0; f < 2 * a->dims; f++) {
        if (!(a->strided >> f & 1))
            continue;
        for (uint32_t e = halo_first(self); e < a->elements;
             e += halo_stride(self))
            packed[(uint64_t)f * a->elements + e] =
                field[mgds_halo_place(&a->edge[f], e)];
    }
}

MGDS_FN void halo_unpack_body(const struct mgds_self *self,
                              const struct mgds_halo_args *a)
{
    uint64_t *field =
        (uint64_t *)mgds_mem_at((const void *)(uintptr_t)a->field);
    const uint64_t *packed =
        (const uint64_t *)mgds_mem_at((const void *)(uintptr_t)a->packed);

    for (uint32_t f = 0; f < 2 * a->dims; f++) {
        if (!(a->strided >> f & 1))
            continue;
        for (uint32_t e = halo_first(self); e < a->elements;
             e += halo_stride(self))
            field[mgds_halo_place(&a->ghost[f], e)] =
                packed[(uint64_t)f * a->elements + e];
    }
}

MGDS_KERNEL(halo_step, struct mgds_halo_args)
MGDS_KERNEL(halo_pack, struct mgds_halo_args)
MGDS_KERNEL(halo_unpack, struct mgds_halo_args)

#if !MGDS_ON_GPU

struct mgds_mem_window mgds_mem_window;

static const struct mgds_kernel kernels[] = {
    MGDS_KERNEL_ROW(halo_step, struct mgds_halo_args),
    MGDS_KERNEL_ROW(halo_pack, struct mgds_halo_args),
    MGDS_KERNEL_ROW(halo_unpack, struct mgds_halo_args),
};

__attribute__((visibility(
    "default"))) extern const struct mgds_kernel_table mgds_host_kernels;
const struct mgds_kernel_table mgds_host_kernels = {
    MGDS_KERNEL_ABI, sizeof(kernels) / sizeof(kernels[0]), &mgds_mem_window,
    kernels};

#endif
