# The job of README.md, run on the device machine from the repository root.
cd .device && tar xzf far.tgz && cd far && OLD=$LD_LIBRARY_PATH
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; date -u; dpkg -l libibverbs1 ibverbs-providers 2>/dev/null | tail -2 | cut -c1-80
for i in 1 2 3; do sh run.sh; done 2>&1 | tee $OUT/far.txt
