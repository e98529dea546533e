/* Wrong memory windows, and wrong calls of DCIs. */
#include "tests/hca/provoke.h"

#include "sim/hca/window.h"
#include "tests/hca/place.h"

enum { HALF = PLACE_MEMORY / 2 };

static void send_it(struct place *place, struct wqe *wqe)
{
    run_one(&place->a, wqe);
}

void provoke_WQE_UMR(struct place *place)
{
    struct wqe wqe = wqe_bind(&place->a, &(struct binding){.type = 1});

    wqe.at[16] ^= 2;
    send_it(place, &wqe);
}

/* A new window of an end, of which it makes this: half of its memory. */
static struct binding new_binding(const struct end *end, unsigned type,
                                  uint32_t region)
{
    struct binding binding = {
        .type = type, .access = 2, .region = region, .bytes = HALF};

    assert_int_equal(
        mgds_hca_key_attach_window(end->hca, PLACE_PD, type, &binding.key), 0);
    return binding;
}

static void bind_it(struct place *place, const struct binding *binding)
{
    struct wqe wqe = wqe_bind(&place->a, binding);

    send_it(place, &wqe);
}

void provoke_WINDOW_KEY(struct place *place)
{
    bind_it(place, &(struct binding){.type = 1, .key = place->a.key});
}

void provoke_WINDOW_PD(struct place *place)
{
    struct binding binding = new_binding(
        &place->a, 1, place_key(&place->a, 0, HALF, PLACE_PD + 1, 17));

    bind_it(place, &binding);
}

void provoke_WINDOW_QP(struct place *place)
{
    struct binding binding = new_binding(&place->a, 2, 0);

    binding.bytes = 0;
    bind_it(place, &binding);
}

/* Bound by the QP of its end. */
static struct binding bound(struct end *end)
{
    struct binding binding =
        new_binding(end, 2, place_key(end, 0, HALF, PLACE_PD, 17));
    struct mgds_hca_bind bind = {
        .type = MGDS_WINDOW_2,
        .key = binding.key,
        .variant = (uint8_t)binding.key,
        .to = {.address = place_address(end, 0),
               .bytes = HALF,
               .region = binding.region,
               .inside = place_address(end, 0),
               .access = binding.access},
    };

    assert_int_equal(mgds_hca_window_bind(end->qp, &bind), 0);
    return binding;
}

void provoke_WINDOW_BOUND(struct place *place)
{
    struct binding binding = bound(&place->a);

    bind_it(place, &binding);
}

void provoke_WINDOW_REGION(struct place *place)
{
    struct binding binding = new_binding(&place->a, 1, 0x77700);

    bind_it(place, &binding);
}

void provoke_WINDOW_BOUNDS(struct place *place)
{
    struct binding binding = new_binding(
        &place->a, 1, place_key(&place->a, 0, HALF - 1, PLACE_PD, 17));

    bind_it(place, &binding);
}

void provoke_WINDOW_ACCESS(struct place *place)
{
    struct binding binding =
        new_binding(&place->a, 1, place_key(&place->a, 0, HALF, PLACE_PD, 1));

    bind_it(place, &binding);
}

void provoke_REMOTE_WINDOW(struct place *place)
{
    struct wqe wqe = wqe_ctrl(&place->a, 0x08, SIGNALLED);
    uint32_t *number, key = bound(&place->b).key;

    mgds_hca_key_window(place->b.hca, key, &number)->qpn++;
    wqe_raddr(&wqe, place_address(&place->b, 0), key);
    wqe_data(&wqe, 8, place->a.key, place_address(&place->a, 0));
    send_it(place, &wqe);
}

void provoke_INVALIDATE_KEY(struct place *place)
{
    struct wqe wqe = wqe_send(&place->a, 0, 10);

    wqe.at[3] = 0x01;
    post_receive(&place->b, 0, 10);
    send_it(place, &wqe);
}

void provoke_DC_KEY(struct place *place)
{
    struct wqe wqe;

    place_close(place);
    place_open(place, &(struct options){.service = MGDS_SERVICE_DCI});
    wqe = wqe_write(&place->a, 0, 8);
    wqe.at[16] ^= 1;
    send_it(place, &wqe);
}
