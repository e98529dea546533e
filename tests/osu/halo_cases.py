"""Cases of osu_halo_enqueue; run_osu.py runs them."""
import json
import os
import tempfile

import schema
from osu_job import refused, software_gpu, table

PROGRAM = "osu_halo_enqueue"
FEW = ["-i", "6", "-x", "2", "--kernel", "0"]
ALWAYS = {"program", "host", "enqueued", "copy"}
LATER = {"group": "MPIX_Stream_group_start", "startall": "persistent"}
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../osu-extensions/halo/schema.json")


def run(job, options, ranks=2, preload=None, **env):
    """Status, lines, errors and the checked document."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.json")
        status, lines, errors = job.run(
            PROGRAM, FEW + options + ["--json", path], ranks=ranks,
            preload=preload or job.args.library,
            env={**software_gpu(job, GPUS=2, DELAY=20), **env})
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    with open(SCHEMA, encoding="utf-8") as file:
        found = list(schema.check(document, json.load(file)))
    assert not found, found
    return status, lines, errors, document


def with_nccl(job):
    return ["--nccl", os.path.join(job.args.rivals, "libnccl.so.2")]


def case_halo_passes(job, dims, ranks, periodic):
    """Grids with and without ends, neighbours that are the rank itself, faces
    that lie in a row and others: as the CPU computes them."""
    options = ["--dims", dims, "-m", "64:128", "--rounds", "1",
               "--variants", "host,enqueued,copy"]
    status, lines, _, document = run(
        job, options + ["--periodic"] * (periodic == "periodic"),
        ranks=int(ranks))
    assert status == 0
    grid = document["options"]["grid"]
    assert len(grid) == int(dims), grid
    product = 1
    for number in grid:
        product *= number
    assert product == int(ranks), grid
    assert [row["face"] for row in document["rows"]] == [64, 128]
    for row in document["rows"]:
        assert set(row["variants"]) == ALWAYS, row
        assert all(one["validated"] for one in row["variants"].values()), row
    assert all(words[-1] == "Pass" for words in table(lines)), lines
    assert len(table(lines)) == 2 * len(ALWAYS), lines


def variant_check(row, name, rounds):
    one = row["variants"][name]
    nccl = row["variants"]["nccl"]
    assert one["validated"] and len(one["rounds_us"]) == rounds, one
    assert sorted(one["rounds_us"])[1] == one["step_us"] > 0, one
    ratio = one["step_us"] / nccl["step_us"]
    assert abs(one["step_by_nccl"] - ratio) < 1e-9, one
    own = 0 if name == "nccl_graph" else row["variants"]["program"]["cpu_us"]
    assert abs(one["calls_us"] - (one["cpu_us"] - own)) < 1e-9, one


def case_halo_compares_variants(job):
    """Medians, ratios, CPU without the program's launches; what a library
    lacks is named with the reason."""
    status, lines, _, document = run(
        job, ["-m", "64", "--periodic", "--rounds", "3"] + with_nccl(job))
    assert status == 0
    variants, (row,) = document["variants"], document["rows"]
    assert set(variants) == ALWAYS | set(LATER) | {"nccl", "nccl_graph"}
    for name, one in variants.items():
        said = [line for line in lines if one["title"] + " left out" in line]
        assert (name in row["variants"]) == (one["left_out"] is None) \
            == (not said), (name, lines)
        if one["left_out"]:
            assert LATER[name] in one["left_out"] or \
                "has no MPIX_" in one["left_out"], one
    assert variants["nccl"]["version"] == "2.28.9" and "# NCCL 2.28.9" in lines
    for name in row["variants"]:
        variant_check(row, name, 3)
    for words in table(lines):
        one = row["variants"][words[1]]
        assert abs(float(words[2]) - one["step_us"]) < 0.0051, words
        assert words[-1] == "Pass"


def wrong(job, variant, named, **how):
    status, lines, errors, document = run(
        job, ["-m", "64:128", "--periodic", "--rounds", "1", "--variants",
              variant] + with_nccl(job), **how)
    assert status == 1
    assert any(f"{named}: wrong value: size 64, element" in line
               for line in errors), errors
    (row,) = document["rows"]
    assert not row["variants"][variant]["validated"], row
    assert row["variants"]["program"]["validated"], row
    assert [words[-1] for words in table(lines)] == ["Pass", "Fail"], lines


def case_halo_finds_wrong_values(job):
    """One message with its last element missing, early in the run: what comes
    of it reaches the end of the run."""
    short = ":".join([job.args.short, job.args.library])
    for variant, named in (("enqueued", "MPI enqueued"),
                           ("host", "MPI, host waits")):
        wrong(job, variant, named, preload=short, SHORT_TAG=20, SHORT_RANK=1,
              SHORT_MESSAGE=3)
    wrong(job, "nccl", "NCCL group", RIVAL_DAMAGE=4)


def case_halo_options_are_checked(job):
    env = software_gpu(job, GPUS=2)
    for options, named in (
            (["-m", "4"], "option -m 4: give MIN:MAX or SIZE"),
            (["-m", "64:32"], "option -m 64:32"),
            (["--dims", "4"], "--dims 4: give a number from 1 to 3"),
            (["--dims", "3", "-m", "8"], "no size is a face"),
            (["--variants", "host,x"], "some of host,enqueued,group,startall"),
            (["--rounds", "0"], "--rounds 0"),
            (["--kernel"], "--kernel lacks its value"),
            (["-W", "8"], "-W is not known"),
            (["--json", "/nowhere/x.json"], "/nowhere/x.json"),
            (["D"], "D: no words behind the options")):
        refused(job, PROGRAM, options, named, env=env)
    refused(job, PROGRAM, [], "shows no GPU", env=software_gpu(job, GPUS=0))
    status, lines, _ = job.run(PROGRAM, ["--help"], env=env)
    assert status == 0 and any("--periodic" in line for line in lines), lines
    status, lines, _ = job.run(PROGRAM, ["--version"], env=env)
    assert status == 0 and job.args.version in lines[0], lines
