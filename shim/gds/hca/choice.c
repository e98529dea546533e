/* Choosing ports: filters first, then an order. */
#include "shim/gds/hca/choice.h"

#include <errno.h>

#include "shim/gds/hca/netdevs.h"

typedef bool (*filter_fn)(const struct mgds_port *port,
                          const struct mgds_choice *choice);

static bool is_connectx(const struct mgds_port *port,
                        const struct mgds_choice *choice)
{
    (void)choice;
    return port->connectx && port->link != MGDS_LINK_OTHER;
}

static bool is_allowed(const struct mgds_port *port,
                       const struct mgds_choice *choice)
{
    return mgds_netdevs_allow(choice->allowed, port->device, port->number);
}

static bool is_active(const struct mgds_port *port,
                      const struct mgds_choice *choice)
{
    (void)choice;
    return port->active;
}

/* What is said when none is left behind a filter. */
static const struct {
    filter_fn keeps;
    enum mgds_refusal_reason reason;
} filters[] = {
    {is_connectx, MGDS_REFUSAL_NO_CONNECTX},
    {is_allowed, MGDS_REFUSAL_NOT_NAMED},
    {is_active, MGDS_REFUSAL_PORT_DOWN},
};

static void swap(struct mgds_port *a, struct mgds_port *b)
{
    struct mgds_port kept = *a;

    *a = *b;
    *b = kept;
}

/* Those that are kept, to the front and in their order; how many. */
static unsigned keep(struct mgds_port *ports, unsigned count, filter_fn keeps,
                     const struct mgds_choice *choice)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < count; i++)
        if (keeps(&ports[i], choice))
            swap(&ports[kept++], &ports[i]);
    return kept;
}

static enum mgds_distance distance_of(const struct mgds_port *port,
                                      const struct mgds_choice *choice)
{
    return choice->gpu ? mgds_pci_distance(&port->pci, choice->gpu)
                       : MGDS_DISTANCE_PIX;
}

/* Negative: a is the better one; 0: they are alike. */
static int compare(const struct mgds_port *a, const struct mgds_port *b,
                   const struct mgds_choice *choice)
{
    int nearer = (int)distance_of(a, choice) - (int)distance_of(b, choice);

    if (nearer)
        return nearer;
    if (a->rate != b->rate)
        return a->rate > b->rate ? -1 : 1;
    return (int)a->link - (int)b->link;
}

/* By insertion: those that are alike stay in their order. */
static void sort(struct mgds_port *ports, unsigned count,
                 const struct mgds_choice *choice)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = i;
             k > 0 && compare(&ports[k], &ports[k - 1], choice) < 0; k--)
            swap(&ports[k], &ports[k - 1]);
}

static int refuse(struct mgds_refusal *refusal, enum mgds_refusal_reason reason)
{
    (void)mgds_refuse(refusal, reason, 0);
    return -ENODEV;
}

int mgds_choose_ports(struct mgds_port *ports, unsigned count,
                      const struct mgds_choice *choice,
                      struct mgds_refusal *refusal)
{
    unsigned chosen = 1;

    if (count == 0)
        return refuse(refusal, MGDS_REFUSAL_NO_DEVICE);
    for (unsigned i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        count = keep(ports, count, filters[i].keeps, choice);
        if (count == 0)
            return refuse(refusal, filters[i].reason);
    }
    sort(ports, count, choice);
    while (chosen < count && chosen < choice->most &&
           compare(&ports[0], &ports[chosen], choice) == 0)
        chosen++;
    return (int)chosen;
}
