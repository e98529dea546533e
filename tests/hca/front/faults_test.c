/* Each fault between two programs, and what they find: completions, states of
 * their QPs, asynchronous events. Two processes for each row, which set their
 * faults before they open a device. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hca/front/verbs_pair.h"

enum {
    BYTES = 3000, /* three packets */
    PLACES = PAIR_MEMORY / BYTES,
    WRITES = 100,
    FLAGS = 1000,
    TIMEOUT = 8,   /* 1 ms */
    PATIENCE = 18, /* 1 s */
    RNR_FOREVER = 7,
    NONE = -1,
    EVENTS = 2
};

struct row {
    const char *name;
    const char *here; /* faults of the requester, and of its peer */
    const char *there;
    const char *count; /* what shows that it happened: a file of sysfs */
    bool sends;        /* or WRITEs */
    uint8_t rnr_retry;
    bool kill;   /* the peer is */
    bool leaves; /* it had a child, which is not */

    /* The first completion that is none of success; NONE: there is none. */
    int status;
    enum ibv_qp_state state;
    enum ibv_qp_state peer_state;
    int event[EVENTS];
    int peer_event;
};

#define FINE                                                                   \
    .status = IBV_WC_SUCCESS, .state = IBV_QPS_RTS, .peer_state = IBV_QPS_RTS, \
    .event = {NONE, NONE}, .peer_event = NONE, .rnr_retry = RNR_FOREVER
#define FAILS(wc)                                                              \
    .status = wc, .state = IBV_QPS_ERR, .peer_state = IBV_QPS_RTS,             \
    .event = {NONE, NONE}, .peer_event = NONE

static const struct row rows[] = {
    {"drop", "drop=20%", "", "hw_counters/packet_seq_err", FINE},
    {"delay", "delay=20%,late=2ms", "", "hw_counters/packet_seq_err", FINE},
    {"reorder", "reorder=20%", "", "hw_counters/packet_seq_err", FINE},
    {"drop of answers", "", "drop=20%", "hw_counters/local_ack_timeout_err",
     FINE},
    {"duplicate", "duplicate=20%", "duplicate=20%", NULL, FINE},
    {"out of order", "", "place=500us", NULL, FINE},
    {"storm of RNR", "", "rnr=60%", "hw_counters/rnr_nak_retry_err",
     .sends = true, FINE},
    {"RNR without an end", "", "rnr=100%", "hw_counters/rnr_nak_retry_err",
     .sends = true, .rnr_retry = 1, FAILS(IBV_WC_RNR_RETRY_EXC_ERR)},
    {"no link here", "link=0", "", "hw_counters/local_ack_timeout_err",
     FAILS(IBV_WC_RETRY_EXC_ERR)},
    {"no link there", "", "link=0", "hw_counters/local_ack_timeout_err",
     FAILS(IBV_WC_RETRY_EXC_ERR)},
    {"device of the peer dies", "", "die=1",
     "hw_counters/local_ack_timeout_err", FAILS(IBV_WC_RETRY_EXC_ERR)},
    {"process of the peer dies", "", "", .kill = true,
     FAILS(IBV_WC_RETRY_EXC_ERR)},
    {"process of the peer dies, its child does not", "", "", .kill = true,
     .leaves = true, FAILS(IBV_WC_RETRY_EXC_ERR)},
    {"wrong key", "key=100%", "", .status = IBV_WC_REM_ACCESS_ERR,
     .state = IBV_QPS_ERR, .peer_state = IBV_QPS_ERR, .event = {NONE, NONE},
     .peer_event = IBV_EVENT_QP_ACCESS_ERR},
    {"overrun of the CQ", "overrun=1", "", .status = NONE, .state = IBV_QPS_ERR,
     .peer_state = IBV_QPS_RTS, .event = {IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL},
     .peer_event = NONE},
};

/* The words by which a process tells the other one of its QP. */
struct card {
    uint16_t lid;
    union ibv_gid gid;
    uint32_t qpn;
    uint32_t rkey;
    uint64_t address;
};

