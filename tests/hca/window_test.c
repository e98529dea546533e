/* Memory windows: what their keys mean, for whom, and until when. */
#include <string.h>

#include "tests/hca/place.h"

enum {
    BINDABLE = 16,
    HALF = PLACE_MEMORY / 2,
    AT = 0x1000, /* the window, in b's memory */
    BYTES = 0x800
};

/* b has a window of this type, and memory that it may mean. */
struct scene {
    struct place place;
    struct binding bind;
    unsigned posted; /* by a */
};

static void open_scene(struct scene *scene, unsigned type, bool packets)
{
    struct options options = {.packets = packets};
    struct end *b = &scene->place.b;

    place_open(&scene->place, &options);
    scene->posted = 0;
    scene->bind = (struct binding){
        .type = type,
        .access = MGDS_HCA_REMOTE_WRITE,
        .region = place_key(b, 0, HALF, PLACE_PD, 1 | BINDABLE),
        .offset = AT,
        .bytes = BYTES,
    };
    assert_int_equal(
        mgds_hca_key_attach_window(b->hca, PLACE_PD, type, &scene->bind.key),
        0);
}

static uint32_t key_with(const struct scene *scene, uint8_t variant)
{
    return (scene->bind.key & ~0xffu) | variant;
}

/* Binds, or binds nothing, under that low byte; the key is that then. */
static void bind_it(struct scene *scene, uint8_t variant)
{
    struct end *b = &scene->place.b;
    uint16_t index = b->pi;
    struct wqe wqe;

    scene->bind.variant = variant;
    wqe = wqe_bind(b, &scene->bind);
    run_one(b, &wqe);
    assert_int_equal(expect_cqe(&b->sends, 0, index).wqe_opcode, 0x25);
    scene->bind.key = key_with(scene, variant);
}

static void invalidate_it(struct scene *scene)
{
    uint32_t bytes = scene->bind.bytes;

    scene->bind.bytes = 0;
    bind_it(scene, 0);
    scene->bind.bytes = bytes;
}

/* A WRITE of a to this place of b's memory. */
static void write_to(struct scene *scene, uint32_t key, size_t offset,
                     uint32_t bytes)
{
    struct end *a = &scene->place.a;
    struct wqe wqe = wqe_ctrl(a, 0x08, SIGNALLED);

    wqe_raddr(&wqe, place_address(&scene->place.b, offset), key);
    wqe_data(&wqe, bytes, a->key, place_address(a, 0));
    scene->posted = a->pi;
    run_one(a, &wqe);
}

static void expect_written(struct scene *scene, uint32_t key)
{
    struct place *place = &scene->place;

    memset(place->b.memory + AT, 0, BYTES);
    write_to(scene, key, AT, BYTES);
    expect_cqe(&place->a.sends, 0, (uint16_t)scene->posted);
    assert_memory_equal(place->b.memory + AT, place->a.memory, BYTES);
}

static void expect_refused(struct scene *scene)
{
    expect_error(&scene->place.a.sends, 0x13, (uint16_t)scene->posted);
}

static void a_window_means_what_it_was_bound_to(void **state)
{
    struct scene scene;

    (void)state;
    for (unsigned type = 1; type <= 2; type++) {
        for (unsigned packets = 0; packets <= 1; packets++) {
            open_scene(&scene, type, packets);
            bind_it(&scene, 0x77);
            expect_written(&scene, scene.bind.key);
            place_close(&scene.place);
        }
    }
}

/* An access that is refused, of a window that is bound or not. */
static void refuse(unsigned type, bool bound, uint8_t variant, size_t offset,
                   uint32_t bytes)
{
    struct scene scene;

    open_scene(&scene, type, false);
    if (bound)
        bind_it(&scene, 0x77);
    memset(scene.place.b.memory, 0, PLACE_MEMORY);
    write_to(&scene, key_with(&scene, variant), offset, bytes);
    expect_refused(&scene);
    assert_int_equal(scene.place.event[0], MGDS_EVENT_QP_ACCESS_ERR);
    for (size_t i = 0; i < PLACE_MEMORY; i++)
        assert_int_equal(scene.place.b.memory[i], 0);
    place_close(&scene.place);
}

static void a_window_means_no_more(void **state)
{
    (void)state;
    for (unsigned type = 1; type <= 2; type++) {
        refuse(type, true, 0x77, AT - 1, 2);
        refuse(type, true, 0x77, AT + BYTES - 1, 2);
        refuse(type, true, 0x78, AT, BYTES);  /* another low byte */
        refuse(type, false, 0x77, AT, BYTES); /* free */
    }
}

