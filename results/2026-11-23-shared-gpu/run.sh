# Ordinary messages between two ranks that share a GPU, by MPIX_GDS_UPLOAD.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && . mpich/env.sh
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
for r in 1 2 3; do for u in plain auto rows; do echo "## $u $r"; timeout 60 mpiexec -genv MPIX_GDS_SUMMARY rank0 -genv MPIX_GDS_UPLOAD $u -genv LD_PRELOAD $B/lib/libmpix_gds.so -n 2 $X/osu_latency -m 8:65536 -i 500 -x 50 D D; done; done > $OUT/upload.txt 2>&1
for n in 4; do for u in plain auto; do echo "## $u $n ranks"; timeout 60 mpiexec -genv MPIX_GDS_UPLOAD $u -genv LD_PRELOAD $B/lib/libmpix_gds.so -n $n $X/osu_multi_lat -m 8:65536 -i 200 -x 20 D D; done; done >> $OUT/upload.txt 2>&1
grep -vE "^#" $OUT/upload.txt | tail -5; awk '/^## /{k=$2} /^[0-9]+ /{v[k,$1]=v[k,$1]" "$2; if(!($1 in s)){s[$1]=1;o[++n]=$1}} END{for(i=1;i<=n;i++) print o[i],"plain",v["plain",o[i]],"auto",v["auto",o[i]],"rows",v["rows",o[i]]}' $OUT/upload.txt; grep -o "stage_rows [0-9]*" $OUT/upload.txt
