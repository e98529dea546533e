/* Takes the methods of the ioctl interface apart, and has them done. */
#include "sim/hca/front/method.h"

#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "sim/hca/front/command.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/pump.h"
#include "sim/hca/front/user.h"

enum { ROOM = 4096 }; /* of a call: the kernel has the same limit */

struct method {
    uint16_t object;
    uint16_t number;
    int (*handler)(struct mgds_hca_file *file,
                   struct ib_uverbs_ioctl_hdr *call);
};

static const struct method methods[] = {
#define X(object, method, handler) {object, method, mgds_hca_method_##handler},
#include "sim/hca/front/methods.def"
#undef X
};

static struct ib_uverbs_attr *find(const struct ib_uverbs_ioctl_hdr *call,
                                   unsigned number)
{
    for (unsigned i = 0; i < call->num_attrs; i++) {
        if (call->attrs[i].attr_id == number)
            return (struct ib_uverbs_attr *)&call->attrs[i];
    }
    return NULL;
}

/* What is sent, up to eight bytes of it in the attribute itself. */
static const uint8_t *sent(const struct ib_uverbs_attr *attribute)
{
    if (attribute->len <= sizeof(attribute->data))
        return (const uint8_t *)&attribute->data;
    return (const uint8_t *)(uintptr_t)attribute->data;
}

uint64_t mgds_hca_method_get(const struct ib_uverbs_ioctl_hdr *call,
                             unsigned number)
{
    const struct ib_uverbs_attr *attribute = find(call, number);

    return attribute ? attribute->data : 0;
}

void mgds_hca_method_set(struct ib_uverbs_ioctl_hdr *call, unsigned number,
                         uint64_t handle)
{
    struct ib_uverbs_attr *attribute = find(call, number);

    if (attribute)
        attribute->data = handle;
}

void mgds_hca_method_put(const struct ib_uverbs_ioctl_hdr *call,
                         unsigned number, const void *data, size_t bytes)
{
    struct ib_uverbs_attr *attribute = find(call, number);

    if (!attribute)
        return;
    mgds_hca_user_write((void *)(uintptr_t)attribute->data, data,
                        bytes < attribute->len ? bytes : attribute->len);
    attribute->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
}

static void take_sent(const struct ib_uverbs_attr *attribute,
                      const uint8_t **data, size_t *bytes)
{
    if (!attribute)
        return;
    *data = sent(attribute);
    *bytes = attribute->len;
}

static void take_room(struct ib_uverbs_attr *attribute, uint8_t **data,
                      size_t *bytes)
{
    if (!attribute)
        return;
    *data = (uint8_t *)(uintptr_t)attribute->data;
    *bytes = attribute->len;
    attribute->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
}

bool mgds_hca_method_has(const struct ib_uverbs_ioctl_hdr *call,
                         unsigned number)
{
    return find(call, number);
}

int mgds_hca_method_read(const struct ib_uverbs_ioctl_hdr *call,
                         unsigned number, void *to, size_t bytes)
{
    const struct ib_uverbs_attr *attribute = find(call, number);

    if (!attribute || attribute->len < bytes)
        return -EINVAL;
    return mgds_hca_user_read(to, sent(attribute), bytes);
}

void mgds_hca_method_driver(const struct ib_uverbs_ioctl_hdr *call,
                            struct mgds_hca_parts *parts)
{
    take_sent(find(call, UVERBS_ATTR_UHW_IN), &parts->driver_request,
              &parts->driver_request_bytes);
    take_room(find(call, UVERBS_ATTR_UHW_OUT), &parts->driver_response,
              &parts->driver_response_bytes);
}

static int invoke(struct mgds_hca_file *file,
                  const struct ib_uverbs_ioctl_hdr *call)
{
    struct mgds_hca_parts parts = {0};

    take_sent(find(call, UVERBS_ATTR_CORE_IN), &parts.request,
              &parts.request_bytes);
    take_room(find(call, UVERBS_ATTR_CORE_OUT), &parts.response,
              &parts.response_bytes);
    mgds_hca_method_driver(call, &parts);
    return mgds_hca_command_run(
        file, (uint32_t)mgds_hca_method_get(call, UVERBS_ATTR_WRITE_CMD),
        &parts);
}

static int run_method(struct mgds_hca_file *file,
                      struct ib_uverbs_ioctl_hdr *call)
{
    if (call->object_id == UVERBS_OBJECT_DEVICE &&
        call->method_id == UVERBS_METHOD_INVOKE_WRITE)
        return invoke(file, call);
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (methods[i].object == call->object_id &&
            methods[i].number == call->method_id)
            return file->adapter ? methods[i].handler(file, call) : -EINVAL;
    }
    return -EPROTONOSUPPORT; /* libibverbs tries the command */
}

/* The call as it was when it came: the program may change its own. */
static int read_call(struct ib_uverbs_ioctl_hdr *call,
                     const struct ib_uverbs_ioctl_hdr *from)
{
    int rc = mgds_hca_user_read(call, from, sizeof(*call));

    if (rc < 0)
        return rc;
    if (call->length > ROOM)
        return -E2BIG;
    if (call->length !=
        sizeof(*call) + call->num_attrs * sizeof(call->attrs[0]))
        return -EINVAL;
    return mgds_hca_user_read(call, from, call->length);
}

int mgds_hca_method_ioctl(int fd, struct ib_uverbs_ioctl_hdr *call)
{
    _Alignas(struct ib_uverbs_ioctl_hdr) uint8_t room[ROOM];
    struct ib_uverbs_ioctl_hdr *copy = (void *)room;
    struct mgds_hca_file *file;
    int rc = read_call(copy, call), stored;

    if (rc < 0)
        return rc;
    if (!mgds_hca_pump_serves())
        return -EIO;
    rc = -EINVAL;
    mgds_hca_lock();
    file = mgds_hca_file_find(fd);
    if (file)
        rc = run_method(file, copy);
    mgds_hca_unlock();
    stored = mgds_hca_user_write(call->attrs, copy->attrs,
                                 copy->num_attrs * sizeof(copy->attrs[0]));
    return rc < 0 ? rc : stored;
}
