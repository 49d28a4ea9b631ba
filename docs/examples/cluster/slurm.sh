#!/bin/bash
# One order carried out by ten tasks of a Slurm array: sbatch slurm.sh
#
# Task i plays part i of 10. All of them share --budget, for the array is one job. A task that was lost is requeued, and
# goes on where it was; tasks that failed are submitted again by their numbers: sbatch --array=3,7 slurm.sh
#SBATCH --job-name=aib-v2
#SBATCH --array=1-10
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --signal=B:TERM@300
#SBATCH --output=aib-%A-%a.log

set -eu
# the address of the database with its password, and the key: files that only you can read
AIB_STORE=$(cat "$HOME/.aib-store")
OPENROUTER_API_KEY=$(cat "$HOME/.openrouter-key")
export AIB_STORE OPENROUTER_API_KEY

# exec: the signal that comes before the end of the time goes to aib, which waits for what is in flight
exec aib run qwen/qwen3-8b google/gemma-3-12b-it --protocol v2 \
    --shard auto/10 --job v2-november --budget 200 -p 2 -pt 50 --yes
