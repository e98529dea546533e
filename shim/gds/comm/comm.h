/*
 * The engine behind stream communicators, as pmpi/ sees it: plain values, no
 * type of mpi.h.
 *
 *   comm     one stream communicator in one process: its members, its streams
 *            and the matching between them
 *   op       one send or receive of it, from the call until both its owner and
 *            its stream are done with it
 *   message  a send that a matched probe took out of the lists
 *
 * Errors are negative errno, met before anything was put on a stream or sent:
 *   -ENOMEM    memory, or pinned memory, is short
 *   -EFAULT, -ESHUTDOWN, -EIO   of the user's GPU memory (bounce.h)
 *   -ENOTCONN  a peer cannot be reached; said in one line by the engine
 * What happens to an operation later is in its status (mgds_op_status.error).
 *
 * Concurrency. Every function may be called by any thread that holds no lock of
 * rank LAUNCH or higher. None calls MPI. Functions that may make CUDA calls say
 * "puts"; all others make none but what frees deferred memory. Only what says
 * "waits" waits.
 */
#ifndef MGDS_COMM_COMM_H
#define MGDS_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/mem/bounce.h"

struct mgds_comm;
struct mgds_gstream;  /* gds/stream/gstream.h */
struct mgds_channels; /* gds/transport/channels.h */
struct mgds_message;
struct mgds_op;

/* For peer: a rank otherwise. The matcher has its own name for any source. */
#define MGDS_PROC_NULL (-1)
#ifndef MGDS_ANY_SOURCE
#define MGDS_ANY_SOURCE (-2)
#define MGDS_ANY_TAG (-1)
#endif

/* One process of the (remote) group, by rank. */
struct mgds_member {
    const void *address; /* of its wire worker (wire.h) */
    size_t address_bytes;
    uint64_t process; /* unique in the job; equal: the same process */
    unsigned streams; /* how many its communicator has; 0: none */
    uint64_t host; /* equal: GPU memory can perhaps be shared; 0: it cannot */
    bool far;      /* it has a GPU, and is to use an HCA */
};

/* Everything in it is borrowed for the call. */
struct mgds_comm_spec {
    uint64_t id; /* the same at all members, never used again in the job */
    unsigned rank, size;
    unsigned remote_size; /* inter: of the group that peers are ranks of */
    bool inter;
    /* By index; NULL: the CPU. The communicator takes references of its own. */
    struct mgds_gstream **streams;
    unsigned stream_count;             /* may be 0 */
    const struct mgds_member *members; /* size, or remote_size, of them */
    struct mgds_channels *channels; /* of the communicator and its duplicates;
                                       NULL: no rings */
    int tag_ub;
};

/*
 * Makes this process's part; the wire is open (mgds_comms_open). Messages of
 * members that were faster may be there already: they are kept by id until now.
 * Local: another member's failure is the caller's to agree on, who puts the
 * communicator then.
 */
int mgds_comm_create(struct mgds_comm **out, const struct mgds_comm_spec *spec);

/* The communicator is freed: at once; what is under way goes on, and the
 * records go once all of it is done. NULL is allowed. */
void mgds_comm_put(struct mgds_comm *comm);

/* The name that lines about its operations give, MPI_Comm_set_name's; "" until
 * then, for duplicates too. Kept: the first MGDS_COMM_NAME - 1 characters,
 * with '?' for what would break a line. */
enum { MGDS_COMM_NAME = 64 };
void mgds_comm_set_name(struct mgds_comm *comm, const char *name);

/*
 * The channels of a new communicator and all its duplicates to come: made with
 * what the communicator will be made with, host of the members included. Then
 * each member describes its rings to the others, in so many bytes for the most
 * streams that one has, and connects to what they describe. Counted; only for
 * communicators of one group. -ENOMEM.
 */
int mgds_channels_create(struct mgds_channels **out,
                         const struct mgds_comm_spec *spec);
size_t mgds_channels_description(unsigned streams);
void mgds_channels_describe(const struct mgds_channels *channels, char *out);
void mgds_channels_connect(struct mgds_channels *channels, unsigned rank,
                           const char *description);