/* A question to the peer, and its answer. */
enum { SAY_STATE = 1, COUNT_TORN };
struct answer {
    enum ibv_qp_state state;
    int event;
    unsigned long duplicates;
    unsigned torn;
};

/* One process's side. */
struct program {
    struct ibv_context *context;
    struct verbs_side side;
    struct card other;
    int line; /* to the other process */
};

static void say(int line, const void *what, size_t bytes)
{
    assert_int_equal(write(line, what, bytes), bytes);
}

static bool hear(int line, void *what, size_t bytes)
{
    return recv(line, what, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

static struct card card_of(const struct program *program)
{
    const struct verbs_side *side = &program->side;
    struct card card = {.qpn = side->qp->qp_num,
                        .rkey = side->mr->rkey,
                        .address = (uintptr_t)side->memory};
    struct ibv_port_attr port;

    assert_int_equal(ibv_query_port(program->context, 1, &port), 0);
    assert_int_equal(ibv_query_gid(program->context, 1, 0, &card.gid), 0);
    card.lid = port.lid;
    return card;
}

static void connect_to(const struct program *program, uint8_t rnr_retry,
                       uint8_t timeout)
{
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = program->other.qpn,
        .rq_psn = PAIR_PSN,
        .max_dest_rd_atomic = 4,
        .min_rnr_timer = 1,
        .ah_attr = {.port_num = 1,
                    .is_global = 1,
                    .dlid = program->other.lid,
                    .grh = {.hop_limit = 1, .dgid = program->other.gid}}};
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
                              .sq_psn = PAIR_PSN,
                              .timeout = timeout,
                              .retry_cnt = 7,
                              .rnr_retry = rnr_retry,
                              .max_rd_atomic = 4};

    assert_int_equal(verbs_init(program->side.qp), 0);
    assert_int_equal(ibv_modify_qp(program->side.qp, &rtr, verbs_rtr_mask), 0);
    assert_int_equal(ibv_modify_qp(program->side.qp, &rts,
                                   IBV_QP_STATE | IBV_QP_SQ_PSN |
                                       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                       IBV_QP_RNR_RETRY |
                                       IBV_QP_MAX_QP_RD_ATOMIC),
                     0);
}

static void open_program(struct program *program, const char *faults, int line)
{
    struct card card;

    assert_int_equal(setenv("MPIX_SIM_HCA_FAULTS", faults, 1), 0);
    program->line = line;
    program->context = verbs_open();
    verbs_side_open(program->context, &program->side);
    memset(program->side.memory, 0, PAIR_MEMORY);
    card = card_of(program);
    say(line, &card, sizeof(card));
    assert_true(hear(line, &program->other, sizeof(program->other)));
}

static void post_receives(const struct verbs_side *side)
{
    for (unsigned i = 0; i < PAIR_WRS; i++)
        verbs_receive(side, verbs_sge(side, i % PLACES * (size_t)BYTES, BYTES));
}

/* What sysfs says of this process's port. */
static void read_port(const char *name, char text[32])
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "/sys/class/infiniband/mlx5_0/ports/1/%s",
             name);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, 32, file));
    fclose(file);
}

/* A counter of this process's port. */
static unsigned long read_count(const char *name)
{
    char text[32];

    read_port(name, text);
    return strtoul(text, NULL, 10);
}

/* The next event if one is there, or once it is; else NONE. */
static int next_event(struct ibv_context *context, bool comes)
{
    struct pollfd async = {.fd = context->async_fd, .events = POLLIN};
    struct ibv_async_event event;

    if (poll(&async, 1, comes ? -1 : 0) == 0)
        return NONE;
    assert_int_equal(ibv_get_async_event(context, &event), 0);
    ibv_ack_async_event(&event);
    return (int)event.event_type;
}

/* The word behind the data is there, and some of the data is not; a flag each
 * time it is the requester's turn. */
