/*
 * A CUDA stream of the program, and what the library puts on it: commands, in
 * lists that stay together. All work of enqueued operations that must happen
 * in stream order is one of eight commands; all else is done by the CPU.
 *
 *   PACK      GPU buffer -> pinned memory of its bounce, packed
 *   UNPACK    bounce -> GPU buffer, only packed bytes below *word, a count
 *             that is read when the command runs; what lies above is not
 * touched FLAG      *word = value, after all before it (release, whole system)
 *   WAIT      until *word >= value (cyclic: less than half the range behind)
 *   PUSH      GPU buffer, a few KiB in a row -> places of a ring, and bounce
 *   TAKE      until the message is there: ring, sender's memory, or as a record
 *             says -> buffer
 *   POST      *word of a unit in a ring = serial: the buffer may be read there
 *   AWAIT     until *word, in the GPU's own memory, is the value: it was read
 *
 * The last four are kernels, and a FLAG behind one goes with it in one launch,
 * and a quiet one ahead of a TAKE. TAKEs of short messages that follow each
 * other in a list are one launch together, and so are AWAITs, and UNPACKs of
 * buffers without gaps (batch.h). command_kinds.def has a row for each kind:
 * what it may be fused with, and whether the stream may stand at it.
 *
 * A message on a stream: send  PACK, FLAG;  receive  FLAG;
 * wait for a receive  WAIT, UNPACK, FLAG. One that the receiver copies out of
 * the sender's memory: send  POST, FLAG;  wait for it  AWAIT, FLAG;  wait for
 * a receive  TAKE, FLAG. Where the receiver's stream does not come to the TAKE,
 * its CPU has the same launched beside it (mgds_gstream_fetch): which of them
 * copies the two settle by a claim, words of the GPU's memory that both name.
 * Where no launch comes through, the kernel that the stream stands in does it
 * (mgds_gstream_order; order.h).
 *
 * Order. Who calls in MPI order takes a ticket at that moment, under the lock
 * that makes the order (COMM; several communicators may share a stream), and
 * puts later, without that lock: puts of a stream happen in the order of their
 * tickets, and one that is early waits for those before it. So every ticket
 * must be put, with no commands if there are none, and between ticket and put
 * its thread takes nothing that another one may hold across its own put. When a
 * put returns the commands are on the stream: what the program queues
 * afterwards comes behind them.
 *
 *   state      written by                                  read by
 *   ticket     mgds_gstream_ticket, any thread, atomic     the same
 *   turn       the put whose ticket it is, when its        puts, under the
 *              commands are queued, under the launch lock  launch lock
 *   waits      puts add, mgds_gstream_passed takes off;    the same
 *              atomic
 *   sides      bounce and adopt, in front of those that    puts; bounce,
 *              are there, which stay as they are; atomic   adopt
 *   claims     mgds_gstream_claim, _unclaim; atomic        the same
 *   fetched    mgds_gstream_fetch, atomic                  the same
 *   error      mgds_gstream_fail, once, from 0; atomic     anybody
 *   native     create; constant                            create, capturing
 *                                                          and put alone
 *   *word of   FLAG: the stream, the CPU before it is put  the CPU
 *              WAIT, UNPACK: the CPU; a count before the   the stream
 *              word that is waited for (release)
 *   abort      mgds_gstream_abort, for ever; quits.h: one  wait kernels
 *              caller at a time
 *   stands     wait kernels and memory operations          _stands
 *   orders     mgds_gstream_order, _order_back: one        wait kernels
 *              caller at a time
 *
 * Life. Objects are counted. The native handle is given to the driver by
 * create, capturing and put only, which happen in calls that the program makes
 * with that stream: it may destroy the stream at any other time, with work
 * pending, too. An object is of a handle at one time: after a destroy the same
 * handle may be another stream, for which create makes another object.
 *
 * The context is the stream's; what is current in the caller stays so. 0 and
 * legacy are the legacy stream of the context that is current in create;
 * per-thread is that of the thread that called create, and of no other.
 *
 * Errors, negative errno as in bounce.h, and
 *   -ENOTSUP    no kernels of ours for this GPU (one line says so)
 *   -EXDEV      the buffer lies in several contexts, and the GPU of none of
 *               them reaches all of it (one line)
 */
