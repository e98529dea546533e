/* Reads the report of mpix-gds-probe. */
#include "tools/doctor/facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/facts.h"

struct message {
    char *text;
    size_t size;
};

static int complain(const struct message *message, const char *text)
{
    snprintf(message->text, message->size, "%s", text);
    return -EINVAL;
}

static int complain_json(const struct message *message,
                         const json_error_t *error)
{
    snprintf(message->text, message->size, "it is malformed: %s", error->text);
    return -EINVAL;
}

/* The line that equals wanted, at or after text. */
static const char *find_line(const char *text, const char *wanted)
{
    size_t length = strlen(wanted);

    while (text && *text) {
        if (strncmp(text, wanted, length) == 0 &&
            (text[length] == '\n' || text[length] == '\0'))
            return text;
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return NULL;
}

/* The JSON between the lines of the frame, and only one frame: ranks that
 * know nothing of each other print one each. */
static int find_frame(const char **body, size_t *length, const char *output,
                      const struct message *message)
{
    const char *begin = find_line(output, MGDS_PROBE_BEGIN);
    const char *end = begin ? find_line(begin, MGDS_PROBE_END) : NULL;

    if (!begin)
        return complain(message, "none was printed");
    if (!end)
        return complain(message, "it has no end");
    if (find_line(begin + 1, MGDS_PROBE_BEGIN))
        return complain(message,
                        "every rank believes that it is alone: the launcher "
                        "belongs to another MPI than the program's");
    *body = begin + strlen(MGDS_PROBE_BEGIN);
    *length = (size_t)(end - *body);
    return 0;
}

static int check_row(const json_t *row, size_t count)
{
    const json_t *value;
    size_t i;

    if (json_array_size(row) != count)
        return -EINVAL;
    json_array_foreach (row, i, value)
        if (!json_is_boolean(value))
            return -EINVAL;
    return 0;
}

static int check_devices(struct mgds_gpu_facts *gpu, json_error_t *error)
{
    json_t *device;
    const char *name;
    int can;
    size_t i;

    gpu->count = json_array_size(gpu->devices);
    if (json_array_size(gpu->peers) != gpu->count) {
        snprintf(error->text, sizeof(error->text), "peers is no square");
        return -EINVAL;
    }
    json_array_foreach (gpu->devices, i, device) {
        if (json_unpack_ex(device, error, 0, "{s:s s:b s:b s:b s:b s:b !}",
                           "name", &name, "flush_remote_writes", &can,
                           "gpu_direct_rdma", &can, "memops_64", &can,
                           "wait_value_nor", &can, "dma_buf", &can) < 0)
            return -EINVAL;
        if (check_row(json_array_get(gpu->peers, i), gpu->count) < 0) {
            snprintf(error->text, sizeof(error->text), "row %zu of peers", i);
            return -EINVAL;
        }
    }
    return 0;
}

static int parse_gpu(struct mgds_gpu_facts *gpu, json_t *json,
                     json_error_t *error)
{
    if (json_unpack_ex(json, error, 0, "{s:b s:s s:s s:i s:o s:o !}", "found",
                       &gpu->found, "path", &gpu->path, "error", &gpu->error,
                       "version", &gpu->version, "devices", &gpu->devices,
                       "peers", &gpu->peers) < 0)
        return -EINVAL;
    return check_devices(gpu, error);
}

static int check_hca(const json_t *list, json_error_t *error)
{
    json_t *device;
    const char *text;
    int active;
    size_t i;

    if (!json_is_array(list)) {
        snprintf(error->text, sizeof(error->text), "hca is no list");
        return -EINVAL;
    }
    json_array_foreach (list, i, device)
        if (json_unpack_ex(device, error, 0, "{s:s s:b s:s s:s s:s !}", "name",
                           &text, "active", &active, "state", &text, "layer",
                           &text, "rate", &text) < 0)
            return -EINVAL;
    return 0;
}

static int check_way(json_t *way, size_t ranks, json_error_t *error)
{
    const char *text;
    json_int_t bytes;
    int peer, flag;

    if (json_unpack_ex(way, error, 0, "{s:i s:b s:b s:I s:s s:s s:s !}", "peer",
                       &peer, "sent", &flag, "enqueued", &flag, "bytes", &bytes,
                       "transport", &text, "reason", &text, "remedy",
                       &text) < 0)
        return -EINVAL;
    if (peer >= 0 && (size_t)peer < ranks && bytes > 0)
        return 0;
    snprintf(error->text, sizeof(error->text), "a message of no rank");
    return -EINVAL;
}

/* null: no GPU was asked for. */
static int parse_messages(struct mgds_message_facts *messages, json_t *json,
                          size_t ranks, json_error_t *error)
{
    json_t *way;
    size_t i;

    messages->asked = !json_is_null(json);
    if (!messages->asked)
        return 0;
    if (json_unpack_ex(json, error, 0, "{s:i s:s s:i s:o !}", "device",
                       &messages->device, "error", &messages->error,
                       "progress_cores", &messages->progress_cores, "ways",
                       &messages->ways) < 0)
        return -EINVAL;
    if (!json_is_array(messages->ways)) {
        snprintf(error->text, sizeof(error->text), "ways is no list");
        return -EINVAL;
    }
    json_array_foreach (messages->ways, i, way)
        if (check_way(way, ranks, error) < 0)
            return -EINVAL;
    return 0;
}

/* Those that every rank has. */
static int parse_parts(struct mgds_rank_facts *rank, json_t *json,
                       json_error_t *error)
{
    json_t *library = json_object_get(json, "library");
    json_t *mpi = json_object_get(json, "mpi");
    json_t *memlock = json_object_get(json, "memlock");
    json_t *cores = json_object_get(json, "cores");
    struct mgds_library_facts *l = &rank->library;
    struct mgds_mpi_facts *m = &rank->mpi;

    if (json_unpack_ex(library, error, 0, "{s:b s:s s:i s:I s:I s:I !}",
                       "found", &l->found, "path", &l->path, "error", &l->error,
                       "version", &l->version, "state", &l->state, "cuda",
                       &l->cuda) < 0)
        return -EINVAL;
    if (json_unpack_ex(mpi, error, 0, "{s:s s:s s:b !}", "version", &m->version,
                       "path", &m->path, "pointer_handles",
                       &m->pointer_handles) < 0)
        return -EINVAL;
    if (json_unpack_ex(memlock, error, 0, "{s:I s:I !}", "soft",
                       &rank->memlock_soft, "hard", &rank->memlock_hard) < 0)
        return -EINVAL;
    return json_unpack_ex(cores, error, 0, "{s:i s:i !}", "rank", &rank->cores,
                          "host", &rank->processors) < 0
               ? -EINVAL
               : 0;
}

static int parse_rank(struct mgds_rank_facts *rank, json_t *json, size_t ranks,
                      json_error_t *error)
{
    json_t *library, *mpi, *memlock, *cores, *messages, *gpu;

    if (json_unpack_ex(json, error, 0,
                       "{s:i s:s s:s s:i s:o s:o s:o s:o s:o s:o s:o !}",
                       "rank", &rank->rank, "host", &rank->host, "host_name",
                       &rank->host_name, "pid", &rank->pid, "library", &library,
                       "mpi", &mpi, "memlock", &memlock, "cores", &cores, "hca",
                       &rank->hca, "gpu", &gpu, "messages", &messages) < 0 ||
        parse_parts(rank, json, error) < 0 ||
        parse_messages(&rank->messages, messages, ranks, error) < 0)
        return -EINVAL;
    rank->asked_devices = !json_is_null(gpu);
    if (!rank->asked_devices && json_is_null(rank->hca))
        return 0;
    if (parse_gpu(&rank->gpu, gpu, error) < 0)
        return -EINVAL;
    return check_hca(rank->hca, error);
}

static const struct mgds_rank_facts *
first_of_host(const struct mgds_facts *facts, const char *host)
{
    for (size_t i = 0; i < facts->count; i++)
        if (strcmp(facts->rank[i].host, host) == 0)
            return &facts->rank[i];
    return NULL;
}

static int parse_ranks(struct mgds_facts *facts, const struct message *message)
{
    json_error_t error;
    json_t *json;
    size_t i;

    facts->count = json_array_size(facts->root);
    if (facts->count == 0)
        return complain(message, "it names no rank");
    facts->rank = calloc(facts->count, sizeof(*facts->rank));
    if (!facts->rank)
        return -ENOMEM;
    json_array_foreach (facts->root, i, json) {
        if (parse_rank(&facts->rank[i], json, facts->count, &error) < 0)
            return complain_json(message, &error);
        if (facts->rank[i].rank != (int)i)
            return complain(message, "its ranks are out of order");
        if (facts->rank[i].messages.asked != facts->rank[0].messages.asked)
            return complain(message, "it has messages of some ranks only");
        if (!first_of_host(facts, facts->rank[i].host)->asked_devices)
            return complain(message, "it lacks the devices of a host");
    }
    return 0;
}

int mgds_facts_parse(struct mgds_facts *facts, const char *output, char *text,
                     size_t size)
{
    const struct message message = {text, size};
    json_error_t error;
    const char *body;
    size_t length;
    int rc;

    *facts = (struct mgds_facts){0};
    rc = find_frame(&body, &length, output, &message);
    if (rc < 0)
        return rc;
    facts->root = json_loadb(body, length, JSON_REJECT_DUPLICATES, &error);
    if (!facts->root)
        return complain_json(&message, &error);
    rc = parse_ranks(facts, &message);
    if (rc < 0)
        mgds_facts_fini(facts);
    return rc;
}

void mgds_facts_fini(struct mgds_facts *facts)
{
    free(facts->rank);
    json_decref(facts->root);
    *facts = (struct mgds_facts){0};
}

const struct mgds_rank_facts *
mgds_facts_of_host(const struct mgds_facts *facts,
                   const struct mgds_rank_facts *rank)
{
    return first_of_host(facts, rank->host);
}

size_t mgds_facts_hosts(const struct mgds_facts *facts)
{
    size_t hosts = 0;

    for (size_t i = 0; i < facts->count; i++)
        hosts += facts->rank[i].asked_devices;
    return hosts;
}

bool mgds_gpu_can(const struct mgds_gpu_facts *gpu, size_t device,
                  const char *fact)
{
    return json_is_true(
        json_object_get(json_array_get(gpu->devices, device), fact));
}

const char *mgds_gpu_name(const struct mgds_gpu_facts *gpu, size_t device)
{
    return json_string_value(
        json_object_get(json_array_get(gpu->devices, device), "name"));
}

bool mgds_gpu_reaches(const struct mgds_gpu_facts *gpu, size_t from, size_t to)
{
    return json_is_true(json_array_get(json_array_get(gpu->peers, from), to));
}

size_t mgds_hca_active(const json_t *hca)
{
    const json_t *device;
    size_t active = 0;
    size_t i;

    json_array_foreach (hca, i, device)
        active += json_is_true(json_object_get(device, "active"));
    return active;
}
