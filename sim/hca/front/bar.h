/* UAR pages of an opened device: the memory of its descriptor, of which
 * programs map pages. Page n is at offset n * 4096.
 *
 *   0 .. total / 2 - 1   two registers each, which QPs get when they are made
 *   0x100 ..             pages that a program is given (UAR objects): then
 * there are none of the first kind, and total is 0 0x600 ..             pages
 * that a program takes for itself (ibv_alloc_td) 0x700                no
 * registers: the clock (clock.h)
 *
 * Register n of the first kind is called `4 * (n / 2) + n % 2` by libmlx5. Its
 * last `low` ones are for one QP each, and those between the first and them for
 * several; the first is for who finds none. */
#ifndef MGDS_HCA_BAR_H
#define MGDS_HCA_BAR_H

#include <stdint.h>

struct mgds_hca;
struct mgds_hca_uar;

enum {
    MGDS_HCA_BFREGS = 512,
    MGDS_HCA_DYNAMIC_BFREGS = 512,
    MGDS_HCA_OBJECT_PAGE = 0x100,
    MGDS_HCA_DYNAMIC_PAGE = 0x600
};

/* Pages that the engine knows. */
struct mgds_hca_bar_page {
    uint32_t number;
    struct mgds_hca_uar *uar;
    struct mgds_hca_bar_page *next;
};

struct mgds_hca_bar {
    uint8_t *base;
    struct mgds_hca_bar_page *pages;
    uint32_t total; /* registers of the first kind */
    uint32_t low;
    uint16_t users[MGDS_HCA_BFREGS];
};

/* Makes the memory, and a descriptor with it in *fd. 0 or negative errno. */
int mgds_hca_bar_open(struct mgds_hca_bar *bar, int *fd);

/* No queue uses it any more. The descriptor is the program's. */
void mgds_hca_bar_close(struct mgds_hca_bar *bar);

/* That page, as the engine has it. -EINVAL: there is none; -ENOMEM. */
int mgds_hca_bar_uar(struct mgds_hca_bar *bar, struct mgds_hca *engine,
                     uint32_t number, struct mgds_hca_uar **out);

/* The engine looks there no more. -EBUSY: a queue uses it. */
int mgds_hca_bar_drop(struct mgds_hca_bar *bar, uint32_t number);

/* A register for a new QP, of the first kind, and its end. */
uint32_t mgds_hca_bar_take(struct mgds_hca_bar *bar);
void mgds_hca_bar_give(struct mgds_hca_bar *bar, uint32_t bfreg);

#endif
