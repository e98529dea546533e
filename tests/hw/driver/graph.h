/* Helpers of the cases on capture and graphs. */
#ifndef MGDS_HW_GRAPH_H
#define MGDS_HW_GRAPH_H

#include "driver.h"

/* The stream's capture status; a failure if it cannot be asked. */
CUstreamCaptureStatus mgds_capture_status(CUstream stream);

/* The capture has been spoilt: its end says so and gives no graph. */
void mgds_expect_spoilt(CUstream stream);

/* Instantiates the graph and destroys it. */
CUgraphExec mgds_graph_exec(CUgraph graph);

/* Ends a capture begun on the stream and instantiates what it recorded. */
CUgraphExec mgds_graph_captured(CUstream stream);

#endif
