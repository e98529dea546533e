/* The network of a job. */
#include "sim/hca/wire/fabric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int claim_any(struct mgds_hca_fabric *fabric, uint16_t lid)
{
    uint16_t last = lid ? lid : MGDS_HCA_LIDS;
    int file = lid > MGDS_HCA_LIDS ? -EADDRNOTAVAIL : -EADDRINUSE;

    for (lid = lid ? lid : 1; lid <= last && file == -EADDRINUSE; lid++) {
        file = mgds_hca_registry_claim(fabric->directory, lid);
        fabric->lid = lid;
    }
    if (file == -EADDRINUSE && last == MGDS_HCA_LIDS)
        return -EADDRNOTAVAIL;
    return file;
}

/* The last one to leave may remove the folder while we come: then there is
 * another one. */
static int enter_folder(struct mgds_hca_fabric *fabric, uint16_t lid)
{
    int rc;

    do {
        fabric->directory = mgds_hca_registry_open(fabric->folder);
        if (fabric->directory < 0)
            return fabric->directory;
        rc = claim_any(fabric, lid);
        if (rc < 0)
            mgds_hca_registry_close(fabric->directory, fabric->folder);
    } while (rc == -ENOENT);
    fabric->file = rc;
    return rc < 0 ? rc : 0;
}

static void leave_folder(struct mgds_hca_fabric *fabric)
{
    mgds_hca_registry_leave(fabric->directory, fabric->lid, fabric->file);
    mgds_hca_registry_close(fabric->directory, fabric->folder);
}

/* By a description of its own: a mapping keeps its description as long as a
 * child that was forked has it, and a lock with it. */
static int make_inbox(struct mgds_hca_fabric *fabric, uint64_t host)
{
    int file = mgds_hca_registry_find(fabric->directory, fabric->lid), rc;

    if (file < 0)
        return file;
    rc = mgds_hca_inbox_make(file, host, &fabric->inbox);
    close(file);
    return rc;
}

/* The mailbox is there before the device can be found. */
static int open_media(struct mgds_hca_fabric *fabric, uint64_t host)
{
    int rc = mgds_hca_mail_open(&fabric->mail, fabric->directory, fabric->lid);

    if (rc < 0)
        return rc;
    rc = make_inbox(fabric, host);
    if (rc < 0) {
        mgds_hca_mail_close(&fabric->mail);
        return rc;
    }
    fabric->lanes.lid = fabric->lid;
    fabric->lanes.inbox = fabric->inbox;
    fabric->lanes.mail = &fabric->mail;
    fabric->medium[MGDS_CARRIER_LANES] = mgds_hca_lanes_medium(&fabric->lanes);
    fabric->medium[MGDS_CARRIER_MAIL] = mgds_hca_mail_medium(&fabric->mail);
    return 0;
}

int mgds_hca_fabric_open(struct mgds_hca_fabric **out, const char *folder,
                         uint16_t lid, uint64_t host)
{
    struct mgds_hca_fabric *fabric;
    int rc;

    if (strlen(folder) >= MGDS_HCA_FOLDER)
        return -ENAMETOOLONG;
    fabric = calloc(1, sizeof(*fabric));
    if (!fabric)
        return -ENOMEM;
    snprintf(fabric->folder, sizeof(fabric->folder), "%s", folder);
    rc = enter_folder(fabric, lid);
    if (rc == 0) {
        rc = open_media(fabric, host);
        if (rc == 0) {
            *out = fabric;
            return 0;
        }
        leave_folder(fabric);
    }
    free(fabric);
    return rc;
}

static void close_link(struct mgds_hca_link *link)
{
    if (!link->inbox)
        return;
    mgds_hca_inbox_close(link->inbox);
    link->inbox = NULL;
}

void mgds_hca_fabric_close(struct mgds_hca_fabric *fabric)
{
    for (unsigned lid = 1; lid <= MGDS_HCA_LIDS; lid++)
        close_link(&fabric->link[lid]);
    mgds_hca_mail_close(&fabric->mail);
    leave_folder(fabric);
    mgds_hca_inbox_close(fabric->inbox);
    free(fabric);
}

