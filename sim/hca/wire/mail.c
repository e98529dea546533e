/* Mailboxes: packets as datagrams. */
#include "sim/hca/wire/mail.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "sim/hca/wire/registry.h"

/* Calls of receive without a look at an empty mailbox: with other hosts, and
 * without, when only wakings come. */
enum { SKIP_USED = 7, SKIP_UNUSED = 63, ROOM = 1 << 20 };

/* A mailbox holds net.unix.max_dgram_qlen packets (512), of which a round takes
 * more than fifty; and it may be skipped before. */
enum { ROUNDS = 16 };

/* By the descriptor of the folder: its name is too long for an address. */
static struct sockaddr_un address_of(int directory, uint16_t lid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[MGDS_HCA_NAME];

    mgds_hca_registry_mail(name, lid);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
             directory, name);
    return address;
}

int mgds_hca_mail_open(struct mgds_hca_mail *mail, int directory, uint16_t lid)
{
    struct sockaddr_un address = address_of(directory, lid);
    const int room = ROOM;
    int at = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc;

    if (at < 0)
        return -errno;
    /* Who had the LID before us may have died without removing it. */
    unlink(address.sun_path);
    /* Of what is on its way from here; less is only slower. */
    setsockopt(at, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    if (bind(at, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        rc = -errno;
        close(at);
        return rc;
    }
    mail->directory = directory;
    mail->socket = at;
    mail->skip = 0;
    mail->used = false;
    return 0;
}

void mgds_hca_mail_close(struct mgds_hca_mail *mail)
{
    close(mail->socket);
    mail->socket = -1;
}

void mgds_hca_mail_look(struct mgds_hca_mail *mail)
{
    mail->skip = 0;
}

void mgds_hca_mail_wake(const struct mgds_hca_mail *mail, uint16_t lid)
{
    struct sockaddr_un to = address_of(mail->directory, lid);

    /* A mailbox that is full wakes its owner as well. */
    sendto(mail->socket, NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL,
           (const struct sockaddr *)&to, sizeof(to));
}

static int connect_link(void *ctx, const struct mgds_hca_link *link, int file)
{
    struct mgds_hca_mail *mail = ctx;

    (void)link;
    (void)file;
    mail->used = true;
    return 0;
}

static bool send_packet(void *ctx, const struct mgds_hca_link *link,
                        const struct mgds_hca_packet *packet,
                        const struct mgds_hca_list *payload)
{
    const struct mgds_hca_mail *mail = ctx;
    struct sockaddr_un to = address_of(mail->directory, link->lid);
    struct iovec part[MGDS_HCA_PIECES + 1] = {
        {(void *)(uintptr_t)packet, sizeof(*packet)}};
    struct msghdr message = {.msg_name = &to,
                             .msg_namelen = sizeof(to),
                             .msg_iov = part,
                             .msg_iovlen = payload->count + 1};

    for (unsigned i = 0; i < payload->count; i++)
        part[i + 1] = (struct iovec){payload->piece[i].at,
                                     (size_t)payload->piece[i].bytes};
    if (sendmsg(mail->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return true;
    /* Of who is not there any more it is lost. */
    return errno != EAGAIN && errno != ENOBUFS && errno != EINTR;
}

/* 1: a packet; 0: a datagram that is none; -1: nothing is there. */
static int read_datagram(struct mgds_hca_mail *mail,
                         struct mgds_hca_packet *packet)
{
    struct iovec part[] = {{packet, sizeof(*packet)},
                           {mail->payload, sizeof(mail->payload)}};
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};
    ssize_t bytes = recvmsg(mail->socket, &message, MSG_DONTWAIT);

    if (bytes < 0)
        return -1;
    /* Without a whole header, as of a waking, there are no bytes to compare. */
    return (size_t)bytes >= sizeof(*packet) &&
           (size_t)bytes == sizeof(*packet) + packet->bytes &&
           !(message.msg_flags & MSG_TRUNC);
}

static bool receive_packet(void *ctx, struct mgds_hca_packet *packet,
                           struct mgds_hca_list *payload)
{
    struct mgds_hca_mail *mail = ctx;
    int got;

    if (mail->skip > 0) {
        mail->skip--;
        return false;
    }
    do
        got = read_datagram(mail, packet);
    while (got == 0);
    if (got < 0) {
        mail->skip = mail->used ? SKIP_USED : SKIP_UNUSED;
        return false;
    }
    mail->used = true;
    mgds_hca_list_init(payload);
    if (packet->bytes)
        mgds_hca_list_add(payload, mail->payload, packet->bytes);
    return true;
}

struct mgds_hca_medium mgds_hca_mail_medium(struct mgds_hca_mail *mail)
{
    return (struct mgds_hca_medium){.connect = connect_link,
                                    .send = send_packet,
                                    .receive = receive_packet,
                                    .rounds = ROUNDS,
                                    .ctx = mail};
}
