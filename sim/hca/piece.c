/* Copies between lists of pieces. */
#include "sim/hca/piece.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* How far a copy has come in a list. */
struct cursor {
    const struct mgds_hca_list *list;
    unsigned piece;
    uint64_t offset;
};

void mgds_hca_list_init(struct mgds_hca_list *list)
{
    list->count = 0;
    list->bytes = 0;
}

void mgds_hca_list_one(struct mgds_hca_list *list, void *at, uint64_t bytes)
{
    mgds_hca_list_init(list);
    mgds_hca_list_add(list, at, bytes);
}

void mgds_hca_list_add(struct mgds_hca_list *list, void *at, uint64_t bytes)
{
    list->piece[list->count++] = (struct mgds_hca_piece){at, bytes};
    list->bytes += bytes;
}

static bool is_aligned(const void *at, size_t bytes)
{
    return (uintptr_t)at % bytes == 0;
}

/* A word that a program may poll must not be seen in parts, or early. */
static void copy_step(void *to, const void *from, size_t bytes)
{
    uint32_t word;
    uint64_t wide;

    if (bytes == sizeof(wide) && is_aligned(to, sizeof(wide))) {
        memcpy(&wide, from, sizeof(wide));
        __atomic_store_n((uint64_t *)to, wide, __ATOMIC_RELEASE);
    } else if (bytes == sizeof(word) && is_aligned(to, sizeof(word))) {
        memcpy(&word, from, sizeof(word));
        __atomic_store_n((uint32_t *)to, word, __ATOMIC_RELEASE);
    } else {
        memmove(to, from, bytes);
    }
}

/* The rest of the piece the cursor is in; 0 at the end of the list. */
static uint64_t bytes_left(struct cursor *at)
{
    while (at->piece < at->list->count &&
           at->offset == at->list->piece[at->piece].bytes) {
        at->piece++;
        at->offset = 0;
    }
    if (at->piece == at->list->count)
        return 0;
    return at->list->piece[at->piece].bytes - at->offset;
}

static uint8_t *current_byte(const struct cursor *at)
{
    return at->list->piece[at->piece].at + at->offset;
}

void mgds_hca_list_copy(const struct mgds_hca_list *to,
                        const struct mgds_hca_list *from)
{
    struct cursor out = {.list = to}, in = {.list = from};
    uint64_t room, bytes;

    while ((room = bytes_left(&out)) > 0 && (bytes = bytes_left(&in)) > 0) {
        bytes = bytes < room ? bytes : room;
        copy_step(current_byte(&out), current_byte(&in), (size_t)bytes);
        out.offset += bytes;
        in.offset += bytes;
    }
}