static void a_window_permits_what_it_says(void **state)
{
    struct scene scene;
    struct wqe wqe;

    (void)state;
    open_scene(&scene, 1, false);
    bind_it(&scene, 1);
    wqe = wqe_ctrl(&scene.place.a, 0x10, SIGNALLED);
    wqe_raddr(&wqe, place_address(&scene.place.b, AT), scene.bind.key);
    wqe_data(&wqe, 8, scene.place.a.key, place_address(&scene.place.a, 0));
    run_one(&scene.place.a, &wqe);
    expect_error(&scene.place.a.sends, 0x13, 0);
    place_close(&scene.place);
}

static void a_read_needs_no_local_write(void **state)
{
    struct scene scene;
    struct wqe wqe;

    (void)state;
    open_scene(&scene, 2, true);
    scene.bind.access = MGDS_HCA_REMOTE_READ;
    scene.bind.region = place_key(&scene.place.b, 0, HALF, PLACE_PD, BINDABLE);
    bind_it(&scene, 1);
    wqe = wqe_ctrl(&scene.place.a, 0x10, SIGNALLED);
    wqe_raddr(&wqe, place_address(&scene.place.b, AT), scene.bind.key);
    wqe_data(&wqe, BYTES, scene.place.a.key, place_address(&scene.place.a, 0));
    run_one(&scene.place.a, &wqe);
    expect_cqe(&scene.place.a.sends, 0, 0);
    assert_memory_equal(scene.place.a.memory, scene.place.b.memory + AT, BYTES);
    place_close(&scene.place);
}

/* Type 1 again at any time; the old key is nothing then. */
static void a_rebound_window_has_another_key(void **state)
{
    struct scene scene;
    uint32_t old;

    (void)state;
    open_scene(&scene, 1, false);
    bind_it(&scene, 1);
    old = scene.bind.key;
    bind_it(&scene, 2);
    expect_written(&scene, scene.bind.key);
    write_to(&scene, old, AT, 8);
    expect_refused(&scene);
    place_close(&scene.place);
}

static void an_invalidated_window_means_nothing(void **state)
{
    struct scene scene;
    uint32_t old;

    (void)state;
    for (unsigned type = 1; type <= 2; type++) {
        open_scene(&scene, type, false);
        bind_it(&scene, 0x77);
        old = scene.bind.key;
        expect_written(&scene, old);
        invalidate_it(&scene);
        bind_it(&scene, 0x78); /* it may be bound again */
        expect_written(&scene, scene.bind.key);
        invalidate_it(&scene);
        write_to(&scene, old, AT, 8);
        expect_refused(&scene);
        place_close(&scene.place);
    }
}

/* libmlx5's program knows the key that it had, not the low byte that an
 * invalidation left. */
static void a_free_window_is_bound_by_any_low_byte(void **state)
{
    struct scene scene;

    (void)state;
    open_scene(&scene, 2, false);
    bind_it(&scene, 0x77);
    invalidate_it(&scene);
    scene.bind.key = key_with(&scene, 0x77);
    bind_it(&scene, 0x79);
    expect_written(&scene, scene.bind.key);
    place_close(&scene.place);
}

/* SEND_INVAL with this key, into a receive of b. */
static void send_invalidating(struct scene *scene, uint32_t key, uint32_t bytes)
{
    struct end *a = &scene->place.a;
    struct wqe wqe = wqe_send(a, 0, bytes);

    wqe.at[3] = 0x01;
    for (unsigned i = 0; i < 4; i++)
        wqe.at[12 + i] = (uint8_t)(key >> (24 - 8 * i));
    scene->posted = a->pi;
    post_receive(&scene->place.b, HALF, 0x1000);
    run_one(a, &wqe);
}

static void a_send_invalidates_a_window(void **state)
{
    struct scene scene;
    struct cqe cqe;

    (void)state;
    for (unsigned packets = 0; packets <= 1; packets++) {
        open_scene(&scene, 2, packets);
        bind_it(&scene, 0x77);
        send_invalidating(&scene, scene.bind.key, 300);
        expect_cqe(&scene.place.a.sends, 0, 0);
        cqe = expect_cqe(&scene.place.b.receives, 4, 0);
        assert_int_equal(cqe.imm, scene.bind.key);
        assert_int_equal(cqe.bytes, 300);
        assert_memory_equal(scene.place.b.memory + HALF, scene.place.a.memory,
                            300);
        write_to(&scene, scene.bind.key, AT, 8);
        expect_refused(&scene);
        place_close(&scene.place);
    }
}