/* Then each makes the memory that messages of the others begin with, unless
 * they have some; true: there is some that nobody was told of. If any has some
 * each tells each other rank, and takes what that tells, in as many bytes
 * (offer.h); 0: the two have no channel. And the channels are to be settled. */
bool mgds_channels_offer(const struct mgds_channels *channels);
size_t mgds_channels_offer_bytes(const struct mgds_channels *channels,
                                 unsigned rank);
void mgds_channels_write_offer(const struct mgds_channels *channels,
                               unsigned rank, char *out);
void mgds_channels_take_offer(const struct mgds_channels *channels,
                              unsigned rank, const char *in);
void mgds_channels_settle(const struct mgds_channels *channels);
/*
 * Then, where members of several hosts are far: each offers a way to each of
 * their streams, connects to what they offer, and says for which that went
 * well; what both say so of opens. Of a rank there is a block each time, of so
 * many bytes, if `most` is the most streams that one has: of offers, and of
 * what is said.
 */
bool mgds_channels_are_far(const struct mgds_member *members, unsigned count);
size_t mgds_channels_far_bytes(unsigned most);
size_t mgds_channels_joined_bytes(unsigned most);
void mgds_channels_offer_far(const struct mgds_channels *channels,
                             unsigned rank, unsigned most, char *offer);
void mgds_channels_join_far(struct mgds_channels *channels, unsigned rank,
                            unsigned most, const char *offer, char *joined);
void mgds_channels_open_far(struct mgds_channels *channels, unsigned rank,
                            unsigned most, const char *joined);
void mgds_channels_get(struct mgds_channels *channels);
void mgds_channels_put(struct mgds_channels *channels); /* NULL is allowed */

/* Where this process can be reached: opens the wire, and keeps messages for
 * communicators that do not exist here yet. network: from other hosts, too. The
 * address is valid until mgds_comms_fini. */
int mgds_comms_open(bool network, const void **address, size_t *bytes);

/* Whether the member is reached without the network, so far as this process is
 * concerned: through memory of the host that both are on. */
bool mgds_comms_near(const struct mgds_member *member);

struct mgds_xfer {
    struct mgds_buffer buffer; /* layout is never NULL; ptr is set if gpu. The
                                  op takes a reference to the layout */
    bool gpu;                  /* else the CPU may touch the memory */
    int peer;                  /* rank, MGDS_PROC_NULL, a receive also
                                  MGDS_ANY_SOURCE */
    int tag;                   /* a receive also MGDS_ANY_TAG */
    unsigned from_index;       /* stream index at the sender, to_index at the */
    unsigned to_index;         /* receiver; one of them is this process's own */
    bool sync;     /* a send is done when matched, at the earliest */
    bool buffered; /* a send is done without its receiver, however long it is:
                      its bytes get memory of ours. Not with sync */
    bool enqueued; /* in the order of the stream of this process's index, which
                      is a GPU stream; else at once */
    bool stands;   /* its stream waits for it at once: mgds_op_run's */
    uint64_t name; /* the caller's; told when the op fails on a stream */
    void (*idle)(void); /* lets the MPI below make progress, without a lock,
                           where the call takes long; or NULL */
};

/*
 * Number the operation in the order of calls, and start it. Puts, if enqueued.
 * On success *out has one reference. -EPROTONOSUPPORT: MPIX_GDS_REQUIRE leaves
 * out what it would take, and nothing was put (mgds_require_reason). The user's
 * memory is used until the op is done; for host memory by any thread of ours.
 */
int mgds_op_send(struct mgds_op **out, struct mgds_comm *comm,
                 const struct mgds_xfer *xfer);
int mgds_op_recv(struct mgds_op **out, struct mgds_comm *comm,
                 const struct mgds_xfer *xfer);

/* The reason that keeps a message from a better transport, and what the user
 * can do about it, in words: constant texts. remedy "": nothing, in this
 * version. */
struct mgds_hindrance {
    const char *why, *remedy;
};

/* The transport of a message (MPIX_GDS_REQUIRE), and what keeps it from a
 * better one; both texts "": nothing does. */
struct mgds_way {
    const char *transport;
    struct mgds_hindrance hindrance;
};

