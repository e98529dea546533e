/* Seals of frames: what was made for us is heard once; nothing else is, and
 * leaves no trace. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/gds/wire/seal.h"
#include "tests/lib/fault_sweep.h"

enum { BODY = 77, HEAD = 24 };

/* Two processes that know each other, and one that knows neither. */
struct place {
    struct mgds_wire_identity here, there, stranger;
    struct mgds_senders senders; /* here */
    struct mgds_siphash out;     /* from there to here */
    uint64_t sent;
};

static void open_place(struct place *place)
{
    *place = (struct place){.sent = 0};
    assert_int_equal(mgds_wire_identity_draw(&place->here), 0);
    assert_int_equal(mgds_wire_identity_draw(&place->there), 0);
    assert_int_equal(mgds_wire_identity_draw(&place->stranger), 0);
    place->out = mgds_seal_begin(&place->here.key, place->there.process,
                                 place->here.process);
}

static size_t make(struct mgds_wire_frame *frame, struct place *place)
{
    memset(frame, 0, sizeof(*frame));
    frame->from = place->there.process;
    frame->number = ++place->sent;
    frame->shape = mgds_wire_shape(3, BODY);
    memset(frame->head, 0x5a, HEAD);
    frame->tag = mgds_seal_tag(&place->out, frame, mgds_wire_frame_bytes(HEAD));
    return mgds_wire_frame_bytes(HEAD);
}

static int come_with(struct place *place, const void *frame, size_t bytes,
                     size_t body_bytes)
{
    struct mgds_wire_frame out;
    int rc = mgds_senders_admit(&place->senders, &place->here, &out, frame,
                                bytes, body_bytes);

    if (rc == 0)
        assert_memory_equal(&out, frame, bytes);
    return rc;
}

static int come(struct place *place, const struct mgds_wire_frame *frame)
{
    return come_with(place, frame, mgds_wire_frame_bytes(HEAD), BODY);
}

static void assert_nobody(const struct place *place)
{
    const struct mgds_senders nobody = {.bucket = {NULL}};

    assert_memory_equal(&place->senders, &nobody, sizeof(nobody));
}

static void a_frame_is_heard_once(void **state)
{
    struct mgds_wire_frame frames[3];
    struct place place;

    (void)state;
    open_place(&place);
    for (unsigned i = 0; i < 3; i++)
        make(&frames[i], &place);
    assert_int_equal(come(&place, &frames[2]), 0);
    assert_int_equal(come(&place, &frames[0]), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(come(&place, &frames[i]), i == 1 ? 0 : -EALREADY);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(come(&place, &frames[i]), -EALREADY);
    mgds_senders_fini(&place.senders);
}

static void no_bit_of_it_can_be_changed(void **state)
{
    struct mgds_wire_frame frame;
    struct place place;
    size_t bytes;

    (void)state;
    open_place(&place);
    bytes = make(&frame, &place);
    for (size_t i = 0; i < 8 * bytes; i++) {
        struct mgds_wire_frame changed = frame;

        ((unsigned char *)&changed)[i / 8] ^= (unsigned char)(1u << (i % 8));
        assert_int_equal(come_with(&place, &changed, bytes, BODY), -EBADMSG);
    }
    assert_nobody(&place);
    assert_int_equal(come(&place, &frame), 0);
    mgds_senders_fini(&place.senders);
}

static void no_length_of_it_can_be_changed(void **state)
{
    struct mgds_wire_frame frame;
    struct place place;
    size_t bytes;

    (void)state;
    open_place(&place);
    bytes = make(&frame, &place);
    for (size_t i = 0; i < 2 * sizeof(frame); i++) {
        unsigned char *cut = (unsigned char *)calloc(1, i ? i : 1);

        assert_non_null(cut);
        memcpy(cut, &frame, i < sizeof(frame) ? i : sizeof(frame));
        if (i != bytes)
            assert_int_equal(come_with(&place, cut, i, BODY), -EBADMSG);
        free(cut);
    }
    for (size_t body = 0; body < (size_t)2 * BODY; body++)
        if (body != BODY)
            assert_int_equal(come_with(&place, &frame, bytes, body), -EBADMSG);
    assert_nobody(&place);
}

/* Not back to its sender, not to a third, not in the name of another. */
static void a_frame_is_for_one_from_one(void **state)
{
    struct mgds_wire_frame frame;
    struct mgds_wire_frame out;
    struct place place;
    size_t bytes;

    (void)state;
    open_place(&place);
    bytes = make(&frame, &place);
    assert_int_equal(mgds_senders_admit(&place.senders, &place.there, &out,
                                        &frame, bytes, BODY),
                     -EBADMSG);
    assert_int_equal(mgds_senders_admit(&place.senders, &place.stranger, &out,
                                        &frame, bytes, BODY),
                     -EBADMSG);
    frame.from = place.here.process;
    assert_int_equal(come(&place, &frame), -EBADMSG);
    frame.from = place.stranger.process;
    assert_int_equal(come(&place, &frame), -EBADMSG);
    assert_nobody(&place);
}

static void who_lacks_the_key_is_not_heard(void **state)
{
    struct mgds_wire_frame frame;
    struct mgds_siphash wrong;
    struct place place;

    (void)state;
    open_place(&place);
    make(&frame, &place);
    wrong = mgds_seal_begin(&place.there.key, place.there.process,
                            place.here.process);
    frame.tag = mgds_seal_tag(&wrong, &frame, mgds_wire_frame_bytes(HEAD));
    assert_int_equal(come(&place, &frame), -EBADMSG);
    frame.tag = 0;
    assert_int_equal(come(&place, &frame), -EBADMSG);
    assert_nobody(&place);
}

/* A frame for which there was no memory can come again. */
static int come_from_new(void *arg)
{
    struct mgds_wire_frame frame;
    struct place place;
    int rc;

    (void)arg;
    open_place(&place);
    make(&frame, &place);
    rc = come(&place, &frame);
    assert_true(rc == 0 || rc == -ENOMEM);
    if (rc < 0)
        assert_int_equal(come(&place, &frame), 0);
    mgds_senders_fini(&place.senders);
    return rc;
}

static void without_memory_it_has_not_come(void **state)
{
    (void)state;
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, come_from_new, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_heard_once),
        cmocka_unit_test(no_bit_of_it_can_be_changed),
        cmocka_unit_test(no_length_of_it_can_be_changed),
        cmocka_unit_test(a_frame_is_for_one_from_one),
        cmocka_unit_test(who_lacks_the_key_is_not_heard),
        cmocka_unit_test(without_memory_it_has_not_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
