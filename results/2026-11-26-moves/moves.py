"""Files and moves of one warm call, from dumps of callgrind (run.sh): how
often a function of one file of ours calls one of another, and how many files
have a part in it. A folder of dumps, then the first and last lap."""
import re
import statistics
import sys


def read(path, library):
    names, place = {}, {"ob": "", "fl": "", "fn": ""}
    called, moves, files = {}, 0, set()

    def name_of(kind, text):
        number, _, name = text.partition(" ")
        if name:
            names[kind, number] = name
        return names[kind, number]

    for line in open(path):
        key, equals, value = line.rstrip("\n").partition("=")
        if equals and key in ("ob", "fl", "fi", "fe", "fn"):
            name = name_of({"fi": "fl", "fe": "fl"}.get(key, key), value)
            if key == "fl":
                place["fl"] = name
            elif key not in ("fi", "fe"):
                place[key] = name
        elif equals and key in ("cob", "cfi", "cfl", "cfn"):
            kind = {"cob": "ob", "cfn": "fn"}.get(key, "fl")
            called[kind] = name_of(kind, value)
        elif equals and key == "calls":
            callee = {**place, **called}
            called = {}
            if library in place["ob"] and library in callee["ob"]:
                count = int(value.split()[0])
                ours = [re.sub(r".*/(?=shim/|device/)", "", x["fl"])
                        for x in (place, callee)]
                files.update(ours)
                if ours[0] != ours[1]:
                    moves += count
    return moves, files


def main():
    folder, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    found = [read(f"{folder}/out.0.{lap}", "libmpix_gds")
             for lap in range(first, last + 1)]
    moves = statistics.median(count for count, _ in found)
    files = statistics.median(len(names) for _, names in found)
    print(f"{moves:.0f} moves, {files:.0f} files "
          f"(laps: {sorted(count for count, _ in found)})")
    if "--files" in sys.argv:
        print("\n".join(sorted(found[-1][1])))


main()
