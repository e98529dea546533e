/* mpix-gds-doctor: examines an installation as a job would use it, and says
 * what works, what does not, and what to do about it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/config.h"
#include "tools/common/place.h"
#include "tools/doctor/exam.h"
#include "tools/doctor/launch.h"
#include "tools/doctor/options.h"
#include "tools/doctor/report.h"

static int refuse(const char *message)
{
    fprintf(stderr, "mpix-gds-doctor: %s\n", message);
    return MGDS_EXIT_BROKEN;
}

static int print_settings(void)
{
    struct mgds_config config;
    int bad = mgds_config_load(&config);

    if (bad < 0)
        return refuse(strerror(-bad));
    mgds_config_table_text(&mgds_config_table, &config, stdout);
    bad = mgds_config_table_warn(&mgds_config_table);
    mgds_config_fini(&config);
    if (fflush(stdout) != 0)
        return refuse(strerror(errno));
    return bad > 0 ? MGDS_EXIT_FALLBACK : MGDS_EXIT_OK;
}

static int print_report(const struct mgds_report *report)
{
    int rc = report->exam->options->json ? mgds_report_json(report, stdout)
                                         : mgds_report_text(report, stdout);

    return rc < 0 ? refuse(strerror(-rc)) : mgds_report_status(report);
}

static int judge(const struct mgds_exam *exam, int argc, char **argv)
{
    struct mgds_finding *finding = calloc(mgds_check_count, sizeof(*finding));
    const struct mgds_report report = {exam, finding, argc, argv};
    int status;

    if (!finding)
        return refuse(strerror(ENOMEM));
    for (size_t i = 0; i < mgds_check_count; i++)
        mgds_checks[i].examine(&finding[i], exam);
    status = print_report(&report);
    for (size_t i = 0; i < mgds_check_count; i++)
        mgds_finding_fini(&finding[i]);
    free(finding);
    return status;
}

static void let_go(struct mgds_exam *exam)
{
    mgds_finding_fini(&exam->settings);
    mgds_finding_fini(&exam->launch.finding);
    mgds_pairs_fini(&exam->pairs);
    mgds_facts_fini(&exam->facts);
}

static int look(struct mgds_exam *exam)
{
    int rc = mgds_installation_look(exam);

    if (rc == 0)
        rc = mgds_settings_put_aside(exam);
    if (rc == 0)
        rc = mgds_launch_run(exam);
    return rc < 0 ? rc : mgds_pairs_create(&exam->pairs, &exam->facts);
}

static int examine(const struct mgds_doctor_options *options,
                   const struct mgds_place *place, int argc, char **argv)
{
    struct mgds_exam exam = {.options = options, .place = place};
    int status, rc = look(&exam);

    if (rc < 0)
        status = refuse(strerror(-rc));
    else if (exam.launch.interrupted)
        status = 128 + exam.launch.interrupted;
    else
        status = judge(&exam, argc, argv);
    let_go(&exam);
    return status;
}

/* The process becomes that program, under the simulation if one is asked for.
 */
static int verify_hca(const struct mgds_doctor_options *options,
                      const struct mgds_place *place)
{
    char run[PATH_MAX], verify[PATH_MAX], sim[64], message[PATH_MAX + 64];
    char *words[] = {run, sim, verify, NULL};
    char **word = options->sim ? words : words + 2;
    int rc = mgds_place_join(run, place->bin, "mpix-gds-run");

    if (rc == 0)
        rc = mgds_place_join(verify, place->bin, "mpix-gds-verify-hca");
    if (rc < 0)
        return refuse(strerror(-rc));
    snprintf(sim, sizeof(sim), "--sim=%s",
             options->sim && options->sim[0] ? options->sim : "gpu,hca");
    execv(word[0], word);
    snprintf(message, sizeof(message), "%s: %s", word[0], strerror(errno));
    return refuse(message);
}

int main(int argc, char **argv)
{
    struct mgds_doctor_options options;
    struct mgds_place place;
    char message[512];
    int rc;

    if (mgds_doctor_options_parse(&options, argc, argv, message,
                                  sizeof(message)) < 0)
        return refuse(message);
    if (options.action == MGDS_DOCTOR_HELP)
        return fputs(mgds_doctor_usage, stdout) < 0;
    if (options.action == MGDS_DOCTOR_VERSION)
        return printf("mpix-gds-doctor %s\n", MGDS_VERSION) < 0;
    if (options.action == MGDS_DOCTOR_ENV)
        return print_settings();
    rc = mgds_place_find(&place);
    if (rc < 0) {
        snprintf(message, sizeof(message),
                 "/proc/self/exe: %s: is /proc mounted?", strerror(-rc));
        return refuse(message);
    }
    if (options.action == MGDS_DOCTOR_VERIFY_HCA)
        return verify_hca(&options, &place);
    return examine(&options, &place, argc, argv);
}
