/* Two software HCAs in one process, and a program that posts byte by byte. */
#include "tests/hca/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ADDRESS_A = 0x10000000, ADDRESS_B = 0x20000000, ALL_ACCESS = 0xf };
enum { HOST = 77, LINES = 1 << 18 /* the most that a place asks for */ };

static void *map_shared(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(at != MAP_FAILED);
    return at;
}

static void *line_alloc(const struct place *place, size_t bytes)
{
    void *at;

    if (place->options.apart)
        return map_shared(LINES);
    at = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    assert_non_null(at);
    memset(at, 0, bytes);
    return at;
}

static void line_free(const struct place *place, void *at)
{
    if (place->options.apart)
        munmap(at, LINES);
    else
        free(at);
}

struct place *place_map(void)
{
    return map_shared(sizeof(struct place));
}

void place_unmap(struct place *place)
{
    munmap(place, sizeof(*place));
}

static void on_event(void *ctx, enum mgds_hca_event event, uint32_t number)
{
    struct place *place = ctx;

    assert_true(place->events < PLACE_EVENTS);
    place->event_number[place->events] = number;
    place->event[place->events++] = event;
}

static void on_completion(void *ctx, uint32_t cqn)
{
    struct place *place = ctx;

    assert_true(cqn > 0);
    place->completions++;
}

static void on_misuse(void *ctx, enum mgds_hca_misuse what, uint32_t qpn)
{
    struct place *place = ctx;

    assert_true(qpn > 0);
    place->misuse = what;
    place->misuses++;
}

