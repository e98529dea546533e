/* A file, a root object and its rows. */
#include "osu-extensions/document.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

int mgds_bench_document_create(struct mgds_bench_document **out,
                               const char *path)
{
    struct mgds_bench_document *document = calloc(1, sizeof(*document));
    int rc = -ENOMEM;

    if (!document)
        return rc;
    document->root = json_object();
    document->rows = json_array();
    if (mgds_bench_document_set(document->root, "rows", document->rows) < 0)
        goto free_document;
    document->file = fopen(path, "w");
    rc = -errno;
    if (!document->file)
        goto free_document;
    *out = document;
    return 0;
free_document:
    json_decref(document->root);
    free(document);
    return rc;
}

int mgds_bench_document_end(struct mgds_bench_document *document)
{
    int rc = 0;

    if (!document)
        return 0;
    if (json_dumpf(document->root, document->file,
                   JSON_INDENT(2) | JSON_SORT_KEYS) < 0 ||
        fputc('\n', document->file) == EOF)
        rc = -EIO;
    if (fclose(document->file) != 0 && rc == 0)
        rc = -errno;
    json_decref(document->root);
    free(document);
    return rc;
}

static json_t *date(void)
{
    time_t now = time(NULL);
    struct tm utc;
    char text[32];

    if (!gmtime_r(&now, &utc))
        return NULL;
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

static json_t *machine_of(const struct mgds_bench_machine *m)
{
    json_t *gds = m->gds[0] ? json_string(m->gds) : json_null();
    bool gpu = m->gpu.name[0] != '\0';

    return json_pack(
        "{s:o s:o s:I s:s s:s s:o s:o s:o s:i s:i}", "host",
        mgds_bench_document_text(m->host), "cpu",
        mgds_bench_document_text(m->cpu), "cores", (json_int_t)m->cores,
        "kernel", m->kernel, "mpi", m->mpi, "mpix_gds", gds, "gpu",
        gpu ? mgds_bench_document_text(m->gpu.name) : json_null(), "gpu_driver",
        gpu ? mgds_bench_document_text(m->gpu.driver) : json_null(), "ranks",
        m->ranks, "nodes", m->nodes);
}

static json_t *command_of(int argc, char **argv)
{
    json_t *words = json_array();

    for (int i = 0; i < argc; i++) {
        if (json_array_append_new(words, mgds_bench_document_text(argv[i])) < 0)
            goto free_words;
    }
    return words;
free_words:
    json_decref(words);
    return NULL;
}

int mgds_bench_document_describe(struct mgds_bench_document *document,
                                 const char *schema, const char *name,
                                 const struct mgds_bench_machine *machine,
                                 int argc, char **argv)
{
    json_t *root = document->root;

    if (mgds_bench_document_set(root, "schema", json_string(schema)) < 0 ||
        mgds_bench_document_set(root, "name", json_string(name)) < 0 ||
        mgds_bench_document_set(root, "version", json_string(MGDS_VERSION)) <
            0 ||
        mgds_bench_document_set(root, "date", date()) < 0 ||
        mgds_bench_document_set(root, "command", command_of(argc, argv)) < 0 ||
        mgds_bench_document_set(root, "machine", machine_of(machine)) < 0)
        return -ENOMEM;
    return 0;
}

json_t *mgds_bench_document_text(const char *text)
{
    json_t *string = json_string(text);

    return string ? string : json_string("(not UTF-8)");
}

json_t *mgds_bench_document_reals(const double *values, int count)
{
    json_t *list = json_array();

    for (int i = 0; i < count; i++) {
        if (json_array_append_new(list, json_real(values[i])) < 0)
            goto free_list;
    }
    return list;
free_list:
    json_decref(list);
    return NULL;
}

int mgds_bench_document_set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) < 0 ? -ENOMEM : 0;
}
