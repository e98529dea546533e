/* Code that dies, or that must not touch this process: run in a child. */
#ifndef MGDS_TEST_CHILD_H
#define MGDS_TEST_CHILD_H

#include <stddef.h>

/* What became of a child. */
struct mgds_child {
    int status;         /* as from waitpid */
    unsigned writes;    /* write calls to standard error */
    char errors[16384]; /* what they wrote */
};

/* Runs body(arg) in a forked child that exits with 0 after it. */
void mgds_child_run(struct mgds_child *child, void (*body)(void *arg),
                    void *arg);

#endif
