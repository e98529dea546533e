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

/* What all kernels that wait on a stream look at now and then: one line of host
 * memory, whose address is their `abort`. They give up when its first word is
 * MGDS_ABORT_ALL. If it is any other but 0 it is the address of the first
 * struct mgds_quit, and who waits for what one of those names gives up that
 * alone. While `order` is not 0 it is the number of an order, larger than those
 * of all before it: what to do is at `record`, a struct mgds_order, whose words
 * stay as they are while `order` is that number. A thread that finds it, while
 * no other of the stream is at an order (`busy`: of its struct mgds_cell),
 * copies the message if nobody has begun to (see mgds_claim), and stores the
 * number in `served` when the data is visible to the whole system. So nobody
 * has to know whether an order is looked at: one whose message was copied does
 * nothing, however late somebody comes to it.
 *
 * A kernel that has waited for a millisecond, in vain so far, says so: the
 * number of its wait (`stand` of its arguments, unless that is 0) and with it a
 * `beat` that is another one each time, about once a millisecond as long as it
 * waits. What stays there without a new beat is of a wait that is over.
 * Nothing is visible with the two. A store to host memory makes the end of a
 * kernel a microsecond longer: so none is made sooner. Where a memory operation
 * waits another one ahead of it writes the number alone. */
struct mgds_desk {
    uint64_t abort;
    uint64_t order;
    uint64_t record;
    uint64_t busy;
    uint64_t served;
    uint64_t pad;
    uint64_t stands; /* the number of a wait: one unit with its beat */
    uint64_t beat;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_desk) == 64, "a line");
MGDS_STATIC_ASSERT(offsetof(struct mgds_desk, stands) == 48, "a unit");

#define MGDS_ABORT_ALL 1u

/* A quit, in host memory, names one thing that no kernel waits for any more: a
 * word at `at`, in the GPU's memory, that would become `serial` (of a unit, or
 * of its message: the first one's unit). `next` is the address of the next one,
 * or 0. None is ever taken off the list: one with serial 0 names nothing, and
 * `serial` is stored last. Who gives up what it names stores its serial in
 * `gone`, before the launch tells that it is through. */
struct mgds_quit {
    uint64_t at;
    uint64_t serial;
    uint64_t next;
    uint64_t gone;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_quit) == 32, "four words");

/* A message that may be read: in the sender's memory, `unit` has its serial;
 * or, if `source` and `done` are 0, in a ring from `unit` on, where all its
 * units have come. The last words are of mgds_pull_args. */
struct mgds_order {
    uint64_t dst;
    uint64_t bytes;
    uint64_t unit;
    uint64_t serial;
    uint64_t source;
    uint64_t done;
    uint64_t claim;
    uint64_t gen;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_order) == 64, "a line");

/* mgds_flag_kernel: one thread. Waits until *wait >= wait_value (cyclic), then
 * stores *write = write_value; either address may be 0. Gives up when the desk
 * at `abort` (may be 0) says so, and then writes nothing. */
struct mgds_flag_args {
    uint64_t wait;
    uint64_t wait_value;
    uint64_t write;
    uint64_t write_value;
    uint64_t abort;
    uint64_t stand; /* with abort: what the desk is told; 0: nothing */
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_flag_args) == 48, "six words");

enum { MGDS_TAKE_FOUND = 7 };

/* What the push, take and pull kernels of one stream have in its GPU's own
 * memory; 0 when made. */
struct mgds_cell {
    uint64_t passed; /* the value of the last take that is through */
    uint32_t ticket; /* 0 before a launch and after it */
    uint32_t busy;   /* 0, unless a thread is at an order (mgds_desk) */
    /* What the first block of a take has found out, for the others: units of
     * one such value and the turn of the launch. */
    uint64_t found[MGDS_TAKE_FOUND][2];
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_cell) == 128, "two lines");

