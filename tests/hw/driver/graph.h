/* Helpers of the cases on capture and graphs. */
#ifndef MGDS_HW_GRAPH_H
#define MGDS_HW_GRAPH_H

#include "driver.h"

/* Instantiates the graph and destroys it. */
CUgraphExec mgds_graph_exec(CUgraph graph);

/* Ends a capture begun on the stream and instantiates what it recorded. */
CUgraphExec mgds_graph_captured(CUstream stream);

#endif
