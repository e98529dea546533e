"""Cases of the benchmarks that enqueue; run_osu.py runs them."""
import json
import os
import tempfile

from osu_job import checked, refused, software_gpu, table


def enqueued_options(program):
    """Few iterations, more than a batch; windows where there are some."""
    options = ["-i", "70", "-x", "2", "-m", "0:65536", "-c"]
    if program not in ("osu_latency_enqueue", "osu_enqueue_cost"):
        options += ["-i", "4", "-W", "8"]
    return options


def case_enqueued_passes(job, program):
    """In stream order: queued ahead, or with the host's wait after each."""
    options = enqueued_options(program)
    for more in ([], ["--sync"], ["--trigger", "kernel", "D", "H"]):
        status, lines, document = job.json(
            program, options + more, preload=job.args.library,
            env=software_gpu(job, GPUS=2, DELAY=20))
        assert status == 0
        assert document["options"]["sync"] == ("--sync" in more)
        assert document["options"]["buffers"][0] == "D"
        assert document["machine"]["gpu"], document["machine"]
        for words, row in zip(table(lines), document["rows"], strict=True):
            assert "Pass" in words and row["validated"]
            assert row["avg"] > 0 or row["size"] == 0
            cost = program == "osu_enqueue_cost"
            assert ("process_us" in row) == cost
            assert not cost or row["process_us"] > 0


def case_enqueued_options_are_theirs(job):
    for option in (["--sync"], ["--trigger", "memop"], ["--rivals", "auto"],
                   ["--rounds", "3"], ["--nccl", "x"], ["--nvshmem", "x"]):
        refused(job, "osu_latency", option, option[0])
    refused(job, "osu_latency_enqueue", ["--trigger", "memopp"],
            "option --trigger memopp: give auto, kernel or memop")
    refused(job, "osu_latency_enqueue", ["--rivals", "nccl,x"], "nccl,x")
    refused(job, "osu_latency_enqueue", ["--rounds", "0"], "--rounds 0")
    refused(job, "osu_latency_enqueue", ["--rivals", "nccl", "-D", "cont"],
            "-D")
    refused(job, "osu_latency_enqueue", [], "shows no GPU",
            env=software_gpu(job, GPUS=0))


WINDOWS = ("osu_bw_enqueue", "osu_bibw_enqueue")
ALL_RIVALS = ["--rivals", "copy,nccl,nvshmem"]


def with_rivals(job, program, options, **more):
    """Status, lines and document of a run beside the stand-ins."""
    options = ["-i", "12", "-x", "2", "-c"] + options
    if program in WINDOWS:
        options += ["-i", "3", "-W", "8"]
    options += ["--nccl", os.path.join(job.args.rivals, "libnccl.so.2"),
                "--nvshmem", job.args.rivals]
    return job.json(program, options, preload=job.args.library,
                    env={**software_gpu(job, GPUS=2, DELAY=20), **more})


def case_rivals_are_measured(job, program):
    """Columns and JSON of each, medians of the rounds, ratios of both."""
    status, lines, document = with_rivals(
        job, program, ALL_RIVALS + ["-m", "0:8192"])
    assert status == 0
    windows = program in WINDOWS
    names = ["copy"] * windows + ["nccl", "nvshmem"]
    rivals = document["rivals"]
    assert rivals["nccl"] == {"version": "2.28.9", "left_out": None}, rivals
    assert rivals["nvshmem"] == {"version": "3.4.5", "left_out": None}
    assert (rivals["copy"]["left_out"] is None) == windows, rivals
    assert "# NCCL 2.28.9" in lines and "# Medians of 3 rounds" in lines
    assert document["options"]["rounds"] == 3
    assert document["rows"][0]["rivals"] == {}, "empty messages"
    for words, row in zip(table(lines)[1:], document["rows"][1:], strict=True):
        assert sorted(row["rivals"]) == names, row
        assert "Pass" in words and row["held"] and len(row["rounds"]) == 3
        assert sorted(row["rounds"])[1] == row["avg"], row
        for rival in row["rivals"].values():
            assert rival["validated"] and len(rival["rounds"]) == 3, rival
            assert sorted(rival["rounds"])[1] == rival["avg"] > 0, rival
            assert abs(rival["ratio"] - row["avg"] / rival["avg"]) < 1e-9
        first = 3 if program == "osu_enqueue_cost" else 2
        for at, name in enumerate(names):
            figure = float(words[first + 2 * at])
            assert abs(figure - row["rivals"][name]["avg"]) < 0.0051, words