/* mgds_push_kernel: any number of blocks; more than one need `cell`, a struct
 * mgds_cell, if flag is not 0. The bytes of src go, with the serial, as units
 * of a ring to `units` (aligned to 16 bytes), one unit if there are none. Then
 * *flag = value, if flag is not 0: src was read. */
struct mgds_push_args {
    uint64_t src;
    uint64_t bytes;
    uint64_t units;
    uint64_t serial;
    uint64_t cell;
    uint64_t flag;
    uint64_t value;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_push_args) == 56, "seven words");

/* In the first word of a record: nothing will come. */
#define MGDS_TAKE_NONE UINT64_MAX

enum mgds_take_form {
    MGDS_TAKE_UNITS,
    MGDS_TAKE_BYTES,
    MGDS_TAKE_PULL,  /* for mgds_pull_kernel alone */
    MGDS_TAKE_QUIET, /* the same, and its flag is not stored; needs `cell` */
};

/* Words of a record, which is a line of 64 bytes, aligned to that: none of them
 * is 0 when it is known, so that they may be written, and read all at once, in
 * any order. The last two are of PULL and QUIET alone; two between are not the
 * kernels'. */
enum {
    MGDS_RECORD_SERIAL, /* or any number but 0 and NONE; or NONE */
    MGDS_RECORD_ADDRESS,
    MGDS_RECORD_LENGTH, /* and 1 */
    MGDS_RECORD_FORM,   /* and 1 */
    MGDS_RECORD_WORDS,
    MGDS_RECORD_SOURCE = 6,
    MGDS_RECORD_DONE = 7
};

/* How many units a thread of a take loads at once. */
enum { MGDS_TAKE_AHEAD = 4 };

/* mgds_take_kernel: any number of blocks; more than one need `cell`, and a
 * `turn` that no launch with this cell had before, not 0. Waits until all units
 * of a message of `length` bytes carry the serial, and stores what fits into
 * the `bytes` bytes at dst. If `record` is not 0 it says what to take, in words
 * of host memory: units of a ring, or plain bytes of pinned memory that are
 * there already. A 0 among them: not known yet; then *came = came_value, if
 * came is not 0: the stream has come here, and who is to fill the record may
 * have to know. At the end, also if there was nothing and if it gave up because
 * the desk at `abort` (may be 0) says so, unless value is 0:
 * cell->passed = value, if cell is not 0, once all units were read; then *flag
 * = value, if flag is not 0, once the data is visible, too. A store to host
 * memory makes the end of a kernel a microsecond longer (measured): so flag is
 * for now and then, and the cell for whoever asks in between
 * (mgds_tell_kernel). */
struct mgds_take_args {
    uint64_t dst;
    uint64_t bytes;
    uint64_t units;
    uint64_t serial;
    uint64_t length;
    uint64_t record;
    uint64_t abort;
    uint64_t came;
    uint64_t came_value;
    uint64_t cell;
    uint64_t turn;
    uint64_t flag;
    uint64_t value;
    uint64_t stand; /* as in mgds_flag_args */
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_take_args) == 112, "fourteen words");

/* Who copies a message that several launches could: words of the GPU's own
 * memory, never set to 0. Their values are generations: not 0, and each is
 * larger than those used with the claim before; the next begins when all
 * launches with the last one are through. `owner` is the generation when
 * somebody has begun to copy, and `over` when all its data is visible to the
 * GPU. Who comes by an order, and may be late, never puts a smaller one there:
 * it copies only if `owner` was less than its own. */
struct mgds_claim {
    uint64_t owner;
    uint64_t over;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_claim) == 16, "two words");

/* mgds_pull_kernel, the take of long messages: any number of blocks; more than
 * one, and a claim, need `cell` and `turn`. What is in units or in plain bytes
 * it takes as mgds_take_kernel does, claim or not. Else the message is in the
 * sender's memory, at `source`, as mapped here: with `source` not 0, or as a
 * record of form PULL or QUIET says. Then `units` (or the record's address) is
 * one unit, whose word becomes the serial when the bytes may be read: it waits
 * for that, and copies what fits. At the end *done = serial, if done is not 0:
 * all that it read there it has read.
 *
 * If `claim`, a struct mgds_claim, is not 0, others may copy the same message
 * with the same generation `gen`: the first to come does, even if it is not
 * there yet. Whoever is not the first waits until the data is visible to it,
 * and leaves `done` alone; nor does it look at the unit, which may be another
 * message's by then. But a record is waited for in any case. With `delivers`
 * not 0 that is so of a message in units, too, which have all come: for
 * launches beside the stream. */