#ifndef MGDS_STREAM_GSTREAM_H
#define MGDS_STREAM_GSTREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/stream/syncwords.h"
#include "shim/gds/mem/bounce.h"

struct mgds_claim;
struct mgds_gstream;

enum mgds_command_kind {
#define MGDS_STEP(name, blocks, part, fused, alone) MGDS_COMMAND_##name,
#include "shim/gds/stream/command_kinds.def"
    MGDS_COMMAND_KINDS
};

struct mgds_command {
    enum mgds_command_kind kind;
    bool put;       /* out: it is on the stream, whatever came after it */
    bool quiet;     /* a FLAG, in one launch with the TAKE that it is ahead of:
                       stored only if that finds its record empty; or behind:
                       for the stream's own memory (mgds_gstream_tell) */
    bool asked;     /* a FLAG, alone: it need not be stored if mgds_gstream_come
                       says that the stream has come to it */
    bool joins;     /* out: a long TAKE, as the command ahead */
    bool delivers;  /* a TAKE beside the stream: units are claimed, too, if
                       there is a claim */
    uint64_t *word; /* in a line of mgds_syncwords; UNPACK: NULL for all bytes;
                       AWAIT: in the memory of the stream's GPU */
    uint64_t value; /* FLAG, WAIT, AWAIT */
    uint64_t stand; /* WAIT, TAKE, AWAIT: what tells mgds_gstream_stands of it,
                       or 0 */
    struct mgds_bounce *bounce; /* PACK, UNPACK: of mgds_gstream_bounce; stays
                                   as it is until the stream is through */
    /* PUSH, TAKE, POST: as in device/abi.h; memory of the program's that
     * mgds_gstream_takes */
    char *user;
    size_t bytes;
    void *units; /* POST: the word of a unit */
    uint64_t serial;
    size_t length;    /* TAKE */
    uint64_t *record; /* TAKE: a line of mgds_syncwords, or NULL */
    /* TAKE: of a long message. Only one with a claim may find a record of form
     * PULL; without a record `source` says that it is one. `units` and `done`
     * are as mapped here, and stay so until the stream is through. */
    struct mgds_claim *claim; /* of mgds_gstream_claim, or NULL */
    uint64_t gen;             /* with claim */
    uint64_t source;          /* 0, or where the sender's bytes are */
    uint64_t done;            /* with source: 0, or a word of the sender's */
};

/* native: a CUstream. In a call of the program's, not while waits stand: loads
 * kernels, pins memory and may wait for the device when it is the first of its
 * context, and for other GPUs that the program has begun to use. -EINVAL: no
 * stream; -ENODEV: no usable GPU; -ENOTSUP; -ENOMEM; -ESHUTDOWN. */
int mgds_gstream_create(struct mgds_gstream **out, void *native);

struct mgds_gstream *mgds_gstream_get(struct mgds_gstream *stream);

/* Any thread, no driver call on the stream. Its words have come back. */
void mgds_gstream_release(struct mgds_gstream *stream);

/* The native handle, as lines show it. */
uint64_t mgds_gstream_name(const struct mgds_gstream *stream);

/* The timeline of the stream, which the engine keeps with it, or NULL: set
 * under the engine's lock, asked for by any thread. */
struct mgds_timeline;
void mgds_gstream_set_timeline(struct mgds_gstream *stream,
                               struct mgds_timeline *timeline);
struct mgds_timeline *mgds_gstream_timeline(const struct mgds_gstream *stream);

/* Has the stream one reference alone? Then who has that may find out whether to
 * release it; and how often that has come to be, of any stream: tells whether
 * to look, by one load. */
bool mgds_gstream_is_alone(const struct mgds_gstream *stream);
unsigned mgds_gstreams_alone(void);

/* 1 if the program captures the stream into a graph now, 0 if not. -EBUSY:
 * another stream's capture forbids to use the legacy stream. -EPERM: it is the
 * per-thread stream, and this is not the thread that create was called in:
 * another stream, therefore (one line). */
int mgds_gstream_capturing(struct mgds_gstream *stream);

/* Whose memory its kernels work on; of the stream. */
struct mgds_context *mgds_gstream_context(const struct mgds_gstream *stream);

/* Words for commands; a line is given back when its commands are through, while
 * the taker holds the stream. */
