/* The end of the front: with the process, or when the library goes. */
#include "sim/hca/front/ports.h"
#include "sim/hca/front/pump.h"
#include "sim/hca/front/tree.h"

__attribute__((destructor)) static void end(void)
{
    mgds_hca_pump_stop();
    mgds_hca_ports_close();
    mgds_hca_tree_remove();
}
