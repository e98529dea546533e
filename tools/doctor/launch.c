/* Starts ranks: launcher, mpix-gds-run, mpix-gds-probe. Or reads a report
 * that a job saved. */
#include "tools/doctor/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/doctor/child.h"
#include "tools/doctor/diagnosis.h"

enum { MGDS_WORDS_MAX = 64, MGDS_RANKS_USUAL = 2, MGDS_DETAIL_LINES = 20 };

/* A command under construction; words points into the buffers below it. */
struct command {
    char *word[MGDS_WORDS_MAX + 1];
    size_t count;
    char launcher[2048];
    char ranks[16];
    char run[PATH_MAX];
    char sim[256];
    char probe[PATH_MAX];
};

static int add_word(struct command *command, char *word)
{
    if (command->count == MGDS_WORDS_MAX)
        return -E2BIG;
    command->word[command->count++] = word;
    command->word[command->count] = NULL;
    return 0;
}

static bool is_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char file[PATH_MAX];
    size_t length;

    for (; path && *path; path += length + (path[length] == ':')) {
        length = strcspn(path, ":");
        if (snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, name) <
                (int)sizeof(file) &&
            access(file, X_OK) == 0)
            return true;
    }
    return false;
}

/* MPICH's own name first: the plain one may be another MPI's. */
static int add_mpiexec(struct command *command,
                       const struct mgds_doctor_options *options,
                       struct mgds_finding *finding)
{
    static char *const names[] = {"mpiexec.mpich", "mpiexec.hydra", "mpiexec"};
    size_t i = 0;
    int rc;

    while (i < 3 && !is_in_path(names[i]))
        i++;
    if (i == 3) {
        mgds_finding_set(finding, MGDS_BROKEN,
                         "no mpiexec.mpich, mpiexec.hydra or mpiexec in PATH");
        mgds_finding_remedy(finding,
                            "install MPICH (Debian: apt-get install mpich), "
                            "or name what starts your jobs, as in --launcher "
                            "\"srun -n 2\"");
        return -ENOENT;
    }
    snprintf(command->ranks, sizeof(command->ranks), "%d",
             options->ranks ? options->ranks : MGDS_RANKS_USUAL);
    rc = add_word(command, names[i]);
    if (rc == 0)
        rc = add_word(command, "-n");
    return rc < 0 ? rc : add_word(command, command->ranks);
}

static int add_launcher(struct command *command, const char *launcher,
                        struct mgds_finding *finding)
{
    char *rest;
    int rc = 0;

    snprintf(command->launcher, sizeof(command->launcher), "%s", launcher);
    if (strlen(launcher) >= sizeof(command->launcher))
        rc = -E2BIG;
    for (char *word = strtok_r(command->launcher, " \t", &rest);
         word && rc == 0; word = strtok_r(NULL, " \t", &rest))
        rc = add_word(command, word);
    if (rc == 0 && command->count > 0)
        return 0;
    mgds_finding_set(finding, MGDS_BROKEN, "--launcher \"%.200s\" has %s words",
                     launcher, rc < 0 ? "too many" : "no");
    mgds_finding_remedy(finding, "use something like \"srun -n 2\"");
    return -EINVAL;
}

static int add_program(struct command *command, const struct mgds_exam *exam)
{
    static char no_gpu[] = "--no-gpu";
    const char *sim = exam->options->sim;
    int rc = mgds_place_join(command->run, exam->place->bin, "mpix-gds-run");

    if (rc == 0)
        rc = add_word(command, command->run);
    snprintf(command->sim, sizeof(command->sim), "--sim%s%s",
             sim && sim[0] ? "=" : "", sim ? sim : "");
    if (rc == 0 && sim)
        rc = add_word(command, command->sim);
    if (rc == 0)
        rc =
            mgds_place_join(command->probe, exam->place->bin, "mpix-gds-probe");
    if (rc == 0)
        rc = add_word(command, command->probe);
    return rc == 0 && exam->options->no_gpu ? add_word(command, no_gpu) : rc;
}

/* One for each rank, as in a job: on the software GPU nothing is in short
 * supply. What --sim=gpu:N and the user's environment say goes before. */
