/* Derived datatypes as arithmetic; reads the file that -D indx names. */
#include "osu-extensions/layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/number.h"

/* OSU's defaults for "vect" without arguments. */
#define STRIDE_DEFAULT 8
#define LENGTH_DEFAULT 4
/* No message has more: INT_MAX bytes. */
#define ELEMENTS_MAX 2147483647
#define BLANK " \t\r\n"

/* ":STRIDE" and ":LENGTH", both optional, nothing behind them. */
static int vect_numbers(struct mgds_bench_ddt *ddt, const char *args)
{
    ddt->stride = STRIDE_DEFAULT;
    ddt->length = LENGTH_DEFAULT;
    if (*args == '\0')
        return 0;
    if (*args++ != ':' || mgds_bench_number_take(&args, &ddt->stride) < 0)
        return -EINVAL;
    if (ddt->stride < ddt->length)
        ddt->length = ddt->stride;
    if (*args == '\0')
        return 0;
    if (*args++ != ':' || mgds_bench_number_take(&args, &ddt->length) < 0)
        return -EINVAL;
    return *args == '\0' ? 0 : -EINVAL;
}

static int vect_parse(struct mgds_bench_ddt *ddt, const char *args,
                      char why[256])
{
    if (vect_numbers(ddt, args) == 0 && ddt->length > 0 &&
        ddt->stride >= ddt->length && ddt->stride <= ELEMENTS_MAX)
        return 0;
    snprintf(why, 256,
             "option -D vect%.64s: give vect:STRIDE:LENGTH in elements, "
             "1 <= LENGTH <= STRIDE <= %d",
             args, ELEMENTS_MAX);
    return -EINVAL;
}

/* One line of an indx file: 1 a block, 0 nothing, -EINVAL neither. */
static int line_parse(const char *line, struct mgds_bench_piece *block)
{
    const char *text = line + strspn(line, BLANK);

    if (*text == '#' || *text == '\0')
        return 0;
    if (mgds_bench_number_take(&text, &block->offset) < 0)
        return -EINVAL;
    text += strspn(text, BLANK ",");
    if (mgds_bench_number_take(&text, &block->length) < 0)
        return -EINVAL;
    text += strspn(text, BLANK);
    if (*text != '\0' || block->length < 1 || block->length > ELEMENTS_MAX ||
        block->offset > ELEMENTS_MAX)
        return -EINVAL;
    return 1;
}

static int block_add(struct mgds_bench_ddt *ddt, struct mgds_bench_piece block)
{
    const struct mgds_bench_piece *last = ddt->blocks + ddt->count - 1;

    if (ddt->count == MGDS_BENCH_DDT_BLOCKS_MAX)
        return -EINVAL;
    if (ddt->count > 0 && block.offset < last->offset + last->length)
        return -EINVAL;
    ddt->blocks[ddt->count++] = block;
    return 0;
}

static int file_read(struct mgds_bench_ddt *ddt, FILE *file, const char *path,
                     char why[256])
{
    struct mgds_bench_piece block;
    char line[512];
    int number = 0;
    int rc;

    while (fgets(line, sizeof(line), file)) {
        number++;
        rc = line_parse(line, &block);
        if (rc > 0)
            rc = block_add(ddt, block);
        if (rc < 0) {
            snprintf(why, 256,
                     "option -D indx: %.128s line %d: give \"offset,length\" "
                     "in elements, ascending, disjoint, at most %d lines",
                     path, number, MGDS_BENCH_DDT_BLOCKS_MAX);
            return -EINVAL;
        }
    }
    if (ddt->count > 0)
        return 0;
    snprintf(why, 256, "option -D indx: %.128s holds no block", path);
    return -EINVAL;
}

