/* Numbers of ports as GUID, GID and MAC address, and back. */
#include "sim/hca/front/gid.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>

#include <rdma/ib_user_verbs.h>

#include "sim/hca/address.h"
#include "sim/hca/front/settings.h"
#include "sim/hca/wire/inbox.h"

/* GUIDs that are administered locally. */
#define FIRST_GUID UINT64_C(0x0225c9fffe000000)

/* Rows that a setting adds, with a number of 0. */
static struct {
    struct mgds_hca_gid gid[MGDS_HCA_GIDS];
    unsigned count;
} more;

/* One address of the list. False: it is none. */
static bool read_gid(const char *text, size_t length, struct mgds_hca_gid *gid)
{
    char address[INET6_ADDRSTRLEN];

    if (length >= sizeof(address))
        return false;
    memcpy(address, text, length);
    address[length] = '\0';
    return inet_pton(AF_INET6, address, gid->raw) == 1;
}

/* NULL: all of it was read; or where it is wrong. */
static const char *read_gids(const char *text)
{
    size_t length;

    while (*text) {
        length = strcspn(text, ",");
        if (more.count + 1 == MGDS_HCA_GIDS ||
            !read_gid(text, length, &more.gid[more.count]) ||
            (text[length] && !text[length + 1]))
            return text;
        more.count++;
        text += length + (text[length] == ',');
    }
    return NULL;
}

static void load(void)
{
    const char *text = mgds_hca_settings()->gids, *wrong = read_gids(text);

    if (!wrong)
        return;
    more.count = 0;
    mgds_warn("MPIX_SIM_HCA_GIDS=%s: not understood from '%s' on, and GID "
              "tables have row 0 alone: write up to seven IPv6 addresses, as "
              "fd00::,::ffff:192.168.0.0",
              text, wrong);
}

unsigned mgds_hca_gids(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return 1 + more.count;
}

bool mgds_hca_is_ib(void)
{
    return mgds_hca_settings()->link == MGDS_HCA_LINK_IB;
}

uint64_t mgds_hca_guid(uint16_t number)
{
    return FIRST_GUID + number;
}

/* An IPv4 address of a private network, mapped. */
static void set_roce_gid(uint16_t number, uint8_t gid[16])
{
    const uint8_t network[16] = {[10] = 0xff, 0xff, 10, 165};

    memcpy(gid, network, sizeof(network));
    gid[14] = (uint8_t)(number >> 8);
    gid[15] = (uint8_t)number;
}

static void set_ib_gid(uint16_t number, uint8_t gid[16])
{
    uint64_t guid = mgds_hca_guid(number);

    memset(gid, 0, 16);
    gid[0] = 0xfe;
    gid[1] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        gid[8 + i] = (uint8_t)(guid >> (56 - 8 * i));
}

void mgds_hca_gid(uint16_t number, unsigned row, uint8_t gid[16])
{
    if (row > 0) {
        memcpy(gid, more.gid[row - 1].raw, 16);
        gid[14] = (uint8_t)(number >> 8);
        gid[15] = (uint8_t)number;
    } else if (mgds_hca_is_ib()) {
        set_ib_gid(number, gid);
    } else {
        set_roce_gid(number, gid);
    }
}

void mgds_hca_mac(uint16_t number, uint8_t mac[6])
{
    const uint8_t address[6] = {
        0x02, 0xc9, 0, 0, (uint8_t)(number >> 8), (uint8_t)number};

    memcpy(mac, address, sizeof(address));
}

uint16_t mgds_hca_gid_number(const uint8_t gid[16])
{
    uint16_t number = (uint16_t)(gid[14] << 8 | gid[15]);
    unsigned rows = mgds_hca_gids();
    uint8_t own[16];

    for (unsigned row = 0; row < rows; row++) {
        mgds_hca_gid(number, row, own);
        if (memcmp(own, gid, sizeof(own)) == 0)
            return number;
    }
    return 0;
}

struct mgds_hca_address mgds_hca_path(const struct ib_uverbs_qp_dest *to)
{
    struct mgds_hca_address address = {
        .lid = mgds_hca_is_ib() ? to->dlid : 0,
        .global = to->is_global,
    };

    if (address.global)
        memcpy(address.gid.raw, to->dgid, sizeof(address.gid.raw));
    return address;
}

uint16_t mgds_hca_path_number(const struct mgds_hca_address *address)
{
    uint16_t number =
        address->global ? mgds_hca_gid_number(address->gid.raw) : address->lid;

    return mgds_hca_is_ib() && address->lid != number ? 0 : number;
}
