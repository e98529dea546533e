/* Faults by a file that may change at any time. */
#include "sim/hca/wire/control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sim/hca/engine.h"
#include "sim/hca/wire/port.h"

enum { PERIOD = 10 * 1000 * 1000 /* ns */ };

int mgds_hca_control_read(const char *path, char text[MGDS_HCA_CONTROL])
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes;
    int rc;

    text[0] = '\0';
    if (file < 0)
        return errno == ENOENT ? 0 : -errno;
    bytes = read(file, text, MGDS_HCA_CONTROL);
    rc = bytes < 0 ? -errno : 0;
    close(file);
    if (rc == 0 && bytes == MGDS_HCA_CONTROL)
        rc = -E2BIG;
    if (rc < 0)
        return rc;
    text[bytes] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return 0;
}

int mgds_hca_control_poll(struct mgds_hca_control *control,
                          struct mgds_hca_port *port, const char **wrong)
{
    uint64_t now = mgds_hca_now(port->hca);
    char text[MGDS_HCA_CONTROL];
    int rc;

    if (now < control->next)
        return 0;
    control->next = now + PERIOD;
    rc = mgds_hca_control_read(control->path, text);
    if (rc < 0)
        return rc;
    if (strcmp(text, control->text) == 0)
        return 0;
    memcpy(control->text, text, sizeof(text));
    rc = mgds_hca_port_disturb(port, control->text, wrong);
    return rc < 0 ? rc : 1;
}