static int indx_parse(struct mgds_bench_ddt *ddt, const char *args,
                      char why[256])
{
    const char *path = args + 1;
    FILE *file = NULL;
    int rc = -EINVAL;

    if (args[0] != ':' || args[1] == '\0') {
        snprintf(why, 256, "option -D indx: name the file, -D indx:FILE");
        return -EINVAL;
    }
    ddt->blocks = calloc(MGDS_BENCH_DDT_BLOCKS_MAX, sizeof(*ddt->blocks));
    if (ddt->blocks)
        file = fopen(path, "r");
    if (!file) {
        snprintf(why, 256, "option -D indx: cannot read %.128s: %s", path,
                 strerror(errno));
        goto free_blocks;
    }
    rc = file_read(ddt, file, path, why);
    fclose(file);
    if (rc == 0)
        return 0;
free_blocks:
    mgds_bench_ddt_fini(ddt);
    return rc;
}

int mgds_bench_ddt_init(struct mgds_bench_ddt *ddt, const char *text,
                        char why[256])
{
    memset(ddt, 0, sizeof(*ddt));
    if (strcmp(text, "cont") == 0) {
        ddt->kind = MGDS_BENCH_DDT_CONT;
        return 0;
    }
    if (strncmp(text, "vect", 4) == 0) {
        ddt->kind = MGDS_BENCH_DDT_VECT;
        return vect_parse(ddt, text + 4, why);
    }
    if (strncmp(text, "indx", 4) == 0) {
        ddt->kind = MGDS_BENCH_DDT_INDX;
        return indx_parse(ddt, text + 4, why);
    }
    snprintf(why, 256,
             "option -D %.128s: give cont, vect:STRIDE:LENGTH or indx:FILE",
             text);
    return -EINVAL;
}

void mgds_bench_ddt_fini(struct mgds_bench_ddt *ddt)
{
    free(ddt->blocks);
    ddt->blocks = NULL;
    ddt->count = 0;
}

/* Of an indx type: the blocks that end inside the message. */
static void indx_fit(struct mgds_bench_layout *l)
{
    const struct mgds_bench_piece *block = l->ddt->blocks;
    const struct mgds_bench_piece *end = block + l->ddt->count;

    for (; block < end; block++) {
        if (block->offset + block->length > l->elements)
            return;
        l->blocks++;
        l->data += block->length * l->unit;
        l->span = (block->offset + block->length) * l->unit;
    }
}

static void vect_fit(struct mgds_bench_layout *l)
{
    const struct mgds_bench_ddt *ddt = l->ddt;

    l->blocks = l->elements / ddt->stride;
    if (l->blocks == 0)
        return;
    l->data = l->blocks * ddt->length * l->unit;
    l->span = ((l->blocks - 1) * ddt->stride + ddt->length) * l->unit;
}

int mgds_bench_layout_init(struct mgds_bench_layout *layout,
                           const struct mgds_bench_ddt *ddt, size_t unit,
                           size_t size)
{
    memset(layout, 0, sizeof(*layout));
    layout->ddt = ddt;
    layout->unit = unit;
    layout->elements = size / unit;
    if (ddt->kind == MGDS_BENCH_DDT_NONE && size == 0)
        return 0;
    if (layout->elements == 0)
        return -ENODATA;
    if (ddt->kind == MGDS_BENCH_DDT_INDX) {
        indx_fit(layout);
    } else if (ddt->kind == MGDS_BENCH_DDT_VECT) {
        vect_fit(layout);
    } else {
        layout->blocks = 1;
        layout->data = layout->elements * unit;
        layout->span = layout->data;
    }
    return layout->blocks > 0 ? 0 : -ENODATA;
}

struct mgds_bench_piece
mgds_bench_layout_piece(const struct mgds_bench_layout *layout, size_t i)
{
    const struct mgds_bench_ddt *ddt = layout->ddt;
    struct mgds_bench_piece block = {.offset = 0, .length = layout->data};

    if (ddt->kind == MGDS_BENCH_DDT_VECT) {
        block.offset = i * ddt->stride * layout->unit;
        block.length = ddt->length * layout->unit;
    } else if (ddt->kind == MGDS_BENCH_DDT_INDX) {
        block.offset = ddt->blocks[i].offset * layout->unit;
        block.length = ddt->blocks[i].length * layout->unit;
    }
    return block;
}
