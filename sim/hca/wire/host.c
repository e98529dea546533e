/* The medium of one host. */
#include "sim/hca/wire/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Packets of one sender before it is another one's turn. */
enum { TURN = 32 };

static int claim_any(struct mgds_hca_host *host, uint16_t lid)
{
    uint16_t last = lid ? lid : MGDS_HCA_LIDS;
    int file = lid > MGDS_HCA_LIDS ? -EADDRNOTAVAIL : -EADDRINUSE;

    for (lid = lid ? lid : 1; lid <= last && file == -EADDRINUSE; lid++) {
        file = mgds_hca_registry_claim(host->directory, lid);
        host->lid = lid;
    }
    if (file == -EADDRINUSE && last == MGDS_HCA_LIDS)
        return -EADDRNOTAVAIL;
    return file;
}

/* The last one to leave may remove the folder while we come: then there is
 * another one. */
static int enter_folder(struct mgds_hca_host *host, uint16_t lid)
{
    int rc;

    do {
        host->directory = mgds_hca_registry_open(host->folder);
        if (host->directory < 0)
            return host->directory;
        rc = claim_any(host, lid);
        if (rc < 0)
            mgds_hca_registry_close(host->directory, host->folder);
    } while (rc == -ENOENT);
    host->file = rc;
    return rc < 0 ? rc : 0;
}

int mgds_hca_host_open(struct mgds_hca_host **out, const char *folder,
                       uint16_t lid)
{
    struct mgds_hca_host *host;
    int rc;

    if (strlen(folder) >= MGDS_HCA_FOLDER)
        return -ENAMETOOLONG;
    host = calloc(1, sizeof(*host));
    if (!host)
        return -ENOMEM;
    snprintf(host->folder, sizeof(host->folder), "%s", folder);
    rc = enter_folder(host, lid);
    if (rc == 0) {
        rc = mgds_hca_inbox_map(host->file, &host->inbox);
        if (rc == 0) {
            *out = host;
            return 0;
        }
        mgds_hca_registry_leave(host->directory, host->lid, host->file);
        mgds_hca_registry_close(host->directory, host->folder);
    }
    free(host);
    return rc;
}

void mgds_hca_host_close(struct mgds_hca_host *host)
{
    for (unsigned lid = 1; lid <= MGDS_HCA_LIDS; lid++)
        mgds_hca_link_close(&host->link[lid]);
    mgds_hca_inbox_unmap(host->inbox);
    mgds_hca_registry_leave(host->directory, host->lid, host->file);
    mgds_hca_registry_close(host->directory, host->folder);
    free(host);
}

/* The owner of a LID may be another one than before: then the file is. */
static void connect_lid(void *ctx, uint16_t lid)
{
    struct mgds_hca_host *host = ctx;
    struct mgds_hca_link *link;
    struct stat stat;
    int file;

    if (lid == 0 || lid > MGDS_HCA_LIDS)
        return;
    link = &host->link[lid];
    file = mgds_hca_registry_find(host->directory, lid);
    if (file < 0 || fstat(file, &stat) < 0 || stat.st_ino != link->file)
        mgds_hca_link_close(link);
    if (file < 0)
        return;
    if (!link->inbox)
        mgds_hca_link_open(link, file, host->lid);
    close(file);
}

static bool send_packet(void *ctx, uint16_t lid,
                        const struct mgds_hca_packet *packet,
                        const struct mgds_hca_list *payload)
{
    const struct mgds_hca_host *host = ctx;
    const struct mgds_hca_link *link =
        &host->link[lid <= MGDS_HCA_LIDS ? lid : 0];

    if (!link->inbox)
        return true;
    if (!mgds_hca_lane_put(link->lane, packet, payload))
        return false;
    mgds_hca_inbox_ring(link->inbox);
    return true;
}

static void add_sender(struct mgds_hca_host *host, unsigned lid)
{
    if (lid == 0 || lid > MGDS_HCA_LIDS || host->end[lid].lane)
        return;
    host->end[lid].lane = mgds_hca_inbox_lane(host->inbox, (uint16_t)lid);
    host->sender[host->senders++] = (uint16_t)lid;
}

/* Lanes that came into use. */
static void look_for_senders(struct mgds_hca_host *host)
{
    unsigned known = 0;
    uint64_t set;

    for (unsigned i = 0; i < MGDS_HCA_SENDER_SETS; i++) {
        set = __atomic_load_n(&host->inbox->senders[i], __ATOMIC_SEQ_CST);
        known += (unsigned)__builtin_popcountll(set);
    }
    if (known == host->senders)
        return;
    for (unsigned lid = 1; lid <= MGDS_HCA_LIDS; lid++) {
        set =
            __atomic_load_n(&host->inbox->senders[lid / 64], __ATOMIC_SEQ_CST);
        if (set >> lid % 64 & 1)
            add_sender(host, lid);
    }
}

static struct mgds_hca_lane_end *current_end(struct mgds_hca_host *host)
{
    return &host->end[host->sender[host->turn]];
}

static void next_turn(struct mgds_hca_host *host)
{
    mgds_hca_lane_release(current_end(host));
    host->taken = 0;
    host->turn = (host->turn + 1) % host->senders;
}

static bool receive_packet(void *ctx, struct mgds_hca_packet *packet,
                           struct mgds_hca_list *payload)
{
    struct mgds_hca_host *host = ctx;

    look_for_senders(host);
    for (unsigned tried = 0; tried < host->senders; tried++) {
        if (host->taken == TURN)
            next_turn(host);
        if (mgds_hca_lane_take(current_end(host), packet, payload)) {
            host->taken++;
            return true;
        }
        next_turn(host);
    }
    return false;
}

struct mgds_hca_medium mgds_hca_host_medium(struct mgds_hca_host *host)
{
    return (struct mgds_hca_medium){
        .connect = connect_lid,
        .send = send_packet,
        .receive = receive_packet,
        .ctx = host,
        .lid = host->lid,
    };
}

static bool has_packets(struct mgds_hca_host *host)
{
    look_for_senders(host);
    for (unsigned i = 0; i < host->senders; i++) {
        if (mgds_hca_lane_filled(&host->end[host->sender[i]]))
            return true;
    }
    return false;
}

void mgds_hca_host_rest(struct mgds_hca_host *host, uint64_t ns)
{
    uint32_t bell = mgds_hca_inbox_lie_down(host->inbox);

    if (!has_packets(host))
        mgds_hca_inbox_sleep(host->inbox, bell, ns);
    mgds_hca_inbox_get_up(host->inbox);
}
