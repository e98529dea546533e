# Programs that know nothing of the library, on two GPUs, then three and four ranks that share them.
cd .device && for f in mpich fin wheels; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32; python3 --version
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$PWD/m4lib:$PWD/fin/lib:$LD_LIBRARY_PATH
mkdir -p m4lib; ln -sf $(ls $PWD/mpich/lib/libmpich.so.12 $PWD/mpich/*/libmpich.so.12 2>/dev/null | head -1) m4lib/libmpi.so.12; ls -l m4lib
python3 -m pip install -q --no-index --find-links wheels --target m4 mpi4py 2>&1 | tail -2
export PYTHONPATH=$PWD/m4 MPI4PY_MPIABI=mpich
for n in 2 3 4; do echo "# $n ranks"; timeout 200 sh fin/unmodified/run $B $n; echo "rc $?"; done 2>&1 | tee $OUT/unmodified.txt
