/* The medium between hosts: a datagram is a packet, from the mailbox of one
 * device to another's, which are sockets in the folder of the job (registry.h).
 * They have names in the file system, so that network namespaces reach each
 * other. A full mailbox delays; who has none any more is not told.
 *
 * An empty datagram has no packet: it wakes who sleeps (inbox.h), and comes
 * from devices of the same host.
 *
 * Under the lock of the device, but for mgds_hca_mail_wake. */
#ifndef MGDS_SIM_HCA_WIRE_MAIL_H
#define MGDS_SIM_HCA_WIRE_MAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/wire/medium.h"

enum { MGDS_HCA_PAYLOAD = 4096 };

struct mgds_hca_mail {
    int directory;
    int socket;
    unsigned skip; /* calls of receive that do not look: it costs */
    bool used;     /* there are other hosts */
    uint8_t payload[MGDS_HCA_PAYLOAD];
};

/* The mailbox of a LID, which is the caller's. What socket and bind say. */
int mgds_hca_mail_open(struct mgds_hca_mail *mail, int directory, uint16_t lid);
void mgds_hca_mail_close(struct mgds_hca_mail *mail);

struct mgds_hca_medium mgds_hca_mail_medium(struct mgds_hca_mail *mail);

/* The next call of receive looks. */
void mgds_hca_mail_look(struct mgds_hca_mail *mail);

/* Wakes the device of that LID. Any thread. */
void mgds_hca_mail_wake(const struct mgds_hca_mail *mail, uint16_t lid);

#endif