static unsigned count_torn(const struct verbs_side *side)
{
    const uint8_t *memory = side->memory;
    const uint32_t *flag = (const uint32_t *)(side->memory + BYTES + 8);
    unsigned torn = 0;

    for (uint32_t turn = 1; turn <= FLAGS; turn++) {
        while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < turn)
            ;
        for (unsigned i = 0; i < BYTES; i++) {
            if (__atomic_load_n(&memory[i], __ATOMIC_RELAXED) !=
                (uint8_t)turn) {
                torn++;
                break;
            }
        }
    }
    return torn;
}

/* A child that knows nothing of the device: it says that it is there when it is
 * asked, and ends with the other side. */
static void leave_child(int line)
{
    pid_t child = fork();
    uint8_t word;

    assert_true(child >= 0);
    if (child > 0)
        return;
    while (hear(line, &word, 1))
        say(line, &word, 1);
    _exit(0);
}

static void expect_child(int line)
{
    uint8_t word = 42;

    say(line, &word, 1);
    word = 0;
    assert_true(hear(line, &word, 1));
    assert_int_equal(word, 42);
}

/* The side that is written to, until the other one goes. */
static void be_peer(const struct row *row, int line)
{
    struct answer answer = {.torn = 0};
    struct program program;
    uint8_t ask = SAY_STATE;

    open_program(&program, row->there, line);
    connect_to(&program, RNR_FOREVER, TIMEOUT);
    post_receives(&program.side);
    if (row->leaves)
        leave_child(line);
    say(line, &ask, 1);
    while (hear(line, &ask, 1)) {
        if (ask == COUNT_TORN)
            answer.torn = count_torn(&program.side);
        answer.state = verbs_state(program.side.qp);
        answer.duplicates = read_count("hw_counters/duplicate_request");
        answer.event = next_event(program.context, row->peer_event != NONE);
        say(line, &answer, sizeof(answer));
    }
    exit(0);
}

static pid_t fork_peer(const struct row *row, int *line)
{
    int lines[2];
    pid_t child;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, lines), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(lines[0]);
        be_peer(row, lines[1]);
    }
    close(lines[1]);
    *line = lines[0];
    return child;
}

static void post(const struct program *program, enum ibv_wr_opcode opcode,
                 size_t offset, uint32_t bytes)
{
    struct ibv_sge sge = verbs_sge(&program->side, offset, bytes);
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = opcode,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = {.remote_addr = program->other.address + offset,
                    .rkey = program->other.rkey},
    };
    struct ibv_send_wr *bad;

    assert_int_equal(ibv_post_send(program->side.qp, &wr, &bad), 0);
}

/* One after the other: how the first one that failed did. */
static int run_messages(const struct row *row, const struct program *program)
{
    unsigned count = row->sends ? PAIR_WRS : WRITES;
    struct ibv_wc wc = {.status = IBV_WC_SUCCESS};

    for (unsigned i = 0; i < count && wc.status == IBV_WC_SUCCESS; i++) {
        post(program, row->sends ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
             i % PLACES * (size_t)BYTES, BYTES);
        if (row->status == NONE)
            return NONE;
        wc = verbs_wait(program->side.cq);
    }
    return (int)wc.status;
}

/* All that was written comes back as it was. */
static void read_back(const struct program *program)
{
    uint8_t *memory = program->side.memory;

    memset(memory, 0, PAIR_MEMORY);
    for (size_t at = 0; at < PLACES; at++) {
        post(program, IBV_WR_RDMA_READ, at * BYTES, BYTES);
        assert_int_equal(verbs_wait(program->side.cq).status, IBV_WC_SUCCESS);
    }
    for (unsigned i = 0; i < PLACES * BYTES; i++)
        assert_int_equal(memory[i], (uint8_t)(i * 7 + 1));
}

static struct answer ask(const struct program *program, uint8_t what)
{
    struct answer answer;

    say(program->line, &what, 1);
    assert_true(hear(program->line, &answer, sizeof(answer)));
    return answer;
}

