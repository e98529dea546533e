"""Cases of collectives and persistent messages; run_osu.py runs them."""
import os

from osu_job import refused, software_gpu, table

FEW = ["-i", "6", "-x", "2"]
COLLECTIVES = ("osu_allgather", "osu_allreduce", "osu_alltoall", "osu_bcast")
NAMES = {
    "osu_allgather": "Allgather", "osu_allreduce": "Allreduce",
    "osu_alltoall": "All-to-All Personalized Exchange",
    "osu_bcast": "Broadcast",
}


def case_collective_prints(job, program, ranks):
    """Header, sizes and checked rows, with any number of ranks."""
    status, lines, document = job.json(
        program, FEW + ["-m", "0:8192", "-T", "all", "-c"], ranks=int(ranks))
    assert status == 0
    assert lines[0].startswith(f"# OSU MPI {NAMES[program]} Latency Test v")
    types = ["MPI_INT", "MPI_FLOAT"]
    if program != "osu_allreduce":
        types.insert(0, "MPI_CHAR")
    assert [line for line in lines if "Datatype" in line] == [
        f"# Datatype: {name}." for name in types], lines
    assert document["options"]["pairs"] == int(ranks)
    for words, row in zip(table(lines), document["rows"], strict=True):
        assert words[2] == "Pass" and row["validated"], words
        assert row["size"] == row["transmitted"] and row["unit"] == "us", row
        assert row["rivals"] == {}, row
    assert document["rows"][-1]["size"] == 8192, document["rows"][-1]


def case_collective_takes_each_kind(job, program):
    """Every kind, the same everywhere and mixed, above the library."""
    for first, second in (("D", "D"), ("D", "H"), ("H", "D"), ("MD", "MH"),
                          ("MH", "D")):
        status, lines, document = job.json(
            program, FEW + ["-m", "4:16384", "-d", "cuda", "-c", first,
                            second],
            ranks=3, preload=job.args.library,
            env=software_gpu(job, GPUS=2, DELAY=50))
        assert status == 0
        assert lines[0].startswith("# OSU MPI-CUDA "), lines[0]
        assert document["options"]["buffers"] == [first, second]
        assert document["machine"]["gpu"] or first == "H", document["machine"]
        assert all("Pass" in words for words in table(lines)), lines


def beside_nccl(job, program, options, **more):
    options = FEW + ["-m", "4:8192", "-c", "-d", "cuda"] + options
    env = {**software_gpu(job, GPUS=2), **more}
    return job.json(program, options, preload=job.args.library, env=env)


def case_collective_beside_nccl(job, program):
    """NCCL's columns, checked as ours are; where there is none, a line."""
    here = ["--rivals", "auto", "--nccl", job.args.rivals, "D", "D"]
    status, lines, document = beside_nccl(job, program, here)
    assert status == 0
    assert "# NCCL 2.28.9" in lines and "# Medians of 3 rounds" in lines, lines
    for words, row in zip(table(lines), document["rows"], strict=True):
        nccl = row["rivals"]["nccl"]
        assert nccl["validated"] and len(nccl["rounds"]) == 3, row
        assert abs(float(words[2]) - nccl["avg"]) < 0.0051, words
        assert "Pass" in words, words
    status, lines, document = beside_nccl(
        job, program, ["--rivals", "nccl", "--nccl", "/nowhere", "D", "D"])
    assert status == 0 and document["rows"][0]["rivals"] == {}, document
    assert document["rivals"]["nccl"]["left_out"], document["rivals"]
    assert any(line.startswith("# NCCL left out: ") for line in lines), lines


def case_wrong_bytes_of_nccl_are_found(job):
    """A block that does not arrive at one rank."""
    status, lines, errors = job.run(
        "osu_bcast",
        FEW + ["-m", "8:16", "-c", "--rivals", "nccl", "--nccl",
               job.args.rivals, "D", "D"],
        preload=job.args.library,
        env={**software_gpu(job, GPUS=2), "RIVAL_DAMAGE": 3})
    assert status == 1
    assert any("NCCL: wrong byte: size 8" in line for line in errors), errors
    assert "Fail" in table(lines)[0], lines


def case_collective_options_are_checked(job):
    refused(job, "osu_allreduce", ["-T", "mpi_char"],
            "give all, mpi_int or mpi_float")
    refused(job, "osu_bcast", ["--rivals", "nvshmem"], "some of nccl")
    refused(job, "osu_bcast", ["--rivals", "nccl"], "give D D")
    refused(job, "osu_bcast", ["-D", "cont"], "option -D")
    refused(job, "osu_bcast", ["--sync"], "option --sync")
    refused(job, "osu_alltoall", ["-M", "1048576", "-m", "1048576"],
            "the limit is 1048576")
    status, lines, _ = job.run("osu_bcast", FEW + [
        "-m", "8:8", "--rivals", "auto", "--nccl",
        os.path.join(job.args.rivals, "libnccl.so.2")])
    assert status == 0 and not any("NCCL" in line for line in lines), lines


# program: rank that receives the damaged byte, what is received with it
BROKEN = {
    "osu_allgather": ("8", "message 1 from rank 1, offset 0"),
    "osu_allreduce": ("2", "message 0 from rank 0, offset 2"),
    "osu_alltoall": ("15", "message 1 from rank 1, offset 7"),
    "osu_bcast": ("3", "message 0 from rank 0, offset 3"),
    "osu_latency_persistent": ("5", "message 0 from rank 0, offset 5"),
    "osu_bw_persistent": ("0", "message 3 from rank 0, offset 0"),
}


def case_wrong_byte_of_program(job, program):
    """One that is not received between MPI_Recv and MPI_Waitall."""
    offset, named = BROKEN[program]
    windows = ["-W", "4"] if program == "osu_bw_persistent" else []
    tag = 1 if "persistent" in program else -1
    status, lines, errors = job.run(
        program, FEW + ["-m", "8:16", "-c"] + windows,
        preload=job.args.corrupt,
        env={"CORRUPT_TAG": tag, "CORRUPT_RANK": 1, "CORRUPT_OFFSET": offset,
             "CORRUPT_MESSAGE": 3})
    assert status == 1, status
    said = [line for line in errors if "wrong byte: size 8" in line]
    assert len(said) == 1 and named in said[0], errors
    assert [words[2] for words in table(lines)] == ["Fail"], lines