/* Why the thread's last call gave -EPROTONOSUPPORT: what it would have taken.
 */
struct mgds_way mgds_require_reason(void);

/* What an operation takes, as its own end settled it in the call; the other
 * end may still take less. Any thread. */
struct mgds_way mgds_op_way(const struct mgds_op *op);

/* How an operation ended. */
struct mgds_op_status {
    int source, tag; /* of the message; MGDS_PROC_NULL, MGDS_ANY_TAG without a
                        partner. Of a send: MGDS_ANY_* */
    int index;       /* stream index at the sender */
    size_t bytes;    /* that the receiver's memory got */
    int error;       /* 0; -EMSGSIZE: truncated; -EBADMSG: it ends inside an
                        element; or another negative errno */
    bool cancelled;
};

/* Where the status of an operation goes that a stream waits for. */
struct mgds_op_sink {
    /* Called once, by the progress thread or a host call, before the stream
     * passes the wait: no MPI, no CUDA, short. NULL: nobody wants it. */
    void (*store)(void *arg, const struct mgds_op_status *status);
    void *arg;
    /* Called once, by whoever sees it first, when the stream has passed the
     * wait: the operation is over for the program, and its buffer may be used
     * again. Never if the stream does not come there. As store: short, no MPI,
     * no CUDA. NULL: nobody wants to know. */
    void (*over)(void *arg);
};

/*
 * Lets the stream wait for all of them, in whatever order they get done. The
 * ops may be of any stream or communicator, or not enqueued at all. On success
 * the caller's references are the stream's; on error nothing was put and they
 * are still the caller's. An op is given to one wait at most. Puts.
 */
int mgds_op_wait_enqueue(struct mgds_gstream *stream, unsigned count,
                         struct mgds_op *const ops[],
                         const struct mgds_op_sink sinks[]);

/* Both at once: an enqueued operation, and its stream's wait for it. Puts. */
int mgds_op_run(struct mgds_comm *comm, const struct mgds_xfer *xfer, bool send,
                const struct mgds_op_sink *sink);

/*
 * Groups: what the calling thread enqueues on the stream from start to end, of
 * operations and waits, is put there at the outermost end, in as few launches
 * as can be. strict: the program's; else the library's own, which is put sooner
 * where a call waits for what that gives back. -ENOMEM, or the error of a
 * stream that is ruined. End puts: -ENOENT: there is none of that kind;
 * else 0, or why not all could be put, which the operations' ends, streams and
 * communicators say as well.
 */
int mgds_group_start(struct mgds_gstream *stream, bool strict);
int mgds_group_end(struct mgds_gstream *stream, bool strict);

/* Whether the calling thread has the program's group open there. */
bool mgds_group_is_open(const struct mgds_gstream *stream);

/* The call puts what the thread's groups have collected, but not on streams
 * that are captured, and the groups go on collecting. A thread without groups
 * pays one load. Probes and drains begin with this call. Puts. */
void mgds_groups_flush(void);

/* The stream's handle goes: what the thread's group on it has is put, and the
 * group ended. Puts. */
void mgds_group_leave(struct mgds_gstream *stream);

/* The end of the last epoch, before a drain: groups that are open, in whatever
 * thread, are named, put, and ended. Puts. */
void mgds_groups_fini(void);

/* Makes progress, then: 1 done, its data where it belongs; 0 not yet; or
 * negative errno when there is no telling any more. Puts nothing on the
 * program's streams; copies up run on the stage's. One thread at a time. */
int mgds_op_test(struct mgds_op *op);

/* Only of an op that is done. Its error counts as told. */
void mgds_op_status(const struct mgds_op *op, struct mgds_op_status *out);

/* 1: it ends as cancelled; 0: too late, it ends as ever. Sends: 0. */
int mgds_op_cancel(struct mgds_op *op);

/* Gives the reference back; the operation goes on if it is not done. An error
 * that nobody has seen is then the communicator's (take_error). NULL is
 * allowed. */
void mgds_op_put(struct mgds_op *op);

/* What a probe looks for. */
struct mgds_probe {
    int peer, tag; /* wildcards allowed; MGDS_PROC_NULL: found at once */
    unsigned from_index, to_index;
    bool waits; /* the call goes on until there is something */
};

