/* Images on the host, compared with memory of any kind. */
#include "tests/mpi/matrix/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/pattern.h"

#define GUARD 96 /* no multiple of a page: starts are odd ones */

static size_t span_of(const struct mgds_mx_type *type, size_t elements)
{
    if (elements == 0)
        return 0;
    return (size_t)(type->high - type->low) +
           (elements - 1) * (size_t)type->extent;
}

int mgds_mx_buffer_init(struct mgds_mx_buffer *buffer, const char *name,
                        enum mgds_test_kind kind,
                        const struct mgds_mx_type *type, size_t elements)
{
    struct mgds_mx_buffer made = {
        .name = name, .type = type, .elements = elements};
    /* alignment of element 0, wherever its first byte lies */
    size_t low = (size_t)(type->low < 0 ? -type->low : type->low);
    int rc;

    made.bytes = (size_t)2 * GUARD + 2 * low + span_of(type, elements);
    made.origin = GUARD + (type->low < 0 ? low : 0);
    made.image = malloc(made.bytes);
    if (!made.image)
        return -ENOMEM;
    rc = mgds_test_memory_alloc(&made.memory, kind, made.bytes);
    if (rc < 0) {
        free(made.image);
        return rc;
    }
    made.user = made.memory.at + made.origin;
    *buffer = made;
    mgds_mx_buffer_poison(buffer);
    return 0;
}

void mgds_mx_buffer_fini(struct mgds_mx_buffer *buffer)
{
    mgds_test_memory_free(&buffer->memory);
    free(buffer->image);
}

void mgds_mx_buffer_poison(struct mgds_mx_buffer *buffer)
{
    struct mgds_bench_pattern pattern = {.seed = buffer->bytes +
                                                 (size_t)buffer->name[0],
                                         .flip = MGDS_BENCH_POISON};

    mgds_bench_pattern_fill(pattern, buffer->image, buffer->bytes);
}

static int is_dense(const struct mgds_mx_type *type)
{
    return type->spans == 1 && type->extent == (ptrdiff_t)type->data;
}

static unsigned char *place_of(const struct mgds_mx_buffer *buffer,
                               size_t element, int span)
{
    return buffer->image + (ptrdiff_t)buffer->origin +
           (ptrdiff_t)element * buffer->type->extent +
           buffer->type->span[span].offset;
}

void mgds_mx_buffer_place(struct mgds_mx_buffer *buffer, size_t first,
                          const unsigned char *packed, size_t bytes)
{
    const struct mgds_mx_type *type = buffer->type;

    if (is_dense(type) && bytes > 0) {
        memcpy(place_of(buffer, first, 0), packed, bytes);
        return;
    }
    for (size_t e = first; bytes > 0; e++) {
        for (int s = 0; s < type->spans && bytes > 0; s++) {
            size_t n = type->span[s].bytes;

            n = n < bytes ? n : bytes;
            memcpy(place_of(buffer, e, s), packed, n);
            packed += n;
            bytes -= n;
        }
    }
}

void mgds_mx_buffer_upload(struct mgds_mx_buffer *buffer)
{
    mgds_test_memory_write(&buffer->memory, buffer->image, buffer->bytes);
}

/* What kind of byte lies at an offset of the memory. */
static const char *role_of(const struct mgds_mx_buffer *buffer, size_t offset)
{
    const struct mgds_mx_type *type = buffer->type;
    ptrdiff_t at = (ptrdiff_t)offset - (ptrdiff_t)buffer->origin;

    for (size_t e = 0; e < buffer->elements; e++) {
        for (int s = 0; s < type->spans; s++) {
            ptrdiff_t in =
                at - (ptrdiff_t)e * type->extent - type->span[s].offset;

            if (in >= 0 && in < (ptrdiff_t)type->span[s].bytes)
                return "data";
        }
    }
    if (offset < GUARD || offset >= buffer->bytes - GUARD)
        return "guard";
    return "gap";
}

int mgds_mx_buffer_check(const struct mgds_mx_buffer *buffer, char why[256])
{
    unsigned char *found = malloc(buffer->bytes);
    size_t wrong = 0;
    size_t first = 0;

    if (!found) {
        snprintf(why, 256, "no memory to check %zu bytes", buffer->bytes);
        return 1;
    }
    mgds_test_memory_read(&buffer->memory, found, buffer->bytes);
    if (memcmp(found, buffer->image, buffer->bytes) == 0)
        goto free_found;
    for (size_t i = buffer->bytes; i-- > 0;) {
        if (found[i] == buffer->image[i])
            continue;
        wrong++;
        first = i;
    }
    snprintf(why, 256,
             "%s: %zu of %zu bytes wrong, the first is %s, %td behind the "
             "buffer's address: 0x%02x, not 0x%02x",
             buffer->name, wrong, buffer->bytes, role_of(buffer, first),
             (ptrdiff_t)first - (ptrdiff_t)buffer->origin, found[first],
             buffer->image[first]);
free_found:
    free(found);
    return wrong > 0;
}

void mgds_mx_buffer_forgive(struct mgds_mx_buffer *buffer, size_t first,
                            size_t elements)
{
    const struct mgds_mx_type *type = buffer->type;
    unsigned char *found = malloc(buffer->bytes);

    if (!found)
        abort();
    mgds_test_memory_read(&buffer->memory, found, buffer->bytes);
    for (size_t e = first; e < first + elements; e++) {
        for (int s = 0; s < type->spans; s++) {
            unsigned char *to = place_of(buffer, e, s);

            memcpy(to, found + (to - buffer->image), type->span[s].bytes);
        }
    }
    free(found);
}