static void prepare_simulation(const struct mgds_doctor_options *options)
{
    enum { MOST = 16 };
    int ranks = options->ranks ? options->ranks : MGDS_RANKS_USUAL;
    char count[16];

    if (!options->sim)
        return;
    snprintf(count, sizeof(count), "%d", ranks < MOST ? ranks : MOST);
    setenv("MPIX_SIM_GPUS", count, 0);
}

/* Returns how much of text is used then; what does not fit is cut. */
static size_t append_word(char *text, size_t size, size_t used,
                          const char *word)
{
    int length =
        snprintf(text + used, size - used, "%s%s", used > 0 ? " " : "", word);

    return used + (size_t)length < size ? used + (size_t)length : size - 1;
}

static int build_command(struct command *command, struct mgds_exam *exam)
{
    const struct mgds_doctor_options *options = exam->options;
    struct mgds_finding *finding = &exam->launch.finding;
    size_t used = 0;
    int rc = options->launcher
                 ? add_launcher(command, options->launcher, finding)
                 : add_mpiexec(command, options, finding);

    if (rc == 0)
        rc = add_program(command, exam);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < command->count; i++)
        used = append_word(exam->launch.command, sizeof(exam->launch.command),
                           used, command->word[i]);
    return 0;
}

/* The last lines of what a failed command said. */
static char *last_lines(const struct mgds_child_output *output)
{
    const char *start = output->text + output->size;
    int lines = 0;

    while (start > output->text) {
        if (start[-1] == '\n' && start[0] != '\0' &&
            ++lines == MGDS_DETAIL_LINES)
            break;
        start--;
    }
    return *start ? strdup(start) : NULL;
}

static void describe_end(struct mgds_finding *finding,
                         const struct mgds_exam *exam,
                         const struct mgds_child *child)
{
    int status = child->status;

    if (child->interrupted)
        mgds_finding_set(finding, MGDS_BROKEN, "interrupted");
    else if (child->timed_out)
        mgds_finding_set(finding, MGDS_BROKEN,
                         "the ranks had not ended after %d s, and were stopped",
                         exam->options->timeout);
    else if (WIFSIGNALED(status))
        mgds_finding_set(finding, MGDS_BROKEN, "the launcher died of signal %d",
                         WTERMSIG(status));
    else
        mgds_finding_set(finding, MGDS_BROKEN,
                         "the launcher ended with exit status %d",
                         WEXITSTATUS(status));
    mgds_finding_remedy(
        finding, "%srun it by hand: %.400s",
        child->timed_out ? "give it more time with --timeout, or " : "",
        exam->launch.command);
}

static void describe_failure(struct mgds_finding *finding,
                             const struct mgds_exam *exam,
                             const struct mgds_child *child)
{
    if (child->interrupted || child->timed_out ||
        !(mgds_diagnosis_find(finding, child->err.text) ||
          mgds_diagnosis_find(finding, child->out.text)))
        describe_end(finding, exam, child);
    finding->detail = last_lines(&child->err);
}

static bool check_count(struct mgds_exam *exam)
{
    const struct mgds_doctor_options *options = exam->options;
    size_t wanted = (size_t)options->ranks;

    if (!options->launcher && !options->read && wanted == 0)
        wanted = MGDS_RANKS_USUAL;
    if (wanted == 0 || wanted == exam->facts.count)
        return true;
    mgds_finding_set(&exam->launch.finding, MGDS_BROKEN,
                     "%zu ranks reported, %zu were expected", exam->facts.count,
                     wanted);
    mgds_finding_remedy(&exam->launch.finding,
                        "let -n and the launcher's number agree");
    return false;
}

