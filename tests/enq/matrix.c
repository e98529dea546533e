/* What matrices of enqueued calls share; see matrix.h. */
#include "tests/enq/matrix.h"

static void (*run)(int least, int most);

unsigned matrix_message(int lap)
{
    return (unsigned)lap + 1;
}

void matrix_buffers_open(struct enq_buffer *source, struct enq_buffer *kept,
                         size_t bytes)
{
    for (int i = 0; i < LAPS; i++) {
        enq_buffer_open(&kept[i], bytes);
        enq_buffer_open(&source[i], bytes);
        enq_fill(&source[i], matrix_message(i));
    }
}

void matrix_buffers_close(struct enq_buffer *source, struct enq_buffer *kept)
{
    for (int i = 0; i < LAPS; i++) {
        enq_buffer_close(&source[i]);
        enq_buffer_close(&kept[i]);
    }
}

static void pairs(void)
{
    run(1, 2);
}

static void triples(void)
{
    run(3, 3);
}

int matrix_main(int argc, char **argv, const char *group,
                void (*run_rows)(int least, int most))
{
    static const struct enq_case cases[] = {
        {"matrix_pairs", 1, pairs},
        {"matrix_triples", 1, triples},
        {0},
    };

    run = run_rows;
    return enq_main(argc, argv, group, cases);
}
