/* Arguments of the litmus kernels. */
#ifndef MGDS_TESTS_HW_LITMUS_H
#define MGDS_TESTS_HW_LITMUS_H

#include <stdint.h>

/* Units of 16 bytes that each thread has. */
enum { LITMUS_UNITS = 4 };

/* How done is stored: in no order; by what was read (as the library does); or
 * released. */
enum litmus_form { LITMUS_WEAK, LITMUS_DEPENDENT, LITMUS_RELEASED };

/* Both kernels have as many blocks, a power of two, and threads as one another.
 *
 *   writer, where the units are        reader, on another GPU
 *   units = n, plain                   waits for ready = n
 *   ready = n, released       ---->    reads all units, plain
 *   waits for done = n        <----    done = n, behind that or so it seems
 *   n + 1 ..
 */
struct litmus_args {
    uint64_t units; /* the writer's memory */
    uint64_t done;
    uint64_t ready; /* the reader's memory */
    uint64_t copy;  /* as many units */
    uint64_t early; /* how many reads found a value before n, and behind */
    uint64_t late;
    uint64_t ticket; /* 32 bits of the own GPU, 0 */
    uint64_t rounds;
    uint64_t form; /* enum litmus_form */
    uint64_t kept; /* the values are looked at behind done */
};

#endif
