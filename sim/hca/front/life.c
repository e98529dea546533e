/* The front's end: with the process, when the library goes, or in a child that
 * was forked, whose parent keeps the devices. */
#include <pthread.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/far.h"
#include "sim/hca/front/ports.h"
#include "sim/hca/front/pump.h"
#include "sim/hca/front/tree.h"

static void forget(void)
{
    if (!mgds_hca_ports_forget())
        return;
    mgds_hca_pump_forget();
    mgds_hca_far_forget();
}

__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(NULL, NULL, forget);
}

__attribute__((destructor)) static void end(void)
{
    mgds_hca_pump_stop();
    if (mgds_hca_ports_ours())
        mgds_hca_adapters_tell_digests();
    mgds_hca_ports_close();
    mgds_hca_tree_remove();
}
