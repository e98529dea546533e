/* Takes commands apart, has them done, and hands back responses. */
#include "sim/hca/front/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "shim/base/log.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/pump.h"
#include "sim/hca/front/user.h"
#include "sim/hca/front/verbs.h"

/* The largest of any row. */
enum { ROOM = 512 };

struct mgds_hca_row {
    const char *name;
    mgds_hca_handler handler;
    uint32_t command; /* with the bit of extended ones */
    size_t request;
    size_t response;
    size_t driver_request;
    size_t driver_response;
};

struct mgds_none {
    char nothing[0];
};

#define MGDS_ROW(number, text, handler, in, out, driver_in, driver_out)        \
    {text,                                                                     \
     mgds_hca_verbs_##handler,                                                 \
     number,                                                                   \
     sizeof(struct in),                                                        \
     sizeof(struct out),                                                       \
     sizeof(struct driver_in),                                                 \
     sizeof(struct driver_out)},

static const struct mgds_hca_row rows[] = {
#define X(name, ...) MGDS_ROW(IB_USER_VERBS_CMD_##name, #name, __VA_ARGS__)
#define EX(name, ...)                                                          \
    MGDS_ROW(IB_USER_VERBS_CMD_##name | IB_USER_VERBS_CMD_FLAG_EXTENDED,       \
             "EX_" #name, __VA_ARGS__)
#include "sim/hca/front/uverbs.def"
#undef X
#undef EX
};

int mgds_hca_not_modelled(const char *command, const char *what)
{
    mgds_debug("software HCA: %s: not modelled: %s", command, what);
    return -EOPNOTSUPP;
}

static const struct mgds_hca_row *find_row(uint32_t number)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].command == number)
            return &rows[i];
    }
    return NULL;
}

static int read_pointer(uint8_t **to, const uint8_t *from)
{
    uint64_t address = 0;
    int rc = mgds_hca_user_read(&address, from, sizeof(address));

    *to = (uint8_t *)(uintptr_t)address;
    return rc;
}

/* The old form: one count of words each way, and the address of the response in
 * the request of those that have one. */
static int split_plain(const struct mgds_hca_row *row,
                       const struct ib_uverbs_cmd_hdr *header,
                       const uint8_t *data, struct mgds_hca_parts *parts)
{
    int rc = 0;
    size_t in = header->in_words * (size_t)4 - sizeof(*header);
    size_t out = header->out_words * (size_t)4;

    if (in < row->request || out < row->response)
        return in < row->request ? -EINVAL : -ENOSPC;
    parts->request = data + sizeof(*header);
    parts->request_bytes = row->request;
    parts->driver_request = parts->request + row->request;
    parts->driver_request_bytes = in - row->request;
    if (row->response > 0)
        rc = read_pointer(&parts->response, parts->request);
    parts->response_bytes = row->response;
    parts->driver_response =
        parts->response ? parts->response + row->response : NULL;
    parts->driver_response_bytes = out - row->response;
    return rc;
}

static int split_extended(const struct ib_uverbs_cmd_hdr *header,
                          const uint8_t *data, size_t bytes,
                          struct mgds_hca_parts *parts)
{
    struct ib_uverbs_ex_cmd_hdr more;

