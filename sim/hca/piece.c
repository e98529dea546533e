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

void mgds_hca_list_part(struct mgds_hca_list *part,
                        const struct mgds_hca_list *list, uint64_t offset,
                        uint64_t bytes)
{
    const struct mgds_hca_piece *piece = list->piece;
    uint64_t take;

    mgds_hca_list_init(part);
    for (unsigned i = 0; i < list->count && bytes > 0; i++, piece++) {
        if (offset >= piece->bytes) {
            offset -= piece->bytes;
            continue;
        }
        take = piece->bytes - offset;
        take = take < bytes ? take : bytes;
        mgds_hca_list_add(part, piece->at + offset, take);
        offset = 0;
        bytes -= take;
    }
}

static bool is_aligned(const void *at, size_t bytes)
{
    return (uintptr_t)at % bytes == 0;
}

/* The aligned word at the end of a piece, or 0: one of 8 bytes if there is. */
static size_t last_word(const uint8_t *to, size_t bytes)
{
    for (size_t word = sizeof(uint64_t); word >= sizeof(uint32_t); word /= 2) {
        if (bytes >= word && is_aligned(to + bytes, word))
            return word;
    }
    return 0;
}

/* A word that a program may poll must not be seen in parts, or early. The
 * memory of both may overlap: the word is read before anything is written. */
static void copy_step(uint8_t *to, const uint8_t *from, size_t bytes)
{
    size_t rest = bytes - last_word(to, bytes);
    uint64_t wide = 0;
    uint32_t word;

    memcpy(&wide, from + rest, bytes - rest);
    if (rest)
        memmove(to, from, rest);
    if (bytes - rest == sizeof(wide)) {
        __atomic_store_n((uint64_t *)(void *)(to + rest), wide,
                         __ATOMIC_RELEASE);
    } else if (bytes - rest == sizeof(word)) {
        memcpy(&word, &wide, sizeof(word));
        __atomic_store_n((uint32_t *)(void *)(to + rest), word,
                         __ATOMIC_RELEASE);
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