static uint64_t on_clock(void *ctx)
{
    const struct place *place = ctx;
    struct timespec now;

    if (!place->options.apart)
        return place->clock;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void open_queue(struct queue *queue, struct end *end,
                       const struct options *options)
{
    size_t bytes = (size_t)options->entries * options->entry_bytes;
    struct mgds_hca_cq_attr attr = {
        .entries = options->entries,
        .entry_bytes = options->entry_bytes,
        .record = queue->record,
        .uar = end->uar,
        .collapsed = options->collapsed,
        .ignore_overrun = options->ignore_overrun,
    };

    queue->options = *options;
    queue->buffer = line_alloc(end->place, bytes);
    attr.buffer = queue->buffer;
    for (size_t at = options->entry_bytes; at <= bytes;
         at += options->entry_bytes)
        queue->buffer[at - 1] = 0xf0;
    assert_int_equal(mgds_hca_cq_attach(end->hca, &attr, &queue->cq), 0);
}

static void open_qp(struct end *end, const struct options *options,
                    struct mgds_hca_srq *srq)
{
    struct mgds_hca_qp_attr attr = {
        .send_buffer = end->send,
        .send_blocks = options->blocks,
        .receive_buffer = end->receive,
        .receives =
            srq || options->service == MGDS_SERVICE_DCI ? 0 : PLACE_RECEIVES,
        .srq = srq,
        .receive_stride = options->stride,
        .record = end->record,
        .send_cq = end->sends.cq,
        .receive_cq = end->receives.cq,
        .uar = end->uar,
        .uar_register = 0,
        .pd = PLACE_PD,
        .user_index = PLACE_UIDX,
        .service = options->service,
        .out_of_order = options->out_of_order,
    };

    assert_int_equal(mgds_hca_qp_attach(end->hca, &attr, &end->qp), 0);
}

/* Slots in their order, twice as long as the ring's. */
static void open_srq(struct end *end, const struct options *options)
{
    uint32_t stride = 2 * options->stride;
    struct mgds_hca_srq_attr attr = {
        .buffer = end->receive,
        .slots = PLACE_RECEIVES,
        .stride = stride,
        .record = end->record,
        .pd = PLACE_PD,
    };

    for (uint32_t i = 0; i < PLACE_RECEIVES; i++)
        end->receive[i * stride + 3] = (uint8_t)((i + 1) % PLACE_RECEIVES);
    assert_int_equal(mgds_hca_srq_attach(end->hca, &attr, &end->srq), 0);
}

struct mgds_hca_qp *place_dct(struct end *end, uint64_t key)
{
    struct mgds_hca_qp_attr attr = {
        .srq = end->srq,
        .send_cq = end->receives.cq,
        .receive_cq = end->receives.cq,
        .pd = PLACE_PD,
        .user_index = PLACE_UIDX,
        .service = MGDS_SERVICE_DCT,
        .dc_key = key,
    };
    struct mgds_hca_change change = place_change(end, 0);
    struct mgds_hca_qp *dct;

    assert_int_equal(mgds_hca_qp_attach(end->hca, &attr, &dct), 0);
    change.state = MGDS_STATE_INIT;
    assert_int_equal(mgds_hca_qp_modify(dct, &change), 0);
    change.state = MGDS_STATE_RTR;
    assert_int_equal(mgds_hca_qp_modify(dct, &change), 0);
    return dct;
}

uint16_t place_taken(const struct end *end)
{
    return end->srq ? end->srq->taken : end->qp->receive.head;
}

/* The QPN stays. */
void place_use_srq(struct end *end, struct mgds_hca_srq *srq)
{
    mgds_hca_qp_detach(end->qp);
    end->hca->qps.last = 0;
    open_qp(end, &end->place->options, srq);
    assert_int_equal(end->qp->number, end->number);
}

void place_disturb(struct end *end, const char *text)
{
    const char *wrong;

    assert_int_equal(mgds_hca_port_disturb(end->port, text, &wrong), 0);
}

struct mgds_hca_gid place_gid(const struct end *end)
{
    uint16_t lid = mgds_hca_port_lid(end->port);

    return (struct mgds_hca_gid){{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff,
                                  0xfe, 0, (uint8_t)(lid >> 8), (uint8_t)lid}};
}

static void open_port(struct end *end, const struct options *options)
{
    char folder[64];
    struct mgds_hca_port_attr attr = {.folder = folder,
                                      .host = HOST + (uint64_t)options->host,
                                      .speed = options->speed};
    struct mgds_hca_gid gid;

    if (options->hosts && end == &end->place->b)
        attr.host++;
    snprintf(folder, sizeof(folder), "/dev/shm/mpix-gds-place.%d", getpid());
    if (options->folder)
        attr.folder = options->folder;
    assert_int_equal(mgds_hca_port_create(&end->port, &attr), 0);
    gid = place_gid(end);
    assert_int_equal(mgds_hca_port_add_gid(end->port, &gid), 0);
}

static void open_end(struct end *end, struct place *place, uint32_t first_qpn)
{
    const struct options *options = &place->options;
    struct mgds_hca_config config = {
        .first_qpn = first_qpn,
        .capabilities = MGDS_HCA_CAN_BASE | MGDS_HCA_CAN_ATOMIC |
                        MGDS_HCA_CAN_MASKED | MGDS_HCA_CAN_WINDOWS |
                        MGDS_HCA_CAN_DC,
        .late_record = PLACE_LATE,
        .ethernet = options->ethernet,
        .wire =
            options->wire ? *options->wire : mgds_hca_loop_wire(&place->loop),
        .calls = {.event = on_event,
                  .completion = on_completion,
                  .misuse = on_misuse,
                  .clock = on_clock,
                  .ctx = place},
    };

    end->place = place;
    if (options->packets) {
        open_port(end, options);
        config.wire = mgds_hca_port_wire(end->port);
    }
    assert_int_equal(mgds_hca_create(&end->hca, &config), 0);
    if (end->port)
        mgds_hca_port_bind(end->port, end->hca);
    if (options->faults)
        place_disturb(end, options->faults);
    assert_int_equal(mgds_hca_loop_add(&place->loop, end->hca), 0);
    end->page = line_alloc(place, MGDS_UAR_BYTES);
    assert_int_equal(mgds_hca_uar_attach(end->hca, end->page, &end->uar), 0);
    end->send = line_alloc(place, (size_t)options->blocks * 64);
    end->receive =
        line_alloc(place, (size_t)PLACE_RECEIVES * 2 * options->stride);
    open_queue(&end->sends, end, options);
    open_queue(&end->receives, end, options);
    if (options->shared)
        open_srq(end, options);
    open_qp(end, options,
            options->service == MGDS_SERVICE_DCI ? NULL : end->srq);
    end->memory = line_alloc(place, PLACE_MEMORY);
    end->key = place_key(end, 0, PLACE_MEMORY, PLACE_PD,
                         ALL_ACCESS | MGDS_HCA_WINDOW_BIND);
    end->number = end->qp->number;
}

static void close_queue(const struct place *place, struct queue *queue)
{
    assert_int_equal(mgds_hca_cq_detach(queue->cq), 0);
    line_free(place, queue->buffer);
}

static void close_end(struct end *end)
{
    mgds_hca_qp_detach(end->qp);
    if (end->dct)
        mgds_hca_qp_detach(end->dct);
    if (end->srq)
        assert_int_equal(mgds_hca_srq_detach(end->srq), 0);
    close_queue(end->place, &end->sends);
    close_queue(end->place, &end->receives);
    assert_int_equal(mgds_hca_uar_detach(end->uar), 0);
    mgds_hca_loop_drop(&end->place->loop, end->hca);
    mgds_hca_destroy(end->hca);
    if (end->port)
        mgds_hca_port_destroy(end->port);
    line_free(end->place, end->page);
    line_free(end->place, end->send);
    line_free(end->place, end->receive);
    line_free(end->place, end->memory);
}

static void set_defaults(struct options *options)
{
    options->blocks = options->blocks ? options->blocks : 16;
    options->entries = options->entries ? options->entries : 64;
    options->entry_bytes = options->entry_bytes ? options->entry_bytes : 64;
    options->stride = options->stride ? options->stride : 64;
    options->access = options->access ? options->access : ALL_ACCESS;
    options->reads = options->reads ? options->reads : 4;
    options->rnr_retry =
        options->rnr_retry ? options->rnr_retry : MGDS_HCA_RNR_FOREVER;
    options->timeout = options->timeout ? options->timeout : PLACE_TIMEOUT;
    options->psn = options->psn ? options->psn : 5;
    options->retries = options->retries ? options->retries : MGDS_HCA_RETRIES;
    options->shared |= options->service == MGDS_SERVICE_DCI;
}

struct mgds_hca_address place_of(const struct end *end)
{
    struct mgds_hca_address address = {.lid = mgds_hca_port_lid(end->port)};

    if (end->place->options.gids)
        address =
            (struct mgds_hca_address){.global = true, .gid = place_gid(end)};
    return address;
}

struct mgds_hca_change place_change(const struct end *end, uint32_t peer)
{
    const struct options *options = &end->place->options;
    struct mgds_hca_change change = {
        .access = options->access,
        .qkey = PLACE_QKEY,
        .peer = peer,
        .receive_psn = options->psn,
        .rnr_delay = PLACE_DELAY,
        .send_psn = options->psn,
        .mtu = options->mtu,
        .timeout = options->timeout,
        .retries = options->retries,
        .rnr_retry = options->rnr_retry,
        .reads = options->reads,
    };

    if (end->port)
        change.address =
            place_of(end == &end->place->a ? &end->place->b : &end->place->a);
    return change;
}

void place_connect_as(struct mgds_hca_qp *qp, struct mgds_hca_change change)
{
    static const enum mgds_hca_state states[] = {
        MGDS_STATE_INIT, MGDS_STATE_RTR, MGDS_STATE_RTS};

    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        change.state = states[i];
        assert_int_equal(mgds_hca_qp_modify(qp, &change), 0);
    }
}

