/* Options by getopt_long. */
#include "tools/common/command_line.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MGDS_WORD_BYTES = 128 };

/* The word that getopt_long complains about. It leaves the letter of a short
 * option in optopt, and does not step over a group of them. */
static void name_bad_word(char word[MGDS_WORD_BYTES], char **argv)
{
    if (optopt > 0 && optopt < MGDS_LONG_OPTION)
        snprintf(word, MGDS_WORD_BYTES, "-%c", optopt);
    else
        snprintf(word, MGDS_WORD_BYTES, "%s", argv[optind - 1]);
}

static struct mgds_complaint complain(int option)
{
    if (option == ':')
        return (struct mgds_complaint){"option ", "needs a value: see --help"};
    return (struct mgds_complaint){"option ", "is unknown: see --help"};
}

int mgds_command_line_parse(const struct mgds_command_line *line, void *arg,
                            int argc, char **argv, char *message, size_t size)
{
    struct mgds_complaint complaint;
    char word[MGDS_WORD_BYTES];
    int option;

    optind = 0; /* start over, also when called again */
    while ((option = getopt_long(argc, argv, line->letters, line->options,
                                 NULL)) != -1) {
        if (option == '?' || option == ':') {
            complaint = complain(option);
            name_bad_word(word, argv);
        } else {
            complaint = line->take(arg, option);
            snprintf(word, sizeof(word), "%s", optarg ? optarg : "");
        }
        if (!complaint.tail)
            continue;
        snprintf(message, size, "%s%s %s", complaint.prefix, word,
                 complaint.tail);
        return -EINVAL;
    }
    return optind;
}