def rival_log(job, folder, program, rival, rank):
    path = os.path.join(folder, rival)
    status, _, _ = with_rivals(job, program, ["--rivals", rival, "--rounds",
                                              "1", "-m", "64:64"],
                               RIVAL_LOG=path)
    assert status == 0
    with open(f"{path}.{rank}", encoding="utf-8") as file:
        return file.read().split("\n")[:-1]


def case_rivals_are_called_as_they_ask(job):
    """Arguments, groups and life cycle, as the stand-ins noted them: one
    iteration, then 14, and one that is not timed ahead of them."""
    with tempfile.TemporaryDirectory() as folder:
        said = rival_log(job, folder, "osu_latency_enqueue", "nccl", 0)
        assert said == (["init 2 0"] + ["send 64", "recv 64"] * 16
                        + ["destroy"]), said
        said = rival_log(job, folder, "osu_latency_enqueue", "nvshmem", 1)
        first = said.index("wait 1")
        mallocs = [line.split()[0] for line in said[:first]]
        assert mallocs == ["init"] + ["malloc"] * 4, said
        expected = []
        for number in range(1, 17):
            expected += [f"wait {number}", "put 64"]
        assert said[first:] == (expected + ["free"] * 4 + ["finalize"]), said
    with tempfile.TemporaryDirectory() as folder:
        said = rival_log(job, folder, "osu_bw_enqueue", "nccl", 1)
        lap = ["group"] + ["recv 64"] * 8 + ["end 8", "send 8"]
        assert len(said) % len(lap) == 2 and len(said) > 3 * len(lap), said
        assert said[1:-1] == lap * ((len(said) - 2) // len(lap)), said
        said = rival_log(job, folder, "osu_bw_enqueue", "nvshmem", 0)
        assert said.count("put 64") >= 24 and "put 8" not in said, said
        waits = [line for line in said if line.startswith("wait")]
        assert len(waits) == said.count("put 64") / 8, said


def case_wrong_bytes_of_rivals_are_found(job):
    """One message that does not arrive, of either library."""
    for rival, title in (("nccl", "NCCL"), ("nvshmem", "NVSHMEM")):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            status, lines, errors = job.run(
                "osu_latency_enqueue",
                ["-i", "12", "-c", "-m", "8:16", "--rivals", rival,
                 "--nccl", job.args.rivals, "--nvshmem", job.args.rivals,
                 "--json", path],
                preload=job.args.library,
                env={**software_gpu(job, GPUS=2), "RIVAL_DAMAGE": 5})
            with open(path, encoding="utf-8") as file:
                rows = checked(json.load(file))["rows"]
        assert status == 1
        assert any(f"{title}: wrong byte: size 8" in line for line in errors)
        assert len(rows) == 1 and rows[0]["validated"], rows
        assert rows[0]["rivals"][rival]["validated"] is False, rows
        assert "Fail" in table(lines)[0], lines


def case_absent_rivals_are_left_out(job):
    """The run goes on, and one line each says why."""
    def left_out(options, named, **more):
        status, lines, document = job.json(
            "osu_latency_enqueue", ["-i", "5", "-m", "8:8"] + options,
            preload=job.args.library,
            env={**software_gpu(job, GPUS=2), **more})
        assert status == 0 and len(document["rows"]) == 1
        assert document["rows"][0]["rivals"] == {}, document
        said = [line for line in lines if "left out" in line]
        assert len(said) == 1 and named in said[0], lines

    left_out(["--rivals", "nccl", "--nccl", "/nowhere/libnccl.so.2"],
             "/nowhere/libnccl.so.2")
    left_out(["--rivals", "nvshmem", "--nvshmem",
              os.path.join(job.args.rivals, "libnccl.so.2")],
             "has no nvshmem")
    left_out(["--rivals", "copy"], "programs with windows")
    for rival, call in (("nccl", "ncclGetUniqueId"),
                        ("nvshmem", "nvshmemx_get_uniqueid")):
        left_out(["--rivals", rival, "--" + rival, job.args.rivals], call,
                 RIVAL_REFUSE=1)
    left_out(["--rivals", "nccl", "--nccl", job.args.rivals, "H", "D"],
             "give D D")


def case_long_windows_are_not_held(job):
    """More than a launch queue takes: nobody waits for what cannot come."""
    for window, held in ((64, True), (600, False)):
        status, _, document = job.json(
            "osu_bibw_enqueue", ["-i", "2", "-x", "0", "-m", "8:8", "-W",
                                 str(window)],
            preload=job.args.library, env=software_gpu(job, GPUS=2))
        assert status == 0
        assert document["rows"][0]["held"] is held, document
