/* The two sides of the litmus test, as litmus.h has them. */
#include "device/impl/kernel.h"
#include "tests/hw/litmus/litmus.h"

MGDS_FN struct mgds_unit *litmus_unit(const struct mgds_self *self,
                                      uint64_t base, unsigned i)
{
    uint64_t first = (uint64_t)self->block * self->threads + self->thread;
    uint64_t step = (uint64_t)self->blocks * self->threads;

    return (struct mgds_unit *)(uintptr_t)base + first + i * step;
}

/* As AWAIT and the long TAKE wait: polls without order, then one acquire. */
MGDS_FN void litmus_await(const struct mgds_self *self, uint64_t at,
                          uint64_t value)
{
    const uint64_t *word = (const uint64_t *)(uintptr_t)at;

    if (self->thread == 0) {
        while (mgds_load_relaxed64(word) != value)
            mgds_self_pause(self);
        mgds_load_acquire64(word);
    }
    mgds_block_sync(self);
}

/* True in one thread of the grid, as mgds_ring_is_last_of. */
MGDS_FN int litmus_is_last(const struct mgds_self *self, uint32_t *ticket,
                           uint64_t *none)
{
    uint32_t any = mgds_block_any(self, *none);

    *none = any;
    return self->thread == 0 &&
           mgds_add_gpu32(ticket, 1 + any) % self->blocks == self->blocks - 1;
}

MGDS_FN void litmus_writer_body(const struct mgds_self *self,
                                const struct litmus_args *a)
{
    uint32_t *ticket = (uint32_t *)(uintptr_t)a->ticket;

    for (uint64_t n = 1; n <= a->rounds; n++) {
        struct mgds_unit v = {n, n};
        uint64_t none = 0;

        for (unsigned i = 0; i < LITMUS_UNITS; i++)
            mgds_store16(litmus_unit(self, a->units, i), v);
        if (litmus_is_last(self, ticket, &none))
            mgds_store_release64((uint64_t *)(uintptr_t)a->ready, n);
        litmus_await(self, a->done, n);
    }
}

MGDS_FN void litmus_count(const struct litmus_args *a, struct mgds_unit v,
                          uint64_t n)
{
    if (v.data < n || v.word < n)
        mgds_add_gpu32((uint32_t *)(uintptr_t)a->early, 1);
    if (v.data > n || v.word > n)
        mgds_add_gpu32((uint32_t *)(uintptr_t)a->late, 1);
}

MGDS_FN void litmus_look(const struct mgds_self *self,
                         const struct litmus_args *a,
                         const struct mgds_unit v[LITMUS_UNITS], uint64_t n)
{
    for (unsigned i = 0; i < LITMUS_UNITS; i++) {
        mgds_store16(litmus_unit(self, a->copy, i), v[i]);
        litmus_count(a, v[i], n);
    }
}

/* As mgds_wide_copy and mgds_none_of do. */
MGDS_FN uint64_t litmus_none(const struct litmus_args *a,
                             const struct mgds_unit v[LITMUS_UNITS])
{
    uint64_t read = 0;

    for (unsigned i = 0; i < LITMUS_UNITS; i++)
        read |= v[i].data | v[i].word;
    return a->form == LITMUS_DEPENDENT ? mgds_none_of(read, a->copy) : 0;
}

MGDS_FN void litmus_tell(const struct litmus_args *a, uint64_t n, uint64_t none)
{
    uint64_t *done = (uint64_t *)(uintptr_t)a->done;

    if (a->form == LITMUS_WEAK)
        mgds_store_relaxed64(done, n);
    else if (a->form == LITMUS_DEPENDENT)
        mgds_store_having_read64(done, n, none);
    else
        mgds_store_release64(done, n);
}

MGDS_FN void litmus_reader_body(const struct mgds_self *self,
                                const struct litmus_args *a)
{
    uint32_t *ticket = (uint32_t *)(uintptr_t)a->ticket;

    for (uint64_t n = 1; n <= a->rounds; n++) {
        struct mgds_unit v[LITMUS_UNITS];
        uint64_t none;

        litmus_await(self, a->ready, n);
        for (unsigned i = 0; i < LITMUS_UNITS; i++)
            v[i] = mgds_load16(litmus_unit(self, a->units, i));
        if (!a->kept)
            litmus_look(self, a, v, n);
        none = litmus_none(a, v);
        if (litmus_is_last(self, ticket, &none))
            litmus_tell(a, n, none);
        if (a->kept)
            litmus_look(self, a, v, n);
    }
}

MGDS_KERNEL(litmus_writer, struct litmus_args)
MGDS_KERNEL(litmus_reader, struct litmus_args)

#if !MGDS_ON_GPU

struct mgds_mem_window mgds_mem_window;

static const struct mgds_kernel kernels[] = {
    MGDS_KERNEL_ROW(litmus_writer, struct litmus_args),
    MGDS_KERNEL_ROW(litmus_reader, struct litmus_args),
};

__attribute__((visibility(
    "default"))) extern const struct mgds_kernel_table mgds_host_kernels;
const struct mgds_kernel_table mgds_host_kernels = {
    MGDS_KERNEL_ABI, sizeof(kernels) / sizeof(kernels[0]), &mgds_mem_window,
    kernels};

#endif
