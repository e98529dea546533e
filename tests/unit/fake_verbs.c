/* The functions of fake_verbs.h. */
#include "tests/unit/fake_verbs.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct fake_verbs fake_verbs;

const struct mgds_port fake_port = {.device = "fake_0",
                                    .number = 1,
                                    .link = MGDS_LINK_INFINIBAND,
                                    .active = true,
                                    .connectx = true};
const struct mgds_rail_settings fake_settings = {.gid_index = MGDS_GID_ANY,
                                                 .timeout = 14,
                                                 .retries = 6,
                                                 .rnr_retries = 5,
                                                 .traffic_class = 106,
                                                 .service_level = 3};

static struct ibv_device device, other;
static struct ibv_device *devices[] = {&other, &device, NULL};
static struct verbs_context context;
static struct ibv_pd pd, domain;
static struct ibv_td td;
static struct ibv_cq_ex cq;
static struct ibv_qp qp;
static struct ibv_mr region = {.lkey = 0x11, .rkey = 0x22};

static bool fails(const char *function)
{
    if (!fake_verbs.fails || strcmp(fake_verbs.fails, function) != 0)
        return false;
    errno = fake_verbs.error;
    return true;
}

/* The object is there, unless the function that makes it fails. */
static void *make(const char *function, void *object)
{
    if (fails(function))
        return NULL;
    fake_verbs.live++;
    return object;
}

static int unmake(void)
{
    fake_verbs.live--;
    return 0;
}

static struct ibv_device **get_device_list(int *count)
{
    *count = 2;
    return (struct ibv_device **)make("ibv_get_device_list", devices);
}

static void free_device_list(struct ibv_device **list)
{
    (void)list;
    unmake();
}

static const char *get_device_name(struct ibv_device *it)
{
    return it == &device ? "fake_0" : "fake_1";
}

static bool is_supported(struct ibv_device *it)
{
    (void)it;
    return !fails("mlx5dv_is_supported");
}

static struct ibv_context *open_device(struct ibv_device *it)
{
    struct verbs_context *made =
        (struct verbs_context *)make("ibv_open_device", &context);

    return made && it == &device ? &made->context : NULL;
}

static int close_device(struct ibv_context *it)
{
    (void)it;
    return unmake();
}

static int query_port(struct ibv_context *it, uint8_t port,
                      struct ibv_port_attr *attr, size_t bytes)
{
    (void)it;
    if (fails("query_port") || port != 1)
        return EINVAL;
    memcpy(attr, &fake_verbs.port, bytes);
    return 0;
}

static int query_pkey(struct ibv_context *it, uint8_t port, int index,
                      __be16 *pkey)
{
    (void)it;
    (void)port;
    *pkey = htobe16(fake_verbs.pkeys[index]);
    return 0;
}

static int query_gid(struct ibv_context *it, uint32_t port, uint32_t index,
                     struct ibv_gid_entry *entry, uint32_t flags, size_t bytes)
{
    (void)it;
    (void)port;
    (void)flags;
    if (fake_verbs.gids[index].port_num == 0)
        return ENODATA; /* an empty row */
    memcpy(entry, &fake_verbs.gids[index], bytes);
    entry->gid_index = index;
    return 0;
}

static struct ibv_pd *alloc_pd(struct ibv_context *it)
{
    (void)it;
    return (struct ibv_pd *)make("ibv_alloc_pd", &pd);
}

static int dealloc_pd(struct ibv_pd *it)
{
    (void)it;
    return unmake();
}

static struct ibv_td *alloc_td(struct ibv_context *it,
                               struct ibv_td_init_attr *attr)
{
    (void)attr;
    td.context = it;
    return (struct ibv_td *)make("alloc_td", &td);
}

static int dealloc_td(struct ibv_td *it)
{
    (void)it;
    return unmake();
}

static struct ibv_pd *
alloc_parent_domain(struct ibv_context *it,
                    struct ibv_parent_domain_init_attr *attr)
{
    (void)it;
    (void)attr;
    return (struct ibv_pd *)make("alloc_parent_domain", &domain);
}

static struct ibv_cq_ex *create_cq(struct ibv_context *it,
                                   struct ibv_cq_init_attr_ex *attr,
                                   struct mlx5dv_cq_init_attr *mlx5)
{
    (void)it;
    (void)attr;
    (void)mlx5;
    return (struct ibv_cq_ex *)make("mlx5dv_create_cq", &cq);
}

static int destroy_cq(struct ibv_cq *it)
{
    (void)it;
    return unmake();
}

static struct ibv_qp *create_qp(struct ibv_context *it,
                                struct ibv_qp_init_attr_ex *attr,
                                struct mlx5dv_qp_init_attr *mlx5)
{
    (void)it;
    (void)attr;
    (void)mlx5;
    return (struct ibv_qp *)make("mlx5dv_create_qp", &qp);
}

static int destroy_qp(struct ibv_qp *it)
{
    (void)it;
    return unmake();
}

