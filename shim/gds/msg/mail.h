/*
 * Orders of one message (stream/order.h), in the mailboxes of all streams whose
 * kernels could copy it: its own, and others of the same context, which reach
 * the same memory. Which of them stand, and in a kernel of ours, nobody knows;
 * the claim sees to it that one copies. Each mailbox holds one order at a time.
 *
 * All under the engine's lock.
 */
#ifndef MGDS_MSG_MAIL_H
#define MGDS_MSG_MAIL_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_gstream;
struct mgds_command;

enum { MGDS_MAIL_MOST = 8 };

struct mgds_mail {
    unsigned count; /* 0: no order was given */
    struct {
        struct mgds_gstream *stream; /* a reference */
        uint64_t order;
    } to[MGDS_MAIL_MOST];
};

/* Gives orders to those that have none of it yet. True: the first ones. */
bool mgds_mail_send(struct mgds_mail *mail, struct mgds_gstream *own,
                    const struct mgds_command *take);
/* Was it copied by order? */
bool mgds_mail_is_served(const struct mgds_mail *mail);
/* It was copied, by whomever: the orders are taken back. */
void mgds_mail_take_back(struct mgds_mail *mail);

#endif
