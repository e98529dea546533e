/* The command line of mpix-gds-doctor. */
#include "tools/doctor/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "tools/common/command_line.h"
#include "tools/common/number.h"

enum {
    OPT_LAUNCHER = MGDS_LONG_OPTION,
    OPT_TIMEOUT,
    OPT_SIM,
    OPT_NO_GPU,
    OPT_READ,
    OPT_JSON,
    OPT_ENV,
    OPT_VERIFY_HCA,
    OPT_VERSION,
    OPT_HELP
};

enum {
    MGDS_RANKS_MAX = 4096,
    MGDS_TIMEOUT_USUAL = 60,
    MGDS_TIMEOUT_MAX = 86400
};

static const struct option long_options[] = {
    {"launcher", required_argument, NULL, OPT_LAUNCHER},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"sim", optional_argument, NULL, OPT_SIM},
    {"no-gpu", no_argument, NULL, OPT_NO_GPU},
    {"read", required_argument, NULL, OPT_READ},
    {"json", no_argument, NULL, OPT_JSON},
    {"env", no_argument, NULL, OPT_ENV},
    {"verify-hca", no_argument, NULL, OPT_VERIFY_HCA},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

const char mgds_doctor_usage[] =
    "usage: mpix-gds-doctor [options]\n"
    "Starts ranks under the library, as a job of yours would start, and says\n"
    "what they find, which way data will take, and why not a better one.\n"
    "  -n N                ranks to start (default 2)\n"
    "  --launcher WORDS    start with this instead, as in --launcher \"srun -n "
    "4\"\n"
    "                      (words are split at blanks, no shell is involved)\n"
    "  --timeout S         seconds that they may take (default 60)\n"
    "  --sim[=...]         examine a simulation, see mpix-gds-run --help; as "
    "many\n"
    "                      GPUs as ranks, unless you say how many\n"
    "  --no-gpu            host memory only: touch no GPU, miss none\n"
    "  --read FILE         start nothing: judge what mpix-gds-probe printed in "
    "a\n"
    "                      job; - is standard input\n"
    "  --json              report as JSON (tools/doctor.schema.json)\n"
    "  --env               print the settings, MPIX_GDS_*, and their values\n"
    "  --verify-hca        start no ranks: try on each port of a ConnectX here "
    "what\n"
    "                      messages over it rely on (mpix-gds-verify-hca)\n"
    "  --version, --help   print that, and exit\n"
    "Exit status: 0 all well, 1 works with a named fallback, 2 broken.\n";

static struct mgds_complaint take_number(int *number, int min, int max,
                                         const char *prefix, const char *tail)
{
    long value;

    if (mgds_number_parse(&value, optarg, min, max) < 0)
        return (struct mgds_complaint){prefix, tail};
    *number = (int)value;
    return (struct mgds_complaint){0};
}

static struct mgds_complaint take_text(const char **text, const char *prefix)
{
    *text = optarg ? optarg : "";
    if (optarg && !optarg[0])
        return (struct mgds_complaint){prefix, "needs a value: see --help"};
    return (struct mgds_complaint){0};
}

static struct mgds_complaint take_action(struct mgds_doctor_options *options,
                                         enum mgds_doctor_action action)
{
    options->action = action;
    return (struct mgds_complaint){0};
}

static struct mgds_complaint take(void *arg, int option)
{
    struct mgds_doctor_options *options = arg;

    switch (option) {
    case 'n':
        return take_number(&options->ranks, 1, MGDS_RANKS_MAX, "-n ",
                           "is no number of ranks: use 1 to 4096");
    case OPT_TIMEOUT:
        return take_number(&options->timeout, 1, MGDS_TIMEOUT_MAX, "--timeout ",
                           "is no time: use 1 to 86400 seconds");
    case OPT_LAUNCHER:
        return take_text(&options->launcher, "--launcher=");
    case OPT_SIM:
        return take_text(&options->sim, "--sim=");
    case OPT_READ:
        return take_text(&options->read, "--read=");
    case OPT_NO_GPU:
        options->no_gpu = true;
        return (struct mgds_complaint){0};
    case OPT_JSON:
        options->json = true;
        return (struct mgds_complaint){0};
    case OPT_ENV:
        return take_action(options, MGDS_DOCTOR_ENV);
    case OPT_VERIFY_HCA:
        return take_action(options, MGDS_DOCTOR_VERIFY_HCA);
    case OPT_VERSION:
        return take_action(options, MGDS_DOCTOR_VERSION);
    default:
        return take_action(options, MGDS_DOCTOR_HELP);
    }
}

int mgds_doctor_options_parse(struct mgds_doctor_options *options, int argc,
                              char **argv, char *message, size_t size)
{
    const struct mgds_command_line line = {"+:n:", long_options, take};
    int rc;

    *options = (struct mgds_doctor_options){.timeout = MGDS_TIMEOUT_USUAL};
    rc = mgds_command_line_parse(&line, options, argc, argv, message, size);
    if (rc < 0)
        return rc;
    if (argv[rc]) {
        snprintf(message, size, "%s: the doctor takes no program: see --help",
                 argv[rc]);
        return -EINVAL;
    }
    if (options->read &&
        (options->launcher || options->sim || options->no_gpu)) {
        snprintf(message, size,
                 "--read starts nothing: leave --launcher, --sim and --no-gpu "
                 "out");
        return -EINVAL;
    }
    return 0;
}
