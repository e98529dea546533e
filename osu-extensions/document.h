/* The JSON file of a benchmark, which --json names: what all of them have in it
 * and how it is written. Functions that return JSON return NULL for no memory.
 */
#ifndef MGDS_BENCH_DOCUMENT_H
#define MGDS_BENCH_DOCUMENT_H

#include <jansson.h>
#include <stdio.h>

#include "osu-extensions/machine.h"

struct mgds_bench_document {
    FILE *file;
    json_t *root;
    json_t *rows; /* an array; root owns it */
};

/* Opens the file at once, so that a bad path costs no measurement. Returns 0
 * or negative errno; after 0 the caller owes end. */
int mgds_bench_document_create(struct mgds_bench_document **out,
                               const char *path);

/* Writes, closes and frees it, whatever the result: 0 or negative errno. NULL
 * is fine. */
int mgds_bench_document_end(struct mgds_bench_document *document);

/* The document says who ran what where: schema, name, version, date, command
 * line and machine. 0 or -ENOMEM. */
int mgds_bench_document_describe(struct mgds_bench_document *document,
                                 const char *schema, const char *name,
                                 const struct mgds_bench_machine *machine,
                                 int argc, char **argv);

/* Names from outside may be anything: JSON wants UTF-8. */
json_t *mgds_bench_document_text(const char *text);

/* An array of so many. */
json_t *mgds_bench_document_reals(const double *values, int count);

/* Takes the value over. 0, or -ENOMEM, also for a NULL value. */
int mgds_bench_document_set(json_t *object, const char *key, json_t *value);

#endif