struct mgds_pull_args {
    struct mgds_take_args take;
    uint64_t source;
    uint64_t done;
    uint64_t claim;
    uint64_t gen;
    uint64_t joins; /* not 0: ahead in the stream is such a launch, with whose
                       memory this one has nothing to do: they may overlap */
    uint64_t delivers;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_pull_args) == 160, "twenty words");

/* mgds_post_kernel: one thread. *ready = serial, the word of a unit: what the
 * stream did before is there for who acquires it. Then *flag = value, if flag
 * is not 0. */
struct mgds_post_args {
    uint64_t ready;
    uint64_t serial;
    uint64_t flag;
    uint64_t value;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_post_args) == 32, "four words");

/* mgds_await_kernel, and mgds_few_awaits_kernel for up to MGDS_AWAIT_FEW, which
 * has less to carry: one block, any number of threads. First, if post.ready is
 * not 0, what mgds_post_kernel does. Waits until each of `count` words, in the
 * GPU's own memory, is its value; gives up when the desk at `abort` (may be 0)
 * says so. Then, in any case, *flag = value, if flag is not 0. */
struct mgds_await_head {
    struct mgds_post_args post;
    uint64_t abort;
    uint64_t flag;
    uint64_t value;
    uint64_t count;
    uint64_t stand; /* as in mgds_flag_args */
};

struct mgds_await_item {
    uint64_t word;
    uint64_t value;
};

enum { MGDS_AWAIT_FEW = 12, MGDS_AWAIT_MOST = 248 };

struct mgds_few_awaits_args {
    struct mgds_await_head head;
    struct mgds_await_item item[MGDS_AWAIT_FEW];
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_few_awaits_args) == 264, "33 words");

struct mgds_await_args {
    struct mgds_await_head head;
    struct mgds_await_item item[MGDS_AWAIT_MOST];
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_await_args) == 4040, "505 words");

/* mgds_tell_kernel: one thread. *to = *from, a word of the GPU's own memory,
 * then *done = number. */
struct mgds_tell_args {
    uint64_t from;
    uint64_t to;
    uint64_t done;
    uint64_t number;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_tell_args) == 32, "four words");

/* mgds_takes_kernel, and mgds_few_takes_kernel for up to MGDS_TAKES_FEW, which
 * has less to carry: one block, any number of warps. Takes each of `count`
 * messages as mgds_take_kernel does one; of an item whose serial is 0 `units`
 * is the record. Then, also if it gave some up, what mgds_take_kernel does with
 * cell, flag and value. */
struct mgds_takes_head {
    uint64_t abort;
    uint64_t cell;
    uint64_t flag;
    uint64_t value;
    uint64_t stand; /* as in mgds_flag_args */
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
MGDS_STATIC_ASSERT(sizeof(struct mgds_few_takes_args) == 528, "66 words");

struct mgds_takes_args {
    struct mgds_takes_head head;
    struct mgds_takes_item item[MGDS_TAKES_MOST];
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_takes_args) == 4048, "506 words");