/* A lock is the descriptor's, which both processes have: it would last as long
 * as the child, and so would a mailbox that nobody looks into. */
void mgds_hca_fabric_forget(struct mgds_hca_fabric *fabric)
{
    mgds_hca_mail_close(&fabric->mail);
    close(fabric->file);
    fabric->file = -1;
}

static int open_link(struct mgds_hca_fabric *fabric, struct mgds_hca_link *link,
                     int file)
{
    int rc = mgds_hca_inbox_open(file, &link->inbox);
    bool near;

    if (rc < 0)
        return rc;
    near = link->inbox->host == fabric->inbox->host;
    link->medium =
        &fabric->medium[near ? MGDS_CARRIER_LANES : MGDS_CARRIER_MAIL];
    rc = link->medium->connect(link->medium->ctx, link, file);
    if (rc < 0)
        close_link(link);
    return rc;
}

/* The owner of a LID may be another one than before: then the file is. */
static void connect_lid(struct mgds_hca_fabric *fabric, uint16_t lid)
{
    struct mgds_hca_link *link = &fabric->link[lid];
    int file;

    if (link->inbox && mgds_hca_inbox_alive(link->inbox))
        return;
    mgds_hca_fabric_flush(fabric);
    close_link(link);
    file = mgds_hca_registry_find(fabric->directory, lid);
    if (file < 0)
        return;
    link->lid = lid;
    open_link(fabric, link, file);
    close(file);
}

uint16_t mgds_hca_fabric_lid_of(const struct mgds_hca_address *address)
{
    const uint8_t *gid = address->gid.raw;

    if (address->lid || !address->global)
        return address->lid;
    return (uint16_t)(gid[14] << 8 | gid[15]);
}

uint16_t mgds_hca_fabric_find(struct mgds_hca_fabric *fabric,
                              const struct mgds_hca_address *address)
{
    uint16_t lid = mgds_hca_fabric_lid_of(address);
    const struct mgds_hca_inbox *inbox;

    if (lid == 0 || lid > MGDS_HCA_LIDS)
        return 0;
    connect_lid(fabric, lid);
    inbox = fabric->link[lid].inbox;
    if (!inbox ||
        (address->global && mgds_hca_inbox_find_gid(inbox, &address->gid) < 0))
        return 0;
    return lid;
}

bool mgds_hca_fabric_send(struct mgds_hca_fabric *fabric, uint16_t lid,
                          const struct mgds_hca_packet *packet,
                          const struct mgds_hca_list *payload)
{
    const struct mgds_hca_link *link =
        &fabric->link[lid <= MGDS_HCA_LIDS ? lid : 0];

    return !link->inbox ||
           link->medium->send(link->medium->ctx, link, packet, payload);
}

void mgds_hca_fabric_flush(struct mgds_hca_fabric *fabric)
{
    mgds_hca_lanes_flush(&fabric->lanes);
}

bool mgds_hca_fabric_receive(struct mgds_hca_fabric *fabric,
                             struct mgds_hca_packet *packet,
                             struct mgds_hca_list *payload)
{
    const struct mgds_hca_medium *medium;

    for (unsigned i = 0; i < MGDS_CARRIERS; i++) {
        medium = &fabric->medium[fabric->turn++ % MGDS_CARRIERS];
        if (medium->receive(medium->ctx, packet, payload))
            return true;
    }
    return false;
}

bool mgds_hca_fabric_lie_down(struct mgds_hca_fabric *fabric)
{
    mgds_hca_inbox_lie_down(fabric->inbox);
    if (!mgds_hca_lanes_filled(&fabric->lanes))
        return true;
    mgds_hca_fabric_get_up(fabric);
    return false;
}

void mgds_hca_fabric_get_up(struct mgds_hca_fabric *fabric)
{
    mgds_hca_inbox_get_up(fabric->inbox);
    mgds_hca_mail_look(&fabric->mail);
}
