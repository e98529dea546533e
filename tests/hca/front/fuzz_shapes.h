/* Commands of the uverbs interface with contents that are mostly right, drawn
 * by a seed (fuzz_commands.c). */
#ifndef MGDS_TEST_FUZZ_SHAPES_H
#define MGDS_TEST_FUZZ_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_ARENA = 1 << 21 /* bytes */ };

extern uint64_t fuzz_seed;
extern uint8_t *fuzz_arena; /* what a device may write to; set before draws */

bool fuzz_one_in(uint32_t n);

/* A number, mostly small. */
uint32_t fuzz_number(void);

/* An address in the arena, mostly aligned; at its edges; or nowhere. */
uint64_t fuzz_address(uint32_t aligned);

/* A UAR page, mostly the one that the device gave last. */
extern uint32_t fuzz_last_page;
uint32_t fuzz_page(void);

struct fuzz_shape {
    uint32_t command; /* with the bit of extended ones */
    /* Fills a request, and the driver's; both are all zero. */
    void (*fill)(void *request, void *driver);
    size_t in;
    size_t out;
    size_t driver_in;
    size_t driver_out;
};

extern const struct fuzz_shape fuzz_shapes[];
extern const size_t fuzz_shape_count;

/* A command was done: others may use the handle that its response begins with,
 * if it makes something. */
void fuzz_keep_handle(uint32_t command, const void *response);

#endif
