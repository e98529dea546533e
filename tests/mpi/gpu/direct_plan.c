/* Plans of the ranks of gpu/direct.c. */
#include "tests/mpi/gpu/direct_plan.h"

enum { HEADER = 160 };

static unsigned long long state;

void plan_seed(unsigned long long seed)
{
    state = seed * 7919 + 1;
}

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

static size_t draw_length(void)
{
    static const size_t lengths[] = {0,    4,    156,  HEADER, HEADER, 164,
                                     4096, 5000, 5000, 70000,  LONGEST};

    return lengths[draw(sizeof(lengths) / sizeof(*lengths))];
}

/* Host memory gets half of it. */
static enum mgds_test_kind draw_kind(void)
{
    return draw(2) ? MGDS_TEST_DEVICE
                   : (enum mgds_test_kind)draw(MGDS_TEST_KINDS);
}

static size_t draw_posted(size_t sent)
{
    switch (draw(4)) {
    case 0:
        return sent + 400;
    case 1:
        return sent / 8 * 4;
    default:
        return sent;
    }
}

bool plan_has_request(enum send_form form)
{
    return form >= ISEND;
}

bool plan_is_immediate(enum recv_form form)
{
    return form == IRECV || form == RECV_INIT || form == PRECV;
}

static bool is_joined(const struct plan *plan)
{
    return plan->probe == NO_PROBE &&
           ((plan->send == SENDRECV_TO && plan->recv == SENDRECV_FROM) ||
            (plan->send == ISENDRECV_TO && plan->recv == ISENDRECV_FROM));
}

bool plan_is_joined(const struct batch *batch)
{
    bool joined = batch->from == batch->to || batch->both_ways;

    for (int i = 0; i < batch->count; i++)
        joined &= is_joined(&batch->plan[i]);
    return joined;
}

/* Both ends of a partitioned message are: those are for rows. */
static void draw_forms(struct plan *plan, bool posted_first)
{
    plan->send = (enum send_form)draw(PSEND);
    do
        plan->recv = (enum recv_form)draw(RECV_FORMS);
    while (plan->recv == PRECV);
    plan->probe = (enum probe_form)draw(MPROBE);
    if (posted_first && !plan_is_immediate(plan->recv))
        plan->recv = IRECV;
    if (!posted_first && (plan->send == RSEND || plan->send == IRSEND ||
                          plan->send == RSEND_INIT))
        plan->send = SEND;
    if (posted_first)
        plan->probe = NO_PROBE;
    if (plan->recv == MRECV || plan->recv == IMRECV)
        plan->probe = draw(2) ? MPROBE : IMPROBE;
}

static void draw_plan(struct plan *plan, const struct batch *batch)
{
    draw_forms(plan, batch->posted_first);
    plan->sent_by = (enum end_form)draw(END_FORMS);
    plan->received_by = (enum end_form)draw(END_FORMS);
    plan->out_kind = draw_kind();
    plan->in_kind = draw_kind();
    plan->out_device = (int)draw(2);
    plan->in_device = (int)draw(2);
    plan->out_shape = draw(3) ? BYTES : (enum shape)draw(SHAPES);
    plan->in_shape = draw(3) ? BYTES : (enum shape)draw(SHAPES);
    plan->sent = draw_length();
    plan->posted = draw_posted(plan->sent);
    plan->tag = batch->tag + (int)draw(2);
    plan->seed = (int)draw(250);
    plan->any_source = !draw(3);
    plan->any_tag = !plan->any_source && !draw(4);
}

void plan_draw(struct batch *batch, int lap)
{
    *batch = (struct batch){.tag = 2 * lap, .laps = 1};
    batch->from = (int)draw((unsigned)gpu_size);
    batch->to = (int)draw((unsigned)gpu_size);
    batch->count = 1 + (int)draw(MOST);
    batch->posted_first = !draw(3);
    batch->backwards = draw(2);
    batch->comm = (enum comm_form)draw(COMMS);
    for (int i = 0; i < batch->count; i++)
        draw_plan(&batch->plan[i], batch);
}

/* Rows. */

enum row_gpus { SAME_GPU, OTHER_GPU };
enum row_room { EXACT, MORE, HALF, NOTHING };
enum row_source { NAMED, ANY_SOURCE, ANY_TAG };
enum row_first { RECEIVE_FIRST, SEND_FIRST };
enum row_order { FORWARDS, BACKWARDS };
enum row_way { ONE_WAY, BOTH_WAYS, ITSELF };

static const struct row {
    int strength;
    enum send_form send;
    enum recv_form recv;
    enum probe_form probe;
    enum end_form sent_by, received_by;
    enum mgds_test_kind out_kind, in_kind;
    enum row_gpus gpus;
    enum shape out_shape, in_shape;
    int bytes;
    enum row_room room;
    enum row_source source;
    enum comm_form comm;
    enum row_first first;
    enum row_order order;
    int depth, laps;
    enum row_way way;
} rows[] = {
#include "direct_rows.inc"
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

int plan_rows(void)
{
    return ROWS;
}

int plan_strength(int row)
{
    return rows[row].strength;
}

static size_t posted_of(const struct row *row)
{
    const size_t bytes = (size_t)row->bytes;
    const size_t posted[] = {[EXACT] = bytes,
                             [MORE] = bytes + 400,
                             [HALF] = bytes / 8 * 4,
                             [NOTHING] = 0};

    return posted[row->room];
}

static struct plan plan_of(const struct row *row, int number, int i)
{
    int device = number / 5 % 2;

    return (struct plan){
        .send = row->send,
        .recv = row->recv,
        .probe = row->probe,
        .sent_by = row->sent_by,
        .received_by = row->received_by,
        .out_kind = row->out_kind,
        .in_kind = row->in_kind,
        .out_device = device,
        .in_device = row->gpus == SAME_GPU ? device : 1 - device,
        .out_shape = row->out_shape,
        .in_shape = row->in_shape,
        .sent = (size_t)row->bytes,
        .posted = posted_of(row),
        .tag = 2 * number + i % 2,
        .seed = (number + 50 * i) % 250,
        .any_source = row->source == ANY_SOURCE,
        .any_tag = row->source == ANY_TAG,
    };
}

/* Pairs take turns. */
static int peer_of(int from, int number)
{
    int others = gpu_size - 1;

    return others > 0 ? (from + 1 + number / gpu_size % others) % gpu_size
                      : from;
}

void plan_take(struct batch *batch, int number)
{
    const struct row *row = &rows[number];
    int from = number % gpu_size;

    *batch = (struct batch){
        .from = from,
        .to = row->way == ITSELF ? from : peer_of(from, number),
        .count = row->depth,
        .posted_first = row->first == RECEIVE_FIRST,
        .backwards = row->order == BACKWARDS,
        .both_ways = row->way == BOTH_WAYS,
        .comm = row->comm,
        .tag = 2 * number,
        .laps = row->laps,
    };
    for (int i = 0; i < batch->count; i++)
        batch->plan[i] = plan_of(row, number, i);
}
