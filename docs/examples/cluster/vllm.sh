#!/bin/bash
# Weights served by vLLM on one GPU node and played from there: sbatch --export=ALL,MODEL=Qwen/Qwen3-8B vllm.sh
#
# One job for each weight; all of them write into one store.
#SBATCH --job-name=aib-vllm
#SBATCH --gpus=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --output=aib-vllm-%j.log

set -eu
AIB_STORE=$(cat "$HOME/.aib-store")
export AIB_STORE
PORT=$((20000 + SLURM_JOB_ID % 20000)) # other jobs may be on this node

vllm serve "$MODEL" --port "$PORT" --max-num-seqs 128 &
trap 'kill %1' EXIT
until curl -sf "http://127.0.0.1:$PORT/v1/models" >/dev/null; do
    kill -0 %1 # it has ended: so do we
    sleep 5
done

# the judge stands elsewhere: judged later, by `aib judge`, from any machine
aib run --local-url "http://127.0.0.1:$PORT/v1" --local-model "$MODEL" --protocol v2 -pt 128 --no-judge
