/* Copies between lists of pieces. */
#include "sim/hca/piece.h"

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

/* The longest word that is aligned there: of 8, 4, 2 or 1 bytes. */
static size_t word_at(const uint8_t *to, size_t bytes)
{
    size_t word = sizeof(uint64_t);

    while (word > bytes || (uintptr_t)to % word != 0)
        word /= 2;
    return word;
}

/* Whole, and behind all that was stored before. */
static void store_word(uint8_t *to, const uint8_t *from, size_t word)
{
    uint64_t wide = 0;

    memcpy(&wide, from, word); /* little-endian, as its low bytes */
    if (word == sizeof(uint64_t))
        __atomic_store_n((uint64_t *)(void *)to, wide, __ATOMIC_RELEASE);
    else if (word == sizeof(uint32_t))
        __atomic_store_n((uint32_t *)(void *)to, (uint32_t)wide,
                         __ATOMIC_RELEASE);
    else if (word == sizeof(uint16_t))
        __atomic_store_n((uint16_t *)(void *)to, (uint16_t)wide,
                         __ATOMIC_RELEASE);
    else
        __atomic_store_n(to, (uint8_t)wide, __ATOMIC_RELEASE);
}

/* As a PCIe write shows itself to who polls: in words of 8 bytes, whole and
 * from low addresses to high ones (PCI Express Base Specification, 2.4.3). The
 * C library's copies are not: long ones store in any order. Where the one lies
 * in the other there is nobody who could poll. */
static void copy_step(uint8_t *to, const uint8_t *from, size_t bytes)
{
    size_t word;

    if ((uintptr_t)to - (uintptr_t)from < bytes) {
        memmove(to, from, bytes);
        return;
    }
    for (; bytes > 0; bytes -= word) {
        word = word_at(to, bytes);
        store_word(to, from, word);
        to += word;
        from += word;
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