void place_connect(struct end *end, struct mgds_hca_qp *qp, uint32_t peer)
{
    place_connect_as(qp, place_change(end, peer));
}

void place_revive(struct end *end, uint32_t peer)
{
    struct mgds_hca_change reset = {.state = MGDS_STATE_RESET};

    assert_int_equal(mgds_hca_qp_modify(end->qp, &reset), 0);
    end->pi = 0;
    set_record(end, 1, 0);
    if (!end->srq) {
        end->posts = 0;
        set_record(end, 0, 0);
    }
    place_connect(end, end->qp, peer);
}

void place_open(struct place *place, const struct options *options)
{
    *place = (struct place){.clock = 1};
    if (options)
        place->options = *options;
    set_defaults(&place->options);
    open_end(&place->a, place, PLACE_QPN_A - 1);
    open_end(&place->b, place, PLACE_QPN_B - 1);
    fill_memory(place);
    if (place->options.service == MGDS_SERVICE_DCI) {
        place->a.dct = place_dct(&place->a, PLACE_DC_KEY);
        place->b.dct = place_dct(&place->b, PLACE_DC_KEY);
    }
    if (place->options.unconnected)
        return;
    place_connect(&place->a, place->a.qp, PLACE_QPN_B);
    place_connect(&place->b, place->b.qp, PLACE_QPN_A);
}

