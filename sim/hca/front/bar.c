/* Memory, pages and registers of an opened device. */
#include "sim/hca/front/bar.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/cuda/hooks.h"
#include "sim/hca/doorbell.h"
#include "sim/hca/front/clock.h"

enum { PAGES = 2048 };

static const size_t bar_bytes = (size_t)PAGES * MGDS_UAR_BYTES;

static int map_memory(struct mgds_hca_bar *bar, int fd)
{
    void *base;

    if (ftruncate(fd, (off_t)bar_bytes) < 0)
        return -errno;
    base = mmap(NULL, bar_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    bar->base = base;
    return 0;
}

int mgds_hca_bar_open(struct mgds_hca_bar *bar, int *fd)
{
    int rc;

    *bar = (struct mgds_hca_bar){0};
    *fd = memfd_create(MGDS_SIM_BAR_NAME, MFD_CLOEXEC);
    if (*fd < 0)
        return -errno;
    rc = map_memory(bar, *fd);
    if (rc < 0)
        close(*fd);
    else
        mgds_hca_clock_fill(bar->base +
                            (size_t)MGDS_HCA_CLOCK_PAGE * MGDS_UAR_BYTES);
    return rc;
}

void mgds_hca_bar_close(struct mgds_hca_bar *bar)
{
    struct mgds_hca_bar_page *page;

    while ((page = bar->pages)) {
        bar->pages = page->next;
        mgds_hca_uar_detach(page->uar);
        free(page);
    }
    munmap(bar->base, bar_bytes);
}

int mgds_hca_bar_uar(struct mgds_hca_bar *bar, struct mgds_hca *engine,
                     uint32_t number, struct mgds_hca_uar **out)
{
    struct mgds_hca_bar_page *page = bar->pages;
    int rc;

    if (number >= PAGES)
        return -EINVAL;
    while (page && page->number != number)
        page = page->next;
    if (!page) {
        page = calloc(1, sizeof(*page));
        if (!page)
            return -ENOMEM;
        rc = mgds_hca_uar_attach(
            engine, bar->base + (size_t)number * MGDS_UAR_BYTES, &page->uar);
        if (rc < 0) {
            free(page);
            return rc;
        }
        page->number = number;
        page->next = bar->pages;
        bar->pages = page;
    }
    *out = page->uar;
    return 0;
}

int mgds_hca_bar_drop(struct mgds_hca_bar *bar, uint32_t number)
{
    struct mgds_hca_bar_page **at = &bar->pages, *page;
    int rc;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    page = *at;
    rc = page ? mgds_hca_uar_detach(page->uar) : 0;
    if (!page || rc < 0)
        return rc;
    *at = page->next;
    free(page);
    return 0;
}

/* The one with the fewest users in [first, last), or `last`. */
static uint32_t emptiest(const struct mgds_hca_bar *bar, uint32_t first,
                         uint32_t last)
{
    uint32_t best = last;

    for (uint32_t i = first; i < last; i++) {
        if (best == last || bar->users[i] < bar->users[best])
            best = i;
    }
    return best;
}

uint32_t mgds_hca_bar_take(struct mgds_hca_bar *bar)
{
    uint32_t exclusive = bar->total - bar->low;
    uint32_t bfreg = emptiest(bar, exclusive, bar->total);

    if (bfreg == bar->total || bar->users[bfreg] > 0) {
        bfreg = emptiest(bar, 1, exclusive);
        if (bfreg == exclusive)
            bfreg = 0;
    }
    bar->users[bfreg]++;
    return bfreg;
}

void mgds_hca_bar_give(struct mgds_hca_bar *bar, uint32_t bfreg)
{
    bar->users[bfreg]--;
}