static void run_row(const struct row *row)
{
    struct program program;
    struct answer answer;
    uint8_t ready;
    int line, status;
    pid_t peer = fork_peer(row, &line);

    open_program(&program, row->here, line);
    connect_to(&program, row->rnr_retry, TIMEOUT);
    assert_true(hear(line, &ready, 1));
    for (unsigned i = 0; i < PAIR_MEMORY; i++)
        program.side.memory[i] = (uint8_t)(i * 7 + 1);
    if (row->kill) {
        assert_int_equal(kill(peer, SIGKILL), 0);
        assert_int_equal(waitpid(peer, &status, 0), peer);
    }
    assert_int_equal(run_messages(row, &program), row->status);
    if (row->count)
        assert_true(read_count(row->count) > 0);
    if (row->status == IBV_WC_SUCCESS)
        read_back(&program);
    for (unsigned i = 0; i < EVENTS; i++)
        assert_int_equal(next_event(program.context, row->event[i] != NONE),
                         row->event[i]);
    assert_int_equal(verbs_state(program.side.qp), row->state);
    if (row->leaves)
        expect_child(program.line);
    if (row->kill)
        return;
    answer = ask(&program, SAY_STATE);
    assert_int_equal(answer.state, row->peer_state);
    assert_int_equal(answer.event, row->peer_event);
    if (strstr(row->here, "duplicate"))
        assert_true(answer.duplicates > 0);
}

/* Placed late and in any order, a flag behind data is there before it; and the
 * completion is not. */
static void a_flag_behind_data_is_caught(const struct row *row)
{
    struct program program;
    struct answer answer;
    uint8_t what = COUNT_TORN;
    uint32_t turn;
    int line;

    fork_peer(row, &line);
    open_program(&program, "", line);
    connect_to(&program, RNR_FOREVER, TIMEOUT);
    assert_true(hear(line, &what, 1));
    what = COUNT_TORN;
    say(line, &what, 1);
    for (turn = 1; turn <= FLAGS; turn++) {
        memset(program.side.memory, (int)turn, BYTES);
        memcpy(program.side.memory + BYTES + 8, &turn, sizeof(turn));
        post(&program, IBV_WR_RDMA_WRITE, 0, BYTES);
        post(&program, IBV_WR_RDMA_WRITE, BYTES + 8, sizeof(turn));
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(verbs_wait(program.side.cq).status,
                             IBV_WC_SUCCESS);
    }
    assert_true(hear(line, &answer, sizeof(answer)));
    assert_true(answer.torn > 0);
}

/* Of all QPs, though they have not asked for it and nothing is wrong. */
static void a_device_places_in_any_order(const struct row *row)
{
    assert_int_equal(setenv("MPIX_SIM_HCA_OUT_OF_ORDER", "yes", 1), 0);
    a_flag_behind_data_is_caught(row);
}

/* Without faults and without haste nothing is sent twice. */
static void packets_are_counted(const struct row *row)
{
    enum { WORDS = BYTES / 4, PACKETS = 3 };
    struct program program;
    uint8_t ready;
    int line;

    fork_peer(row, &line);
    open_program(&program, "", line);
    connect_to(&program, RNR_FOREVER, PATIENCE);
    assert_true(hear(line, &ready, 1));
    post(&program, IBV_WR_RDMA_WRITE, 0, BYTES);
    assert_int_equal(verbs_wait(program.side.cq).status, IBV_WC_SUCCESS);
    assert_int_equal(read_count("counters/port_xmit_packets"), PACKETS);
    assert_int_equal(read_count("counters/port_xmit_data"), WORDS);
    assert_true(read_count("counters/port_rcv_packets") > 0);
    assert_int_equal(read_count("counters/port_rcv_data"), 0);
    post(&program, IBV_WR_RDMA_READ, 0, BYTES - 1);
    assert_int_equal(verbs_wait(program.side.cq).status, IBV_WC_SUCCESS);
    assert_int_equal(read_count("counters/port_xmit_packets"), PACKETS + 1);
    assert_int_equal(read_count("counters/port_xmit_data"), WORDS);
    assert_int_equal(read_count("counters/port_rcv_data"), WORDS);
}

static void set_control(const char *path, const char *text)
{
    char other[128];
    FILE *file;

    snprintf(other, sizeof(other), "%s.new", path);
    file = fopen(other, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(other, path), 0);
}