static int take_report(struct mgds_exam *exam, const char *output,
                       const char *source)
{
    struct mgds_finding *finding = &exam->launch.finding;
    char message[512];
    int rc = mgds_facts_parse(&exam->facts, output, message, sizeof(message));

    if (rc == -EINVAL) {
        mgds_finding_set(finding, MGDS_BROKEN, "no report of use came: %s",
                         message);
        mgds_finding_remedy(finding,
                            "use MPICH's launcher (mpiexec.mpich), and run "
                            "the mpix-gds-probe of this build; this was: "
                            "%.300s",
                            source);
        return 0;
    }
    if (rc < 0)
        return rc;
    if (!check_count(exam)) {
        mgds_facts_fini(&exam->facts);
        return 0;
    }
    mgds_finding_set(
        finding, MGDS_OK, "%zu %s on %zu %s: %s", exam->facts.count,
        exam->facts.count == 1 ? "rank" : "ranks",
        mgds_facts_hosts(&exam->facts),
        mgds_facts_hosts(&exam->facts) == 1 ? "host" : "hosts", source);
    return 0;
}

static int judge_child(struct mgds_exam *exam, const struct mgds_child *child)
{
    struct mgds_finding *finding = &exam->launch.finding;
    int rc;

    exam->launch.interrupted = child->interrupted;
    if (child->interrupted || child->timed_out || child->status != 0) {
        describe_failure(finding, exam, child);
        return 0;
    }
    if (child->out.cut) {
        mgds_finding_set(finding, MGDS_BROKEN,
                         "the ranks printed %zu bytes and more, which hide "
                         "the report",
                         child->out.size);
        mgds_finding_remedy(finding, "run it by hand: %.400s",
                            exam->launch.command);
        return 0;
    }
    rc = take_report(exam, child->out.text, exam->launch.command);
    if (rc == 0 && finding->state == MGDS_BROKEN)
        finding->detail = last_lines(&child->err);
    return rc;
}

/* A report has eight messages for each two ranks, and a kilobyte is much for
 * one; a launcher says a thing or two as well. */
static size_t most_bytes(const struct mgds_exam *exam)
{
    size_t ranks = exam->options->ranks > 2 ? (size_t)exam->options->ranks : 2;

    return ((size_t)4 << 20) + ranks * ranks * 8 * 1024;
}

static int start_ranks(struct mgds_exam *exam)
{
    struct mgds_finding *finding = &exam->launch.finding;
    struct command command = {0};
    struct mgds_child child;
    int rc = build_command(&command, exam);

    if (rc < 0)
        return finding->text[0] ? 0 : rc;
    prepare_simulation(exam->options);
    rc = mgds_child_run(&child, command.word, exam->options->timeout,
                        most_bytes(exam));
    if (rc < 0) {
        mgds_finding_set(finding, MGDS_BROKEN, "%s cannot be started: %s",
                         command.word[0], strerror(-rc));
        mgds_finding_remedy(finding, "check that it is in PATH and executable");
        rc = 0;
    } else {
        rc = judge_child(exam, &child);
    }
    mgds_child_fini(&child);
    return rc;
}

static int read_all(char **text, FILE *file)
{
    size_t size = 0;

    *text = NULL;
    if (getdelim(text, &size, '\0', file) >= 0)
        return 0;
    if (ferror(file) || !*text)
        return errno ? -errno : -EIO;
    (*text)[0] = '\0'; /* an empty file */
    return 0;
}

static int read_report(struct mgds_exam *exam)
{
    const char *name = exam->options->read;
    bool is_stdin = strcmp(name, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(name, "re");
    char *text = NULL;
    int rc = file ? read_all(&text, file) : -errno;

    if (file && !is_stdin)
        fclose(file);
    if (rc == 0) {
        snprintf(exam->launch.command, sizeof(exam->launch.command),
                 "read from %s", name);
        rc = take_report(exam, text, exam->launch.command);
    } else {
        mgds_finding_set(&exam->launch.finding, MGDS_BROKEN, "%.800s: %s", name,
                         strerror(-rc));
        mgds_finding_remedy(&exam->launch.finding,
                            "name the file with the output of mpix-gds-probe");
        rc = 0;
    }
    free(text);
    return rc;
}

int mgds_launch_run(struct mgds_exam *exam)
{
    if (exam->options->read)
        return read_report(exam);
    if (!exam->missing[0])
        return start_ranks(exam);
    mgds_finding_set(&exam->launch.finding, MGDS_UNKNOWN,
                     "not tried: the installation lacks a file");
    return 0;
}
