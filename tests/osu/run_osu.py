#!/usr/bin/env python3
"""Runs a benchmark under mpiexec and reads its output as users' scripts do.

One case a call: run_osu.py CASE --bin DIR --mpiexec CMD ... A case is a
function whose name starts with "case_"; it fails by an assertion.
"""
import argparse
import copy
import json
import os
import re
import sys
import tempfile

import collective_cases
import enqueued_cases
import halo_cases
from osu_job import (RANKS, Job, checked, finish, load_schema, refused,
                     schema, software_gpu, table)

TITLES = {
    "osu_latency": "OSU MPI Latency Test",
    "osu_bw": "OSU MPI Bandwidth Test",
    "osu_bibw": "OSU MPI Bi-Directional Bandwidth Test",
    "osu_mbw_mr": "OSU MPI Multiple Bandwidth / Message Rate Test",
    "osu_multi_lat": "OSU MPI Multi Latency Test",
    "osu_latency_persistent": "OSU MPI Persistent Latency Test",
    "osu_bw_persistent": "OSU MPI Persistent Bandwidth Test",
}
COLUMNS = {
    "osu_latency": "# Size       Avg Latency(us)",
    "osu_bw": "# Size      Bandwidth (MB/s)",
    "osu_bibw": "# Size      Bandwidth (MB/s)",
    "osu_mbw_mr": "# Size                  MB/s        Messages/s",
    "osu_multi_lat": "# Size       Avg Latency(us)",
    "osu_latency_persistent": "# Size       Avg Latency(us)",
    "osu_bw_persistent": "# Size      Bandwidth (MB/s)",
}
FEW = ["-i", "6", "-x", "2"]
WINDOWED = {"osu_bw", "osu_bibw", "osu_mbw_mr", "osu_bw_persistent"}


def case_prints(job, program):
    """Header, columns, sizes and JSON of a plain run."""
    options = FEW + ["-m", "16384"]
    if program in WINDOWED:
        options += ["-W", "4"]
    status, lines, document = job.json(program, options)
    assert status == 0, status
    pattern = rf"^# {re.escape(TITLES[program])} v(\d+\.\d+)\b.*mpix-gds"
    assert re.match(pattern, lines[0]), lines[0]
    head = lines[1:lines.index(COLUMNS[program])]
    expected = ["# Datatype: MPI_CHAR."]
    if program == "osu_mbw_mr":
        expected.insert(0, "# [ pairs: 2 ] [ window size: 4 ]")
    assert head == expected, head
    sizes = [2 ** power for power in range(15)]
    body = lines[lines.index(COLUMNS[program]) + 1:]
    width = 46 if program == "osu_mbw_mr" else 28
    for line, size, row in zip(body, sizes, document["rows"], strict=True):
        check_row(line, size, row, width)
    assert document["name"] == program
    assert document["machine"]["ranks"] == RANKS.get(program, 2)
    assert document["machine"]["mpix_gds"] is None
    assert document["command"][-1].endswith("out.json")


def check_row(line, size, row, width):
    """One printed line is OSU's in form and the JSON row in figures."""
    assert len(line) == width and line.startswith(f"{size:<10}"), line
    words = line.split()
    assert re.fullmatch(r"\d+\.\d\d", words[1]), line
    assert row["size"] == row["transmitted"] == size and row["validated"]
    assert abs(float(words[1]) - row["avg"]) < 0.0051, (line, row)
    if len(words) > 2:
        assert abs(float(words[2]) - row["messages_per_s"]) < 0.0051, line