void place_close(struct place *place)
{
    close_end(&place->a);
    close_end(&place->b);
}

/* To the next time at which a device has something to do. */
static bool move_clock(struct place *place)
{
    uint64_t a = mgds_hca_port_due(place->a.port);
    uint64_t b = mgds_hca_port_due(place->b.port);
    uint64_t due = a && (!b || a < b) ? a : b;

    if (due > place->clock)
        place->clock = due;
    return due > 0;
}

void place_serve(struct place *place, const bool *over)
{
    while (!__atomic_load_n(over, __ATOMIC_ACQUIRE)) {
        if (mgds_hca_run(place->b.hca) == 0)
            mgds_hca_port_rest(place->b.port, MGDS_HCA_REST);
    }
}

static void run_apart(struct end *end)
{
    const struct mgds_hca_qp *qp = end->qp;

    while (qp->send.first != qp->send.next || qp->send.head != qp->send.limit) {
        if (mgds_hca_run(end->hca) == 0)
            mgds_hca_port_rest(end->port, MGDS_HCA_REST);
    }
}

/* Mailboxes are not looked at in every round. */
static void look_for_mail(struct place *place)
{
    if (!place->options.hosts)
        return;
    mgds_hca_port_get_up(place->a.port);
    mgds_hca_port_get_up(place->b.port);
}

void place_run(struct place *place)
{
    if (place->options.apart) {
        mgds_hca_run(place->a.hca);
        run_apart(&place->a);
        return;
    }
    do {
        do
            look_for_mail(place);
        while (mgds_hca_run(place->a.hca) + mgds_hca_run(place->b.hca) > 0);
    } while (place->options.packets && move_clock(place));
}

uint64_t place_address(const struct end *end, size_t offset)
{
    return (end == &end->place->a ? ADDRESS_A : ADDRESS_B) + offset;
}

uint32_t place_key(struct end *end, size_t offset, uint64_t bytes, uint32_t pd,
                   uint8_t access)
{
    struct mgds_hca_memory memory = {
        .at = end->memory + offset,
        .address = place_address(end, offset),
        .bytes = bytes,
        .pd = pd,
        .access = access,
    };
    uint32_t key;

    assert_int_equal(mgds_hca_key_attach(end->hca, &memory, &key), 0);
    return key;
}

void fill_memory(struct place *place)
{
    for (size_t i = 0; i < PLACE_MEMORY; i++) {
        place->a.memory[i] = (uint8_t)(i * 7 + (i >> 8));
        place->b.memory[i] = (uint8_t) ~(i * 5 + (i >> 8));
    }
}