/* Makes progress, then: 1 and the status, 0 nothing there, negative errno. */
int mgds_comm_probe(struct mgds_comm *comm, const struct mgds_probe *probe,
                    struct mgds_op_status *status);

/* Likewise, and takes the send out of the lists: 1 and *out. */
int mgds_comm_mprobe(struct mgds_message **out, struct mgds_comm *comm,
                     const struct mgds_probe *probe,
                     struct mgds_op_status *status);

/* Receives it: as mgds_op_recv, of which buffer, gpu and name count. On
 * success the message is gone, else it is still the caller's. */
int mgds_op_mrecv(struct mgds_op **out, struct mgds_message *message,
                  const struct mgds_xfer *xfer);

/* One step of the wire and of what waits for it, by the calling thread. */
void mgds_op_progress(void);

/* Of an operation. */
struct mgds_failure {
    int error;      /* negative errno */
    uint64_t name;  /* the operation's */
    char text[512]; /* what it was, and what is wrong; "": nobody knows */
};

/* The operation is done, with an error. */
void mgds_op_failure(const struct mgds_op *op, struct mgds_failure *out);

/* An error that no host call was told of (the operation was waited for by a
 * stream, or its request was freed) is taken once: its errno, and *out, which
 * may be NULL; 0: there is none (and then the call costs a load). */
int mgds_comm_take_error(struct mgds_comm *comm, struct mgds_failure *out);

/* The communicator is about to be freed: errors that come later, or were not
 * taken, are the process's. The same rules. */
void mgds_comm_go_astray(struct mgds_comm *comm);
int mgds_comms_take_error(struct mgds_failure *out);

/* Is there any of either? Two loads. */
bool mgds_comm_owes(const struct mgds_comm *comm);

/* The first of them on this stream since the last call; 0: none. Does not take
 * it from the communicator. */
int mgds_gstream_take_error(struct mgds_gstream *stream,
                            struct mgds_failure *out);

/* Lets go of streams that the program has freed and that have passed all that
 * was put on them: the GPU is asked, for ten milliseconds at most. In a call
 * that makes or frees streams. */
void mgds_comms_let_go(void);

/* The program has freed a communicator. */
void mgds_comms_note_freed(void);
/* Rings that are not worth their memory are given up, for the safe point that
 * follows, if a communicator was freed, or its last message has let go of its
 * channels, since the last time. Any other call may
 * come while the program's own stream stands, for which the driver would wait:
 * what other processes give back, at any time, must not make it do so. */
void mgds_comms_trim(void);

/* Memory that was given up goes back now if nothing of ours is on any stream
 * (cuda/defer.h). In a call of the program's that may wait for the device. */
void mgds_comms_safe_point(void);

struct mgds_drain_rule {
    const char *call; /* of the program's that waits: constant text */
    double timeout;   /* seconds; 0: as long as it takes */
    bool patient; /* time counts only while nothing is left but receives that
                     no message has come for */
    void (*idle)(void); /* called between looks, may call MPI: no lock is held;
                           NULL: nothing */
};

/*
 * Waits until every operation enqueued on the stream so far, or of all
 * communicators if NULL, is done and its memory may be used again. 0;
 * -ETIMEDOUT: *left of them are not, and one line each names them (16 at most).
 * Watched (watch.h).
 */
int mgds_op_drain(struct mgds_gstream *stream,
                  const struct mgds_drain_rule *rule, unsigned *left);

/* The same of one communicator: what was called on it and is not complete, in
 * whatever stream waits for it, or in nobody's hands any more. */
int mgds_comm_drain(struct mgds_comm *comm, const struct mgds_drain_rule *rule,
                    unsigned *left);

/* The end of the last epoch, after a drain: what is still under way is given up
 * (communicators that requests of the program still hold, too), waits that
 * stand are released with an error, the wire is closed, and so is, at the next
 * safe point, what other processes' memory was mapped. */
void mgds_comms_fini(void);

/* Behind that, when no other process has ours mapped: gives memory back that
 * was. At the next safe point, too. */
void mgds_comms_gone(void);

#endif
