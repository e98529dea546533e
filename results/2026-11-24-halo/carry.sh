# carry.sh [BUILD]: makes .device/new.tgz of a release build, with the example
# built on an installation of it. From the repository root; run.sh takes it.
set -e
b=$(realpath "${1:-build}"); e=$PWD/examples/jacobi; t=$(mktemp -d); n=$t/new
mkdir -p .device "$n/build/lib" "$n/build/libexec/mpix-gds" "$n/jacobi"
cp -P "$b"/lib/libmpix_gds.so* "$n/build/lib/"
cp "$b"/libexec/mpix-gds/osu_*enqueue* "$n/build/libexec/mpix-gds/"
cmake --install "$b" --prefix "$t/mpix-gds" > "$t/install.log"
cmake -S "$e" -B "$t/j" -DCMAKE_C_COMPILER=mpicc.mpich -DCMAKE_PREFIX_PATH="$t/mpix-gds" \
    -DJACOBI_KERNEL=jacobi_kernel.ptx > "$t/cmake.log"
cmake --build "$t/j" > "$t/make.log"
cp "$t"/j/jacobi_{before,enqueued,runtime,kernel.ptx} "$n/jacobi/"
find "$n" -type f -exec strip --strip-unneeded {} \; 2>/dev/null || true
tar czf .device/new.tgz -C "$t" new
rm -r "$t"; ls -la .device/new.tgz
