/* Options by getopt_long, with one clear line about the first bad word. */
#ifndef MGDS_TOOLS_COMMAND_LINE_H
#define MGDS_TOOLS_COMMAND_LINE_H

#include <getopt.h>
#include <stddef.h>

/* Values of long options start here, above all letters. */
enum { MGDS_LONG_OPTION = 256 };

/* The line about a bad word is prefix, word, tail; without a tail there is
 * nothing to complain about. */
struct mgds_complaint {
    const char *prefix;
    const char *tail;
};

struct mgds_command_line {
    const char *letters; /* must start with "+:" */
    const struct option *options;
    /* Takes one known option; its value is in optarg. */
    struct mgds_complaint (*take)(void *arg, int option);
};

/* Calls take for each option in turn. Returns the index in argv of the first
 * word that is no option, or -EINVAL with the line in message (size bytes). */
int mgds_command_line_parse(const struct mgds_command_line *line, void *arg,
                            int argc, char **argv, char *message, size_t size);

#endif