/* Verbs and sysfs say the same. */
static void expect_port(struct ibv_context *context, bool up)
{
    struct ibv_port_attr port;
    char text[32];

    assert_int_equal(ibv_query_port(context, 1, &port), 0);
    assert_int_equal(port.state, up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN);
    assert_int_equal(port.phys_state, up ? 5 : 2);
    read_port("state", text);
    assert_string_equal(text, up ? "4: ACTIVE\n" : "1: DOWN\n");
    read_port("phys_state", text);
    assert_string_equal(text, up ? "5: LinkUp\n" : "2: Polling\n");
}

/* A file cuts the link: the port tells of it, and a WRITE arrives at last. */
static void a_link_goes_and_comes(const struct row *row)
{
    char path[64];
    struct program program;
    uint8_t ready;
    int line;

    fork_peer(row, &line);
    snprintf(path, sizeof(path), "/tmp/mpix-gds-hca-faults.%d", getpid());
    assert_int_equal(setenv("MPIX_SIM_HCA_CONTROL", path, 1), 0);
    open_program(&program, "", line);
    connect_to(&program, RNR_FOREVER, PATIENCE);
    assert_true(hear(line, &ready, 1));
    set_control(path, "link=0\n");
    assert_int_equal(next_event(program.context, true), IBV_EVENT_PORT_ERR);
    expect_port(program.context, false);
    program.side.memory[0] = 42;
    post(&program, IBV_WR_RDMA_WRITE, 0, BYTES);
    set_control(path, "link=1\n");
    assert_int_equal(next_event(program.context, true), IBV_EVENT_PORT_ACTIVE);
    expect_port(program.context, true);
    assert_int_equal(verbs_wait(program.side.cq).status, IBV_WC_SUCCESS);
    assert_int_equal(ask(&program, SAY_STATE).state, IBV_QPS_RTS);
    assert_int_equal(unlink(path), 0);
}

/* A device that is opened again has the faults that the file names still, and
 * its port says so before. */
static void a_port_is_down_before_it_is_opened(const struct row *row)
{
    char path[64], text[32];
    struct ibv_context *context;

    (void)row;
    snprintf(path, sizeof(path), "/tmp/mpix-gds-hca-faults.%d", getpid());
    assert_int_equal(setenv("MPIX_SIM_HCA_CONTROL", path, 1), 0);
    set_control(path, "link=0\n");
    for (int i = 0; i < 2; i++) {
        read_port("state", text);
        assert_string_equal(text, "1: DOWN\n");
        context = verbs_open();
        expect_port(context, false);
        assert_int_equal(ibv_close_device(context), 0);
    }
    assert_int_equal(unlink(path), 0);
    read_port("state", text);
    assert_string_equal(text, "4: ACTIVE\n");
}

/* Each row runs in a process of its own, which has no device yet. */
static bool run_alone(const struct row *row, void (*run)(const struct row *row))
{
    pid_t child = fork();
    int status = 1;

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(row);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    printf("%s: %s\n", status == 0 ? "ok" : "FAILED", row->name);
    fflush(stdout);
    return status == 0;
}

int main(void)
{
    static const struct row torn = {"a flag behind data", "", "place=500us",
                                    NULL, FINE};
    static const struct row device = {"the same, by a setting of the device",
                                      "", "", NULL, FINE};
    static const struct row link = {"a link that goes and comes", "", "", NULL,
                                    FINE};
    static const struct row counts = {"packets that are counted", "", "", NULL,
                                      FINE};
    static const struct row down = {"a port that is down", "", "", NULL, FINE};
    bool fine = run_alone(&torn, a_flag_behind_data_is_caught);

    fine &= run_alone(&device, a_device_places_in_any_order);
    fine &= run_alone(&counts, packets_are_counted);
    fine &= run_alone(&down, a_port_is_down_before_it_is_opened);
    fine &= run_alone(&link, a_link_goes_and_comes);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        fine &= run_alone(&rows[i], run_row);
    return !fine;
}