struct mgds_syncwords *mgds_gstream_words(struct mgds_gstream *stream);

/* The pinned memory for a GPU buffer's PACK and UNPACK: form STREAM, which
 * mgds_bounce_up and _down may use as well. ptr of the buffer must be the
 * answer to a look made in this call. Memory of any GPU of the process.
 * -EFAULT, -EXDEV, -ENOMEM (and one line if MPIX_GDS_STAGE_POOL forbids to pin
 * more). */
int mgds_gstream_bounce(struct mgds_bounce **out, struct mgds_gstream *stream,
                        const struct mgds_buffer *buffer);

/* The same for a bounce that is of another stream, or was made without one, so
 * that this one can copy. None is needed for a buffer that it takes. */
int mgds_gstream_adopt(struct mgds_gstream *stream,
                       const struct mgds_bounce *bounce);

/* Is a buffer fit for PUSH and TAKE: in a row, and within reach of the stream's
 * kernels? What is out of reach only PACK and UNPACK copy, aside (side.h). */
bool mgds_gstream_takes(const struct mgds_gstream *stream,
                        const struct mgds_buffer *buffer);

/* The fragments of the stream's context (mem/stock.h), for bytes that come, or
 * go: pinned memory that its kernels reach. */
struct mgds_stock;
struct mgds_stock *mgds_gstream_stock(struct mgds_gstream *stream, bool out);

/* The next place in the order. Any locks held. */
uint64_t mgds_gstream_ticket(struct mgds_gstream *stream);

/* Queues the commands in their order, when the ticket's turn has come; gives
 * the turn on whatever happens. No lock of rank LAUNCH or above is held. May
 * block as a CUDA call on a full stream does. 0, or the first error: commands
 * with put set are on the stream, the others never will be. -EFAULT: the
 * program freed a buffer; an UNPACK of it is left out, a TAKE throws its
 * message away. */
int mgds_gstream_put(struct mgds_gstream *stream, uint64_t ticket,
                     struct mgds_command *commands, unsigned count);

/* So many WAITs, TAKEs and AWAITs that were put are over: their words were set.
 * Each is to be reported once; they are counted to warn before a GPU is full of
 * them. Any thread, no driver call. */
void mgds_gstream_passed(struct mgds_gstream *stream, unsigned waits);

/* The last command that the stream has said it stands at, by its `stand` of
 * which the low half counts; 0: none. A kernel says so when it has waited for a
 * millisecond, and again each one, always with another beat: without a new beat
 * it may be over. A WAIT that is a memory operation says so once, when the
 * stream has come to it; and not at all just behind a FLAG, which has said it
 * already. Any thread, no driver call. */
struct mgds_stands {
    uint64_t stand, beat;
};
struct mgds_stands mgds_gstream_stands(const struct mgds_gstream *stream);

/* The greatest value of an asked FLAG, from that one on, to which the stream is
 * known to have come; 0: none. Any thread; calls of the driver's, which do not
 * block. */
uint64_t mgds_gstream_come(struct mgds_gstream *stream, uint64_t from);

/* Are there FLAGs that are quiet on this stream? They cost the stream less. */
bool mgds_gstream_can_be_quiet(const struct mgds_gstream *stream);

/* Has the GPU store the last quiet FLAG's value that the stream has passed in
 * *to, then the number in *done, both in a line of mgds_syncwords: on a stream
 * of our own, while that of the program goes on. Of such a FLAG is known that
 * its TAKE has read all of its message's place in the ring. A CUDA call: never
 * by the progress thread. -ESHUTDOWN, -EIO. */
int mgds_gstream_tell(struct mgds_gstream *stream, uint64_t *to, uint64_t *done,
                      uint64_t number);

/* A claim for TAKEs and fetches of one message, on this stream; NULL: all are
 * taken, or there is no memory for them: then only the stream's own TAKE may
 * take it. It is given back when all that named it are through but orders,
 * and later generations are larger. Any thread and any locks held; no driver
 * call. */
struct mgds_claim *mgds_gstream_claim(struct mgds_gstream *stream);
/* The same for as long as a receive lasts: some are left to copies beside the
 * stream, which end by themselves. */
struct mgds_claim *mgds_gstream_claim_long(struct mgds_gstream *stream);
void mgds_gstream_unclaim(struct mgds_gstream *stream,
                          struct mgds_claim *claim);