    if (bytes < sizeof(*header) + sizeof(more))
        return -EINVAL;
    if (mgds_hca_user_read(&more, data + sizeof(*header), sizeof(more)) < 0)
        return -EFAULT;
    parts->request = data + sizeof(*header) + sizeof(more);
    parts->request_bytes = header->in_words * (size_t)8;
    parts->driver_request = parts->request + parts->request_bytes;
    parts->driver_request_bytes = more.provider_in_words * (size_t)8;
    parts->response = (uint8_t *)(uintptr_t)more.response;
    parts->response_bytes = header->out_words * (size_t)8;
    parts->driver_response =
        parts->response ? parts->response + parts->response_bytes : NULL;
    parts->driver_response_bytes = more.provider_out_words * (size_t)8;
    if (sizeof(*header) + sizeof(more) + parts->request_bytes +
            parts->driver_request_bytes !=
        bytes)
        return -EINVAL;
    return 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* -EOPNOTSUPP: it says something. */
static int read_nothing(const uint8_t *from, size_t bytes)
{
    uint8_t part[64];

    for (size_t at = 0, now; at < bytes; at += now) {
        now = least(bytes - at, sizeof(part));
        if (mgds_hca_user_read(part, from + at, now) < 0)
            return -EFAULT;
        for (size_t i = 0; i < now; i++) {
            if (part[i] != 0)
                return -EOPNOTSUPP;
        }
    }
    return 0;
}

/* Reads as much of the request as the row knows; bytes behind that must say
 * nothing. */
static int read_request(uint8_t *to, size_t known, const uint8_t *from,
                        size_t bytes)
{
    int rc = mgds_hca_user_read(to, from, least(bytes, known));

    return rc < 0 || bytes <= known ? rc
                                    : read_nothing(from + known, bytes - known);
}

static int execute(struct mgds_hca_file *file, const struct mgds_hca_row *row,
                   const struct mgds_hca_parts *parts)
{
    _Alignas(8) uint8_t in[ROOM] = {0}, driver_in[ROOM] = {0};
    _Alignas(8) uint8_t out[ROOM] = {0}, driver_out[ROOM] = {0};
    struct mgds_hca_command command = {
        .name = row->name,
        .request = in,
        .driver_request = driver_in,
        .response = out,
        .driver_response = driver_out,
        .request_bytes = parts->request_bytes,
        .driver_request_bytes = parts->driver_request_bytes,
        .response_room = least(parts->response_bytes, row->response),
        .driver_response_room =
            least(parts->driver_response_bytes, row->driver_response),
    };
    int rc;

    rc = read_request(in, row->request, parts->request, parts->request_bytes);
    if (rc == -EOPNOTSUPP)
        return mgds_hca_not_modelled(command.name, "more than it knows");
    if (rc < 0)
        return rc;
    rc = read_request(driver_in, row->driver_request, parts->driver_request,
                      parts->driver_request_bytes);
    if (rc == -EOPNOTSUPP)
        return mgds_hca_not_modelled(command.name,
                                     "more of libmlx5 than it knows");
    if (rc == 0)
        rc = row->handler(file, &command);
    if (rc < 0)
        return rc;
    /* An object that was made stays, though nobody is told: it goes with the
     * file. */
    if (parts->response)
        rc = mgds_hca_user_write(parts->response, out, command.response_room);
    if (rc == 0 && parts->driver_response)
        rc = mgds_hca_user_write(parts->driver_response, driver_out,
                                 command.driver_response_room);
    return rc;
}

/* NULL, and why in *rc: it is not modelled, or comes before GET_CONTEXT. */
static const struct mgds_hca_row *choose_row(const struct mgds_hca_file *file,
                                             uint32_t number, int *rc)
{
    const struct mgds_hca_row *row = find_row(number);

    *rc = -EOPNOTSUPP;
    if (!row)
        mgds_debug("software HCA: command 0x%x: not modelled", number);
    if (!row || file->adapter || number == IB_USER_VERBS_CMD_GET_CONTEXT)
        return row;
    *rc = -EINVAL;
    return NULL;
}

int mgds_hca_command_run(struct mgds_hca_file *file, uint32_t number,
                         const struct mgds_hca_parts *parts)
{
    bool extended = number & IB_USER_VERBS_CMD_FLAG_EXTENDED;
    int rc;
    const struct mgds_hca_row *row = choose_row(file, number, &rc);

    if (!row)
        return rc;
    if (!extended && parts->request_bytes < row->request)
        return -EINVAL;
    if (!extended && parts->response_bytes < row->response)
        return -ENOSPC;
    return execute(file, row, parts);
}

static int run_write(struct mgds_hca_file *file, const void *data, size_t bytes)
{
    struct ib_uverbs_cmd_hdr header;
    struct mgds_hca_parts parts = {0};
    const struct mgds_hca_row *row;
    bool extended;
    int rc;

    if (mgds_hca_user_read(&header, data, sizeof(header)) < 0)
        return -EFAULT;
    row = choose_row(file, header.command, &rc);
    if (!row)
        return rc;
    extended = header.command & IB_USER_VERBS_CMD_FLAG_EXTENDED;
    if (!extended && header.in_words * (size_t)4 != bytes)
        return -EINVAL;
    rc = extended ? split_extended(&header, data, bytes, &parts)
                  : split_plain(row, &header, data, &parts);
    return rc < 0 ? rc : execute(file, row, &parts);
}

int mgds_hca_command_write(int fd, const void *data, size_t bytes)
{
    struct mgds_hca_file *file;
    int rc = -EINVAL;

    if (bytes < sizeof(struct ib_uverbs_cmd_hdr))
        return -EINVAL;
    if (!mgds_hca_pump_serves())
        return -EIO;
    mgds_hca_lock();
    file = mgds_hca_file_find(fd);
    if (file)
        rc = run_write(file, data, bytes);
    mgds_hca_unlock();
    return rc;
}