/* mgds_exchange_kernel, and mgds_few_exchange_kernel for up to
 * MGDS_EXCHANGE_FEW, which has less to carry: several messages of one stream at
 * once, of which none waits for another. `sends` items that are PUSH or POST
 * come first, then `takes` items that are TAKE, then `awaits` that are AWAIT.
 * What each does is said at the kernel that does it alone: mgds_push_args,
 * mgds_post_args, mgds_pull_args, mgds_await_args.
 *
 * The blocks of an item of the first two kinds are `blocks` from `first` on;
 * sends have the lower numbers, so they start whatever stands behind them, and
 * none of theirs waits. Takes may share blocks, which do one after the other.
 * Those that are waited for have the last block of the grid.
 *
 * *came = came_value, if came is not 0: with `loud` when all sends are through,
 * else if a take finds its record empty. At the end, also if some gave up, what
 * mgds_take_kernel does with cell, flag and value. `cells` is in the GPU's own
 * memory; `turn` as there, of the cells. */
enum mgds_exchange_kind {
    MGDS_EXCHANGE_PUSH,
    MGDS_EXCHANGE_POST,
    MGDS_EXCHANGE_TAKE,
    MGDS_EXCHANGE_AWAIT
};

struct mgds_exchange_head {
    uint64_t abort;
    uint64_t stand; /* as in mgds_flag_args */
    uint64_t cells;
    uint64_t turn;
    uint64_t came;
    uint64_t came_value;
    uint64_t cell;
    uint64_t flag;
    uint64_t value;
    uint32_t sends;
    uint32_t takes;
    uint32_t awaits;
    uint32_t loud;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_exchange_head) == 88, "eleven words");

struct mgds_exchange_item {
    uint32_t kind;
    uint16_t first;
    uint16_t blocks;
    uint64_t buffer; /* PUSH, TAKE: the program's */
    uint64_t bytes;
    uint64_t units;  /* PUSH, TAKE; a record, if serial is 0; POST, AWAIT: the
                        word */
    uint64_t serial; /* AWAIT: the value */
    uint64_t length; /* TAKE, as all that follow */
    uint64_t source;
    uint64_t done;
    uint64_t claim;
    uint64_t gen;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_exchange_item) == 80, "ten words");

enum { MGDS_EXCHANGE_FEW = 8, MGDS_EXCHANGE_MOST = 50 };

/* 0 when made. */
struct mgds_exchange_cells {
    struct mgds_cell item[MGDS_EXCHANGE_MOST];
    uint32_t sent, ended; /* 0 before a launch and after it */
};

struct mgds_few_exchange_args {
    struct mgds_exchange_head head;
    struct mgds_exchange_item item[MGDS_EXCHANGE_FEW];
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_few_exchange_args) == 728, "91 words");

struct mgds_exchange_args {
    struct mgds_exchange_head head;
    struct mgds_exchange_item item[MGDS_EXCHANGE_MOST];
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_exchange_args) == 4088, "511 words");

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

/* mgds_read_kernel: a block for each item, which copies all of it as
 * mgds_wide_copy does, unless the host has said that it is not to. The claim, a
 * line of host memory that is 0 before the launch, settles who copies:
 *
 *   the block stores HERE in `state`, and then looks at `off`
 *   the host stores 1 in `off`, and then looks at `state`
 *
 * and neither end's load may overtake its store. So where the host finds 0 the
 * block will find 1, and copies nothing: the host may do so at once. Where the
 * host finds HERE the block says what it has made of it: DONE, when the data is
 * visible to the whole system, or LEFT. Behind LEFT the block touches neither
 * source nor destination, and behind either word not even the claim. The host
 * says LEFT itself if no block will come, since the launch failed. */
struct mgds_read_claim {
    uint64_t state; /* the block's, and of a launch that failed the host's */
    uint64_t off;   /* the host's */
    uint64_t heard; /* the software GPU's, for threads of a block */
    uint64_t pad[5];
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_read_claim) == 64, "a line");

enum { MGDS_READ_HERE = 1, MGDS_READ_DONE = 2, MGDS_READ_LEFT = 3 };

struct mgds_read_item {
    uint64_t dst;
    uint64_t src;
    uint64_t bytes;
    uint64_t claim;
};

enum { MGDS_READS_MOST = 16 };

struct mgds_read_args {
    uint64_t count;
    struct mgds_read_item item[MGDS_READS_MOST];
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_read_args) == 520, "65 words");

#endif