static int modify_qp(struct ibv_qp *it, struct ibv_qp_attr *attr, int mask)
{
    static const char *const names[] = {"init", "rtr", "rts"};

    (void)it;
    if (!(mask & IBV_QP_STATE) || fake_verbs.changes == FAKE_STATES ||
        fails(names[fake_verbs.changes]))
        return fake_verbs.error;
    fake_verbs.states[fake_verbs.changes++] = *attr;
    return 0;
}

static int init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
    if (fails("mlx5dv_init_obj") || type != (MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ))
        return fake_verbs.error;
    *obj->qp.out = fake_verbs.queue;
    *obj->cq.out = fake_verbs.cq;
    return 0;
}

static struct ibv_mr *reg_mr(struct ibv_pd *it, void *address, size_t bytes,
                             int access)
{
    (void)it;
    (void)address;
    (void)bytes;
    fake_verbs.access = access;
    return (struct ibv_mr *)make("ibv_reg_mr", &region);
}

static struct ibv_mr *reg_dmabuf_mr(struct ibv_pd *it, uint64_t offset,
                                    size_t bytes, uint64_t address, int fd,
                                    int access)
{
    (void)it;
    (void)bytes;
    (void)address;
    (void)fd;
    fake_verbs.offset = offset;
    fake_verbs.access = access;
    return (struct ibv_mr *)make("ibv_reg_dmabuf_mr", &region);
}

static int dereg_mr(struct ibv_mr *it)
{
    (void)it;
    return unmake();
}

static bool is_of_port(enum ibv_event_type type)
{
    return type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE;
}

static int get_async_event(struct ibv_context *it,
                           struct ibv_async_event *event)
{
    (void)it;
    if (fake_verbs.events_told == fake_verbs.event_count)
        return -1;
    event->event_type = fake_verbs.events[fake_verbs.events_told++];
    if (is_of_port(event->event_type))
        event->element.port_num = fake_verbs.event_port;
    else
        event->element.qp = &qp;
    return 0;
}

static void ack_async_event(struct ibv_async_event *event)
{
    (void)event;
    fake_verbs.events_acked++;
}

const struct mgds_verbs fake_verbs_table = {
    .ibv_get_device_list = get_device_list,
    .ibv_free_device_list = free_device_list,
    .ibv_get_device_name = get_device_name,
    .ibv_open_device = open_device,
    .ibv_close_device = close_device,
    .mlx5dv_is_supported = is_supported,
    .ibv_get_async_event = get_async_event,
    .ibv_ack_async_event = ack_async_event,
    .ibv_query_pkey = query_pkey,
    ._ibv_query_gid_ex = query_gid,
    .ibv_alloc_pd = alloc_pd,
    .ibv_dealloc_pd = dealloc_pd,
    .ibv_reg_mr = reg_mr,
    .ibv_reg_dmabuf_mr = reg_dmabuf_mr,
    .ibv_dereg_mr = dereg_mr,
    .mlx5dv_create_cq = create_cq,
    .ibv_destroy_cq = destroy_cq,
    .mlx5dv_create_qp = create_qp,
    .ibv_modify_qp = modify_qp,
    .ibv_destroy_qp = destroy_qp,
    .mlx5dv_init_obj = init_obj,
};

static const struct ibv_port_attr port = {.state = IBV_PORT_ACTIVE,
                                          .active_mtu = IBV_MTU_4096,
                                          .gid_tbl_len = FAKE_GIDS,
                                          .pkey_tbl_len = FAKE_PKEYS,
                                          .lid = 0x1234,
                                          .link_layer =
                                              IBV_LINK_LAYER_INFINIBAND};

static __be32 records[2];
static uint64_t doorbell;
static uint8_t ring[FAKE_BLOCKS * 64], cqes[FAKE_BLOCKS * 64];

static void reset_context(void)
{
    static int quiet = -1;

    if (quiet < 0)
        quiet = open("/dev/null", O_RDONLY | O_CLOEXEC);
    memset(&context, 0, sizeof(context));
    context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context.context.async_fd = quiet;
    context.sz = sizeof(context);
    context.query_port = query_port;
    context.alloc_td = alloc_td;
    context.dealloc_td = dealloc_td;
    context.alloc_parent_domain = alloc_parent_domain;
}

void fake_verbs_reset(void)
{
    reset_context();
    qp.qp_num = FAKE_QPN;
    fake_verbs = (struct fake_verbs){
        .port = port,
        .event_port = 1,
        .pkeys = {0x7fff, 0xffff, 0x8005},
        .gids = {{.gid = {.raw = {0xfe, 0x80, [15] = 1}}, .port_num = 1}},
        .queue = {.dbrec = records,
                  .sq = {ring, FAKE_BLOCKS, 64},
                  .bf = {&doorbell, 256}},
        .cq = {.buf = cqes, .cqe_cnt = FAKE_BLOCKS, .cqe_size = 64},
    };
}