/* A SEND does not invalidate a window of type 1, a region, a free window, or by
 * an old key. */
static void a_send_invalidates_nothing_else(void **state)
{
    struct scene scene;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        open_scene(&scene, i == 0 ? 1 : 2, false);
        if (i != 2)
            bind_it(&scene, 0x77);
        send_invalidating(&scene,
                          i == 1   ? scene.place.b.key
                          : i == 3 ? key_with(&scene, 0x78)
                                   : scene.bind.key,
                          16);
        expect_error(&scene.place.a.sends, 0x14, 0);
        expect_error(&scene.place.b.receives, 0x12, 0);
        assert_int_equal(scene.place.b.qp->state, MGDS_STATE_ERR);
        place_close(&scene.place);
    }
}

/* Deregistered, or registered as something else, or of memory that is gone. */
static void a_window_follows_its_region(void **state)
{
    static const uint32_t gone = 1;
    struct mgds_hca_memory memory;
    struct scene scene;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        open_scene(&scene, 1, false);
        bind_it(&scene, 1);
        memory = (struct mgds_hca_memory){
            .at = scene.place.b.memory,
            .address = place_address(&scene.place.b, 0),
            .bytes = i == 1 ? AT + 1 : HALF,
            .pd = PLACE_PD,
            .access = i == 2 ? BINDABLE : 1 | BINDABLE,
            .gone = i == 3 ? &gone : NULL,
        };
        if (i == 0)
            assert_int_equal(
                mgds_hca_key_detach(scene.place.b.hca, scene.bind.region), 0);
        else
            assert_int_equal(mgds_hca_key_change(scene.place.b.hca,
                                                 scene.bind.region, &memory),
                             0);
        write_to(&scene, scene.bind.key, AT, BYTES);
        expect_refused(&scene);
        place_close(&scene.place);
    }
}

static void a_window_goes_whatever_its_key_is(void **state)
{
    struct scene scene;
    uint32_t first;

    (void)state;
    open_scene(&scene, 2, false);
    first = scene.bind.key;
    bind_it(&scene, (uint8_t)(first + 1));
    assert_int_equal(mgds_hca_key_change(scene.place.b.hca, scene.bind.key,
                                         &(struct mgds_hca_memory){.bytes = 8}),
                     -2);
    assert_int_equal(mgds_hca_key_detach(scene.place.b.hca, first), 0);
    assert_int_equal(mgds_hca_key_detach(scene.place.b.hca, first), -2);
    write_to(&scene, scene.bind.key, AT, BYTES);
    expect_refused(&scene);
    place_close(&scene.place);
}

static void a_window_is_no_lkey(void **state)
{
    struct scene scene;
    struct wqe wqe;

    (void)state;
    open_scene(&scene, 1, false);
    bind_it(&scene, 1);
    wqe = wqe_ctrl(&scene.place.b, 0x0a, SIGNALLED);
    wqe_data(&wqe, 8, scene.bind.key, place_address(&scene.place.b, AT));
    run_one(&scene.place.b, &wqe);
    expect_error(&scene.place.b.sends, 0x04, 3);
    place_close(&scene.place);
}

/* Other forms of UMR: each bit that libmlx5 has otherwise. */
static void another_form_of_umr_is_not_modelled(void **state)
{
    static const size_t changed[] = {16, 16 + 5, 16 + 7, 16 + 15,
                                     64, 64 + 4, 128 + 3};
    struct scene scene;
    struct wqe wqe;

    (void)state;
    for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
        open_scene(&scene, 2, false);
        wqe = wqe_bind(&scene.place.b, &scene.bind);
        wqe.at[changed[i]] ^= 2;
        run_one(&scene.place.b, &wqe);
        expect_error(&scene.place.b.sends, 0x02, 0);
        place_close(&scene.place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_means_what_it_was_bound_to),
        cmocka_unit_test(a_window_means_no_more),
        cmocka_unit_test(a_window_permits_what_it_says),
        cmocka_unit_test(a_read_needs_no_local_write),
        cmocka_unit_test(a_rebound_window_has_another_key),
        cmocka_unit_test(an_invalidated_window_means_nothing),
        cmocka_unit_test(a_free_window_is_bound_by_any_low_byte),
        cmocka_unit_test(a_send_invalidates_a_window),
        cmocka_unit_test(a_send_invalidates_nothing_else),
        cmocka_unit_test(a_window_follows_its_region),
        cmocka_unit_test(a_window_goes_whatever_its_key_is),
        cmocka_unit_test(a_window_is_no_lkey),
        cmocka_unit_test(another_form_of_umr_is_not_modelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
