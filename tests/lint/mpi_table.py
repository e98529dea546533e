"""Every MPI function is in the interception table or left out on purpose.

GROUPS classifies the names of MPICH's mpi_proto.h; the first match counts.
A name that no row matches fails, so that a newer MPI is looked at and not
overlooked. Arity and _c twins of the table are compared with the prototypes.
"""
import re

import lintlib
import mpitables

MUST, NEVER, MAY = "must", "never", "may"
COLLECTIVES = (r"(allgatherv?|allreduce|alltoall[vw]?|barrier|bcast|exscan"
               r"|gatherv?|reduce(_local|_scatter(_block)?)?|scan"
               r"|scatterv?)")
# (verdict, pattern of the name behind MPI_, without _c; what and why)
GROUPS = [
    (NEVER, r"T_\w+", "tool interface: no buffer, no communicator use"),
    (MAY, r"Group_from_session_pset|Test_cancelled|(Comm|Win)_[gs]et_name",
     "inquiries of objects we see: intercepted to be counted"),
    (NEVER, r"(Type|Group|Info|Op)_\w+",
     "datatypes, groups, info and operations pass through as handles"),
    (NEVER, r"Address|Get_address|Get_count|Get_elements(_x)?|Aint_\w+",
     "arithmetic on addresses and statuses"),
    (NEVER, r"(Unp|P)ack(_external)?(_size)?",
     "packing is a datatype service on host memory"),
    (NEVER, r"Status_\w+", "status conversion"),
    (NEVER, r"File_\w+", "files have their own handles (ROMIO)"),
    (NEVER, r"(Open|Close)_port|(Lookup|Publish|Unpublish)_name",
     "ports are strings"),
    (NEVER, r"Get_(processor_name|version|library_version)|Pcontrol"
     r"|Wtick|Wtime|Dims_create|DUP_FN", "local inquiries"),
    (NEVER, r"(Add_e|Delete_e)rror_\w+|Error_class",
     "error codes are plain numbers"),
    (MUST, r"Error_string", "some codes have texts of ours"),
    (NEVER, r"(Cart|Graph)_(coords|get|map|rank|shift|neighbors\w*)"
     r"|(Cart|Graph)dims?_get|Dist_graph_neighbors\w*|Topo_test",
     "topology inquiries: nothing is created"),
    (MAY, r"Comm_(rank|size|compare|group|remote_\w+|test_inter|[gs]et_info)",
     "communicator inquiries: intercepted where the engine wants to know"),
    (MAY, r"Win_get_(group|info)|Win_set_info", "window inquiries"),
    (MUST, r"(Send|[BRS]send|Recv)(_init)?|I[brs]?send|Irecv"
     r"|(S|Is)endrecv(_replace)?|Buffer_\w+", "point-to-point"),
    (MUST, r"(Wait|Test)(all|any|some)?|Request_\w+|Cancel|Start(all)?",
     "completion"),
    (MUST, r"(P|Ip|Mp|Imp)robe|(M|Im)recv", "probe"),
    (MUST, r"P(ready\w*|arrived|recv_init|send_init)", "partitioned"),
    (MUST, r"Grequest_\w+", "generalized requests"),
    (MUST, rf"(?i:I?(neighbor_)?{COLLECTIVES}(_init)?)", "collectives"),
    (MUST, r"(Attr|Keyval)_\w+|(Comm|Win)_(delete|get|set)_attr"
     r"|(Comm|Win)_(create|free)_keyval|Errhandler_\w+"
     r"|(Comm|Win|Session)_(call|create|get|set)_errhandler",
     "attributes and error handlers"),
    (MUST, r"(Rp|P)ut|(Rg|G)et(_accumulate)?|(Ra|A)ccumulate"
     r"|Compare_and_swap|Fetch_and_op|Alloc_mem|Free_mem|Win_(allocate\w*"
     r"|attach|complete|create(_dynamic)?|detach|fence|flush\w*|free"
     r"|(un)?lock\w*|post|shared_query|start|sync|test|wait)",
     "RMA and windows"),
    (MUST, r"Comm_(create\w*|i?dup\w*|free|split\w*|accept|connect"
     r"|disconnect|get_parent|join|spawn\w*)|Intercomm_\w+"
     r"|(Cart|Graph)_create|Cart_sub|Dist_graph_create\w*",
     "communicator life-cycle"),
    (MUST, r"Abort|Finalized?|Init(ialized|_thread)?|Is_thread_main"
     r"|Query_thread|Session_\w+", "init, finalize, sessions"),
]
# MPICH's own extensions have no row kind: MPIX_ rows are what we add.
EXTENSION = "MPICH's extensions: intercepted where we implement the call"


def classify(name):
    """(verdict, reason) of an MPI_ or MPIX_ name; (None, None) if unknown."""
    if name.startswith("MPIX_"):
        return MAY, EXTENSION
    bare = re.sub(r"_c$", "", name[len("MPI_"):])
    for verdict, pattern, reason in GROUPS:
        if re.fullmatch(pattern, bare):
            return verdict, reason
    return None, None


def check_prototype(report, name, rows, header):
    verdict, reason = classify(name)
    if verdict is None:
        report.add("unclassified", header, 0, f"{name} is in no group: add "
                   "it to the table or to GROUPS with a reason")
    elif verdict == MUST and name not in rows:
        report.add("absent", mpitables.MPI_TABLE, 0,
                   f"{name} has no row ({reason})")
    elif verdict == NEVER and name in rows:
        report.add("left-out", mpitables.MPI_TABLE, rows[name].line,
                   f"{name} has a row but GROUPS leaves it out ({reason})")


def check_row(report, row, prototypes):
    for name in row.names():
        arity = prototypes.get(name)
        if arity is None and not name.startswith("MPIX_"):
            report.add("unknown", row.path, row.line,
                       f"{name} is not in mpi_proto.h")
        elif arity not in (None, row.arity):
            report.add("arity", row.path, row.line,
                       f"{name} has {arity} parameters, the row says "
                       f"{row.arity}")


def check_rows(report, table, prototypes):
    """Compare each row with MPI; name -> row, twins included."""
    rows = {}
    for row in table:
        check_row(report, row, prototypes)
        for name in row.names():
            if name in rows:
                report.add("twice", row.path, row.line,
                           f"{name} already has line {rows[name].line}")
            rows[name] = row
    return rows


def check():
    args = lintlib.parse_arguments(
        __doc__, ("--proto", {"required": True, "help": "mpi_proto.h"}))
    report = lintlib.Report("mpi_table", args.root)
    try:
        table = mpitables.read_tables(args.root)
        prototypes = mpitables.read_prototypes(args.proto)
    except (mpitables.TableError, OSError) as error:
        print(error)
        return 1
    rows = check_rows(report, table, prototypes)
    for name in prototypes:
        check_prototype(report, name, rows, args.proto)
    return report.finish(len(prototypes), "prototypes")


if __name__ == "__main__":
    lintlib.main(check)
