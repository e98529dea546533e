/* Structs that the host fills and the GPU reads: arguments of our kernels. C
 * and C++, same layout on both sides. */
#ifndef MGDS_DEVICE_ABI_H
#define MGDS_DEVICE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define MGDS_STATIC_ASSERT static_assert
#else
#define MGDS_STATIC_ASSERT _Static_assert
#endif

/* mgds_copy_kernel: any number of blocks, any alignment. If `limit` is not 0
 * only bytes below *limit are copied: a count that the CPU wrote before it let
 * the stream go on, constant while the kernel runs. When the last block is
 * through, the data is visible to the whole system and then, if `flag` is not
 * 0, *flag = value. `ticket` is a word in the GPU's own memory, 0 before the
 * launch and after it; it may be 0 if flag is 0. */
struct mgds_copy_args {
    uint64_t dst;
    uint64_t src;
    uint64_t bytes;
    uint64_t flag;
    uint64_t ticket;
    uint64_t value;
    uint64_t limit;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_copy_args) == 56, "seven words");

/* mgds_flag_kernel: one thread. Waits until *wait >= wait_value (cyclic), then
 * stores *write = write_value; either address may be 0. Gives up when the word
 * at `abort` (host memory, may be 0) is not 0, and then writes nothing. */
struct mgds_flag_args {
    uint64_t wait;
    uint64_t wait_value;
    uint64_t write;
    uint64_t write_value;
    uint64_t abort;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_flag_args) == 40, "five words");

/* mgds_push_kernel: one block, any number of threads. The bytes of src go, with
 * the serial, as units of a ring to `units`, one unit if there are none; and as
 * they are to `also`, in pinned memory (8-byte aligned, as `units` is to 16).
 * Either may be 0. Then *flag = value, if flag is not 0: src was read, and the
 * plain bytes are visible before it. */
struct mgds_push_args {
    uint64_t src;
    uint64_t bytes;
    uint64_t units;
    uint64_t serial;
    uint64_t also;
    uint64_t flag;
    uint64_t value;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_push_args) == 56, "seven words");

/* In the first word of a record: nothing will come. */
#define MGDS_TAKE_NONE UINT64_MAX

enum mgds_take_form { MGDS_TAKE_UNITS, MGDS_TAKE_BYTES };

/* mgds_take_kernel: one block, any number of threads. First *came = came_value,
 * if came is not 0: the stream has come here. Waits until all units of
 * a message of `length` bytes carry the serial, and stores what fits into the
 * `bytes` bytes at dst. If `record` is not 0 it says what to take, in four
 * words of host memory: the serial (or any number but 0 and MGDS_TAKE_NONE),
 * written last; where; the length; the form: units of a ring, or plain bytes of
 * pinned memory that are there already. 0 there: not known yet. Then, also if
 * there was nothing and if it gave up because the word at `abort` (host memory,
 * may be 0) is not 0, *flag = value, if flag is not 0. */
struct mgds_take_args {
    uint64_t dst;
    uint64_t bytes;
    uint64_t units;
    uint64_t serial;
    uint64_t length;
    uint64_t record;
    uint64_t abort;
    uint64_t flag;
    uint64_t value;
    uint64_t came;
    uint64_t came_value;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_take_args) == 88, "eleven words");

/* mgds_takes_kernel, and mgds_few_takes_kernel for up to MGDS_TAKES_FEW, which
 * has less to carry: one block, any number of threads. Takes each of `count`
 * messages as mgds_take_kernel does one; of an item whose serial is 0 `units`
 * is the record. Then, also if it gave some up, *flag = value, if flag is not
 * 0. */
struct mgds_takes_head {
    uint64_t abort;
    uint64_t flag;
    uint64_t value;
    uint32_t count;
    uint32_t pad;
};

struct mgds_takes_item {
    uint64_t dst;
    uint64_t bytes;
    uint64_t units;
    uint64_t serial;
    uint64_t length;
};

/* What a launch carries is 4 KiB at most. */
enum { MGDS_TAKES_FEW = 12, MGDS_TAKES_MOST = 100 };

struct mgds_few_takes_args {
    struct mgds_takes_head head;
    struct mgds_takes_item item[MGDS_TAKES_FEW];
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_few_takes_args) == 512, "64 words");

struct mgds_takes_args {
    struct mgds_takes_head head;
    struct mgds_takes_item item[MGDS_TAKES_MOST];
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_takes_args) == 4032, "504 words");

/* mgds_copies_kernel: a number of blocks that `count` divides, each item has
 * as many of them. Copies each as mgds_copy_kernel does, without a flag. */
struct mgds_copies_item {
    uint64_t dst;
    uint64_t src;
    uint64_t bytes;
    uint64_t limit;
};

enum { MGDS_COPIES_MOST = 126 };

struct mgds_copies_args {
    uint64_t count;
    struct mgds_copies_item item[MGDS_COPIES_MOST];
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_copies_args) == 4040, "505 words");

#endif
