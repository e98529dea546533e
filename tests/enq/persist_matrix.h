/* The matrix of persistent requests: its rows, as persist_rows.py makes them,
 * and a run of one. */
#ifndef MGDS_TESTS_ENQ_PERSIST_MATRIX_H
#define MGDS_TESTS_ENQ_PERSIST_MATRIX_H

#include "tests/enq/matrix.h"

enum row_kind { SEND, SSEND, RSEND, BSEND, KINDS };
enum row_first { RECEIVE_FIRST, SEND_FIRST };
enum row_start { BY_HOST, BY_STREAM };
enum row_together { EACH, TOGETHER }; /* Startall, if both start alike */
enum row_complete {
    WAIT,
    TEST,
    WAITALL,
    TESTALL,
    WAITANY,
    TESTANY,
    WAITSOME,
    TESTSOME,
    GET_STATUS, /* until it says yes, then Wait */
    STREAM,
    STREAM_ALL,
    SENT_BY_STREAM, /* and MPI_Wait for the receive */
    RECEIVED_BY_STREAM
};
enum row_end {
    INACTIVE,
    FREE_ACTIVE, /* the last generation is freed when it was started */
    CANCEL,      /* a receive beside them is cancelled each lap */
    TWICE        /* what is active is started once more */
};
enum row_memory { DEVICE, PINNED, FROM_PINNED };
enum row_gate { OPEN, HELD }; /* the stream stands before it all */

struct row {
    int strength;
    enum row_kind kind;
    enum row_first first;
    enum row_start sent, received;
    enum row_together together;
    enum row_complete complete;
    int laps;
    enum row_end end;
    int bytes;
    enum row_memory memory;
    enum row_gate gate;
};

enum { NOTES = 256 };

/* What came of the calls, in an order that is the same in both runs. */
struct notes {
    int count;
    int value[NOTES];
    int line[NOTES];
};

struct run {
    const struct row *row;
    const struct enq_lane *lane; /* NULL: the ordinary communicator */
    MPI_Comm comm;
    int next, previous;
    struct enq_gate gate;
    struct enq_buffer b[BOTH], source[LAPS], kept[LAPS];
    MPI_Request request[BOTH], handle[BOTH];
    MPI_Status status[LAPS][BOTH];
    int code[LAPS][BOTH];
    bool streamed[BOTH]; /* the last completion was left to the stream */
    bool keeps[LAPS];
    int done; /* laps that were completed */
    struct notes notes;
};

/* Notes what came of a call. */
void persist_note(struct run *run, int value, int line);
#define NOTE(run, value) persist_note(run, value, __LINE__)
void persist_note_status(struct run *run, MPI_Status *status);

/* Whether that side is started, or completed, by the stream. */
bool persist_by_stream(const struct run *run, int side);
bool persist_left_to_stream(const struct run *run, int side);
/* From here on the host waits for what the stream does. */
void persist_let_stream_go(struct run *run);

/* Completes both sides as the row has it: persist_complete.c. */
void persist_complete(struct run *run, int lap);

#endif