def case_columns_follow_options(job):
    """Validation, percentiles and transmitted size, in OSU's order."""
    options = FEW + ["-m", "64:256", "-c", "-z50,99", "-D", "vect:8:2",
                     "-T", "mpi_int"]
    status, lines, document = job.json("osu_latency", options)
    assert status == 0
    assert lines[1] == "# Datatype: MPI_INT."
    assert lines[2] == ("# Size       Avg Latency(us)        Validation"
                        "  P50 Tail Lat(us)  P99 Tail Lat(us)"
                        "     Transmit Size"), lines[2]
    for words, row, size in zip(table(lines), document["rows"],
                                (64, 128, 256), strict=True):
        assert words[0] == str(size) and words[2] == "Pass", words
        assert words[5] == str(size // 4) == str(row["transmitted"]), words
        assert float(words[3]) <= float(words[4]), words
        assert set(row["percentiles"]) == {"p50", "p99"}
        assert row["percentiles"]["p99"] == row["p99"]


def case_rate_column_can_be_left_out(job):
    status, lines, _ = job.run("osu_mbw_mr",
                               FEW + ["-m", "8:8", "-R", "0", "-W", "2"])
    assert status == 0
    assert lines[3] == "# Size                  MB/s", lines
    assert [len(words) for words in table(lines)] == [2]


def case_some_pairs_may_stay_idle(job):
    status, lines, document = job.json(
        "osu_mbw_mr", FEW + ["-m", "8:8", "-p", "1", "-W", "2"])
    assert status == 0 and "[ pairs: 1 ]" in lines[1], lines
    assert document["options"]["pairs"] == 1


def case_windows_vary(job):
    """-V prints a table over windows and one of the rates."""
    status, lines, document = job.json("osu_mbw_mr",
                                       FEW + ["-m", "4:16", "-V"], ranks=2)
    assert status == 0
    assert lines[1:6] == [
        "# [ pairs: 1 ] [ window size: varied ]", "",
        "# Uni-directional Bandwidth (MB/sec)", "# Datatype: MPI_CHAR.",
        "#      " + "".join(f"  {2 ** power:>10}" for power in range(8))]
    assert "# Message Rate Profile" in lines
    rows = table(lines)
    assert [words[0] for words in rows] == ["4", "8", "16"] * 2, rows
    assert all(len(words) == 9 for words in rows), rows
    assert len(document["rows"]) == 24
    assert [row["window"] for row in document["rows"][:3]] == [1, 2, 4]


def case_all_datatypes_have_their_tables(job):
    status, lines, document = job.json(
        "osu_bibw", FEW + ["-m", "2:8", "-T", "all", "-W", "3", "-b",
                           "multiple"])
    assert status == 0
    assert [line for line in lines if "Datatype" in line] == [
        f"# Datatype: {name}." for name in ("MPI_CHAR", "MPI_INT",
                                            "MPI_FLOAT")]
    assert [words[0] for words in table(lines)] == [
        "2", "4", "8", "4", "8", "4", "8"]
    assert document["options"]["buffer_num"] == "multiple"


def case_derived_types_pass(job):
    with tempfile.NamedTemporaryFile("w", suffix=".indx") as file:
        file.write("3,2\n8 5\n100,1\n")
        file.flush()
        for ddt, sent in (("cont", 64), ("vect:5:3", 36),
                          ("indx:" + file.name, 7)):
            status, lines, _ = job.run(
                "osu_bw", FEW + ["-m", "64:64", "-W", "3", "-D", ddt])
            assert status == 0
            assert table(lines)[0][2] == str(sent), lines


def case_empty_messages_are_timed(job):
    status, lines, _ = job.run("osu_latency", FEW + ["-m", "0:2"])
    assert status == 0
    assert [words[0] for words in table(lines)] == ["0", "1", "2"]


def case_long_messages_pass(job):
    """Rendezvous sizes, several batches of one iteration each."""
    status, lines, _ = job.run(
        "osu_bibw", ["-m", "1048576:2097152", "-i", "3", "-x", "1", "-W",
                     "3", "-c", "-u", "1"])
    assert status == 0
    assert [words[2] for words in table(lines)] == ["Pass", "Pass"]


def case_sessions_start_the_job(job):
    for program, ranks in (("osu_latency", 2), ("osu_multi_lat", 4)):
        status, lines, document = job.json(program,
                                           FEW + ["-m", "8:8", "-I"],
                                           ranks=ranks)
        assert status == 0 and len(table(lines)) == 1
        assert document["options"]["session"] is True


def case_cuda_is_named_in_the_header(job):
    status, lines, _ = job.run("osu_latency",
                               FEW + ["-m", "8:8", "-d", "cuda", "H", "H"])
    assert status == 0
    assert lines[0].startswith("# OSU MPI-CUDA Latency Test v")
    assert lines[2] == ("# Send Buffer on HOST (H) and Receive Buffer on "
                        "HOST (H)"), lines


def case_bad_usage_is_one_line_and_status_2(job):
    refused(job, "osu_latency", ["-m", "8:4"], "-m 8:4")
    refused(job, "osu_latency", ["-P", "X"], "-P")
    refused(job, "osu_latency", ["-m", "8:8"], "exactly 2", ranks=3)
    refused(job, "osu_bw", ["-m", "8:8"], "exactly 2", ranks=1)
    refused(job, "osu_multi_lat", ["-m", "8:8"], "even", ranks=3)
    refused(job, "osu_mbw_mr", ["-m", "8:8"], "at least 2", ranks=1)
    refused(job, "osu_mbw_mr", ["-p", "2"], "-p 2")
    refused(job, "osu_bw", ["-M", "1048576"], "-M")
    refused(job, "osu_bw", ["-T", "mpi_int", "-m", "1:2"], "-m 1:2")
    refused(job, "osu_bw", ["--json", "/nowhere/x.json"], "/nowhere/x.json")


def case_gpu_kinds_need_a_gpu(job):
    """One line, whatever is missing, and status 2."""
    driverless = {"LD_LIBRARY_PATH": job.args.empty_driver}
    for kinds in (["D", "H"], ["H", "MH"], ["MD", "MD"]):
        refused(job, "osu_latency", kinds, "cuGetProcAddress_v2",
                env=driverless)
        refused(job, "osu_bw", ["-d", "cuda"] + kinds, "shows no GPU",
                env=software_gpu(job, GPUS=0))
    refused(job, "osu_latency", ["--copies"], "shows no GPU",
            env=software_gpu(job, GPUS=0))
    refused(job, "osu_latency", ["--gpu", "2", "D", "D"], "--gpu 2",
            env=software_gpu(job, GPUS=2))


def case_gpu_kinds_pass(job, program):
    """Every kind at each end, above the library, on the software GPU."""
    for first, second in (("D", "D"), ("D", "H"), ("H", "D"), ("MD", "MH"),
                          ("MH", "D")):
        options = FEW + ["-m", "1:16384", "-d", "cuda", "-c", "--copies"]
        options += ["-W", "4"] if program in WINDOWED else []
        status, lines, document = job.json(
            program, options + [first, second], preload=job.args.library,
            env=software_gpu(job, GPUS=2, DELAY=50))
        assert status == 0
        assert f"({first}) and Receive Buffer on" in lines[2] or \
            f"({first}) and Receive Buffer on" in lines[3], lines[:4]
        assert document["options"]["buffers"] == [first, second]
        assert document["machine"]["gpu"], document["machine"]
        assert document["machine"]["gpu_driver"].startswith("CUDA ")
        for words, row in zip(table(lines), document["rows"], strict=True):
            assert "Pass" in words and row["validated"]
            assert row["d2h_us"] > 0 and row["h2d_us"] > 0


def case_a_wrong_byte_in_gpu_memory_is_found(job):
    """Damaged below the library, so on its way into GPU memory: by what stands
    before MPI_Recv, which receives that look for headers do not call."""
    env = software_gpu(job, GPUS=2) | {"MPIX_GDS_DIRECT": 0}
    env |= {"CORRUPT_TAG": 1, "CORRUPT_RANK": 1, "CORRUPT_MESSAGE": 3}
    status, lines, errors = job.run(
        "osu_latency", FEW + ["-m", "8:16", "-c", "D", "D"],
        preload=job.args.library + ":" + job.args.corrupt, env=env)
    assert status == 1
    assert any("wrong byte: size 8" in line for line in errors), errors
    assert ["Fail"] == [words[2] for words in table(lines)], lines


def case_host_kinds_load_no_driver(job):
    _, _, document = job.json("osu_latency", FEW + ["-m", "8:8"],
                              env=software_gpu(job, GPUS=0))
    assert document["machine"]["gpu"] is None


def case_help_and_version_answer(job):
    status, lines, errors = job.run("osu_bw", ["--help"])
    assert status == 0 and not errors
    assert lines[0].startswith("Usage: osu_bw ")
    assert any("--json" in line for line in lines)
    status, lines, _ = job.run("osu_bw", ["-v"])
    assert status == 0 and len(lines) == 1
    assert lines[0].startswith("# OSU MPI Bandwidth Test v")


# Benchmark and its options; then tag, rank, number of the message and offset
# of the byte that is damaged; then what stderr names.
DAMAGE = {
    "first_byte_of_first_message":
        ("osu_latency", ["-m", "8:8"], (1, 1, 0, 0),
         "rank 1: wrong byte: size 8, iteration 0, message 0 from rank 0, "
         "offset 0:"),
    "last_byte_of_last_message":
        ("osu_latency", ["-m", "8:8", "-u", "0"], (1, 0, 7, 7),
         "rank 0: wrong byte: size 8, iteration 7, message 0 from rank 1, "
         "offset 7:"),
    "untimed_message":
        ("osu_latency", ["-m", "16384:16384", "-u", "2"], (1, 1, 1, 9000),
         "iteration 1, message 0 from rank 0, offset 9000:"),
    "message_inside_a_window":
        ("osu_bw", ["-m", "1:1", "-W", "5", "-u", "0"], (1, 1, 7, 0),
         "rank 1: wrong byte: size 1, iteration 1, message 2 from rank 0"),
    "byte_behind_the_message":
        ("osu_bibw", ["-m", "4:4", "-W", "2", "-u", "0"], (1, 0, 1, 4),
         "rank 0: wrong byte: size 4, iteration 0, message 1 from rank 1, "
         "offset 4:"),
    "byte_in_a_gap":
        ("osu_latency", ["-m", "64:64", "-D", "vect:8:4"], (1, 0, 3, 13),
         "offset 13:"),
    "answer_to_a_window":
        ("osu_bw", ["-m", "4:4", "-W", "2", "-u", "0"], (2, 0, 3, 5),
         "rank 0: wrong byte: size 4, iteration 3, answer 0 from rank 1, "
         "offset 5:"),
    "one_pair_of_two":
        ("osu_mbw_mr", ["-m", "8:8", "-W", "2", "-u", "0"], (1, 3, 4, 1),
         "rank 3: wrong byte: size 8, iteration 2, message 0 from rank 1"),
    "in_multi_lat":
        ("osu_multi_lat", ["-m", "8:8", "-u", "0"], (1, 1, 2, 1),
         "rank 1: wrong byte: size 8, iteration 2, message 0 from rank 3"),
}


def case_wrong_byte(job, name):
    """A damaged byte is named, the row says Fail, the status is 1."""
    program, options, where, named = DAMAGE[name]
    tag, rank, message, offset = where
    env = {"CORRUPT_TAG": tag, "CORRUPT_RANK": rank,
           "CORRUPT_MESSAGE": message, "CORRUPT_OFFSET": offset}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.json")
        status, lines, errors = job.run(
            program, FEW + ["-c", "--json", path] + options,
            preload=job.args.corrupt, env=env)
        with open(path, encoding="utf-8") as file:
            document = checked(json.load(file))
    assert status == 1, status
    said = [line for line in errors if "wrong byte" in line]
    assert len(said) == 1 and named in said[0], errors
    found = re.search(r"expected 0x(..), got 0x(..)$", said[0])
    assert int(found[1], 16) ^ int(found[2], 16) == 0x10, said
    assert [words.count("Fail") for words in table(lines)] == [1], lines
    assert [row["validated"] for row in document["rows"]] == [False]


def case_undamaged_runs_pass_under_the_damaging_library(job):
    """The library itself changes nothing: the control of wrong_byte."""
    for program in TITLES:
        status, lines, _ = job.run(program, FEW + ["-m", "8:8", "-c"],
                                   preload=job.args.corrupt,
                                   env={"CORRUPT_MESSAGE": 1000000})
        assert status == 0 and "Pass" in table(lines)[0], lines


def case_an_active_mpix_gds_is_named(job):
    options = FEW + ["-m", "8:8"]
    _, _, document = job.json("osu_latency", options,
                              preload=job.args.library)
    assert document["machine"]["mpix_gds"] == job.args.version
    _, _, document = job.json("osu_latency", options, preload=job.args.gds)
    assert document["machine"]["mpix_gds"] == "1.20.3", document["machine"]
    _, _, document = job.json("osu_latency", options, preload=job.args.gds,
                              env={"GDS_INERT": 1})
    assert document["machine"]["mpix_gds"] is None, document["machine"]


def case_a_wrong_byte_ends_the_table_of_windows(job):
    env = {"CORRUPT_TAG": 1, "CORRUPT_RANK": 1, "CORRUPT_MESSAGE": 100}
    status, lines, errors = job.run("osu_mbw_mr",
                                    FEW + ["-m", "8:16", "-V"], ranks=2,
                                    preload=job.args.corrupt, env=env)
    assert status == 1
    assert len(errors) == 1 and "wrong byte: size 8" in errors[0], errors
    assert [words[0] for words in table(lines)] == ["8"], lines
    assert "# Message Rate Profile" not in lines


def compare_script(job, name, options):
    here = os.path.dirname(os.path.abspath(__file__))
    script = os.path.join(here, "../../osu-extensions/compare", name + ".py")
    also = [path for path in (job.args.runtime, job.args.yielding) if path]
    command = [sys.executable, "-B", script, "--build", job.args.build,
               "--mpiexec", job.args.mpiexec] + options
    for path in also:
        command += ["--also", path]
    status, out, err = finish(command, job.args.timeout)
    print(out + err)
    return status, out, err.splitlines()


def preload_script(job, options):
    return compare_script(job, "preload_latency", options)


def case_staged_goals_reports_ratios(job):
    """Runs on the software GPU, and the ratios are those of its rounds."""
    os.environ["LD_LIBRARY_PATH"] = job.args.sim
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.json")
        status, said, _ = compare_script(
            job, "staged_goals", ["--rounds", "2", "--iterations", "5",
                                  "--sizes", "262144:524288", "--json", path])
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    assert status == 0
    assert "report no fewer than 11" in said and document["active"]
    rounds = document["rounds"]
    for size, entry in document["summary"]["bandwidth"].items():
        ratios = [r["bandwidth"][size]["D"] / r["bandwidth"][size]["H"]
                  for r in rounds]
        assert abs(entry["median"] - sum(ratios) / 2) < 1e-9, entry
        assert entry["met"] == (entry["median"] >= 0.7)
    assert list(document["summary"]["bandwidth"]) == ["262144", "524288"]
    for entry in (r["latency"] for r in rounds):
        bound = entry["H"] + 1.2 * (entry["d2h_us"] + entry["h2d_us"])
        assert abs(entry["bound"] - bound) < 1e-9, entry


def case_preload_latency_reports_ratios(job):
    """The comparison runs, and its medians are those of its triples."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.json")
        status, said, _ = preload_script(
            job, ["--triples", "2", "--iterations", "20", "--json", path])
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    assert status == 0
    assert "report no fewer than 25" in said
    assert document["active"] and len(document["triples"]) == 2
    for figure in ("p50", "avg"):
        summary = document["summary"][figure]
        for name, side in (("with_over_without", "with"),
                           ("control_over_without", "control")):
            ratios = [triple[side][figure] / triple["without"][figure]
                      for triple in document["triples"]]
            low, high = summary[name]["ci95"]
            assert min(ratios) <= low <= high <= max(ratios), summary
            assert abs(summary[name]["median"] - sum(ratios) / 2) < 1e-9


def case_preload_latency_says_why_it_cannot_run(job):
    status, _, errors = preload_script(job, ["--library", "/nowhere/x.so"])
    assert status == 1
    assert len(errors) == 1 and "/nowhere/x.so" in errors[0], errors
    status, _, errors = preload_script(job, ["--triples", "1", "--mpiexec",
                                             "/nowhere/mpiexec"])
    assert status == 1
    assert len(errors) == 1 and "/nowhere/mpiexec" in errors[0], errors


def case_the_schema_refuses_broken_documents(job):
    """The schema is strict, at every depth."""
    if not schema.jsonschema:
        print(schema.MISSING)
        sys.exit(77)
    _, _, good = job.json("osu_latency", FEW + ["-m", "8:8", "-z50"])

    def broken(change):
        document = copy.deepcopy(good)
        change(document)
        return list(schema.check(document, load_schema()))

    assert not broken(lambda d: None)
    for change in (
            lambda d: d.pop("machine"),
            lambda d: d.update(extra=1),
            lambda d: d.update(name="osu_other"),
            lambda d: d.update(rows=[]),
            lambda d: d["rows"][0].pop("avg"),
            lambda d: d["rows"][0].update(avg="1"),
            lambda d: d["rows"][0].update(size=-1),
            lambda d: d["rows"][0].update(validated=1),
            lambda d: d["rows"][0]["percentiles"].update(p50=None),
            lambda d: d["machine"].update(cores=True),
            lambda d: d["machine"].update(mpix_gds="new"),
            lambda d: d["options"]["buffers"].append("H"),
            lambda d: d.update(date="today")):
        assert broken(change), change


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("subject", nargs="*")
    parser.add_argument("--bin", required=True, help="of the benchmarks")
    parser.add_argument("--build", required=True, help="the build tree")
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--corrupt", required=True)
    parser.add_argument("--gds", required=True)
    parser.add_argument("--short", required=True)
    parser.add_argument("--yielding", default="",
                        help="what makes MPICH yield; preloaded everywhere")
    parser.add_argument("--library", required=True, help="libmpix_gds.so")
    parser.add_argument("--version", required=True, help="of the library")
    parser.add_argument("--sim", required=True,
                        help="folder of the software GPU")
    parser.add_argument("--empty-driver", required=True,
                        help="folder of a libcuda.so.1 without calls")
    parser.add_argument("--rivals", required=True,
                        help="folder of stand-ins for NCCL and NVSHMEM")
    parser.add_argument("--runtime", default="", help="sanitizer runtime")
    parser.add_argument("--timeout", type=float, default=60)
    args = parser.parse_args()
    case = {**globals(), **vars(collective_cases), **vars(enqueued_cases),
            **vars(halo_cases)}["case_" + args.case]
    case(Job(args), *args.subject)


if __name__ == "__main__":
    sys.exit(main())