/* Where there was none: whether one may come back soon. Somebody who has waited
 * in vain says so, for all until one does. Any thread. */
bool mgds_gstream_may_claim(const struct mgds_gstream *stream);
void mgds_gstream_despair(struct mgds_gstream *stream);

/* How many there are of a stream, and may be given out for long. */
enum { MGDS_GSTREAM_CLAIMS = 256, MGDS_GSTREAM_LONG_CLAIMS = 192 };

/* The count of operations changes that have no claim and may be asked of others
 * by orders: while there are any the waits that are put are kernels. Any
 * thread. */
void mgds_gstream_serve(struct mgds_gstream *stream, int change);

/* Launches the TAKE now, on a stream of our own, wherever that of the program
 * stands; then *flag = value, in a line of mgds_syncwords, once the data is
 * there, whoever copied it, or the stream was aborted. Only of a message whose
 * place is known, and when it is known to be there: it must not stand. Any
 * thread, no lock of rank LAUNCH or above is held. A CUDA call. -EFAULT: it is
 * launched, but the program freed the buffer: the message is thrown away. Else
 * 0, or an error, and nothing is launched: -EINVAL if the place is not known,
 * -ESHUTDOWN, -EIO. */
int mgds_gstream_fetch(struct mgds_gstream *stream,
                       const struct mgds_command *take, uint64_t *flag,
                       uint64_t value);

/* Has a kernel that stands on the stream of the program copy the message, if
 * one does or comes to: host words alone, no driver call. take as in
 * mgds_gstream_fetch, with a claim, into memory that the stream's kernels
 * reach; a fetch of the same may be launched, too. The number of the order, or
 * 0: none is given, since no wait stands, or another order does. What it names
 * stays as it is until the message was copied, by whomever; then the order is
 * taken back. One thread at a time calls the two. */
uint64_t mgds_gstream_order(struct mgds_gstream *stream,
                            const struct mgds_command *take);
void mgds_gstream_order_back(struct mgds_gstream *stream);

/* Was it copied for that order? Then the data is there, for the CPU, too. */
bool mgds_gstream_served(const struct mgds_gstream *stream, uint64_t order);

/* Does nothing that is launched beside the streams of its context come through,
 * as far as is known? Whoever has seen one that did, or a copy by order that
 * was faster, says so. Any thread. */
bool mgds_gstream_is_stalled(const struct mgds_gstream *stream);
void mgds_gstream_note_stalled(struct mgds_gstream *stream, bool stalled);

/* What the stream's kernels are to give up, one message each (quits.h): of a
 * TAKE the word of its unit, the first one of a message in a ring, of an AWAIT
 * its word. One that is there is taken all the same. It is over when the stream
 * has passed the wait, or what was put of it. One thread at a time uses them
 * and calls mgds_gstream_abort. */
struct mgds_quits;
struct mgds_quits *mgds_gstream_quits(struct mgds_gstream *stream);

/* Lets the waits of this stream pass that are kernels; those that are memory
 * operations pass by their words, so words are set first. What they waited for
 * was not taken. */
void mgds_gstream_abort(struct mgds_gstream *stream);

/* 0, or the error with which the stream's context is gone or broken for good:
 * nothing on it moves any more. A CUDA call: never by the progress thread. */
int mgds_gstream_check(const struct mgds_gstream *stream);

/* The first error of the stream, 0 if none; fail remembers one. */
void mgds_gstream_fail(struct mgds_gstream *stream, int error);
int mgds_gstream_error(const struct mgds_gstream *stream);

/* May waits stand on this stream as kernels? Then PUSH, TAKE, POST and AWAIT
 * are for it; else a put of one of the last two, or of a long TAKE, is refused
 * (-ENOTSUP), as a fetch is. */
bool mgds_gstream_has_kernels(const struct mgds_gstream *stream);

/* Do FLAGs and WAITs write and compare the low 32 bits of their words alone? So
 * do those of GPUs whose memory operations are no wider; other kernels than
 * those store 64 bits all the same. */
bool mgds_gstream_is_narrow(const struct mgds_gstream *stream);

/* How WAITs are made on this stream: true by memory operations. */
bool mgds_gstream_by_memop(const struct mgds_gstream *stream);

#endif
