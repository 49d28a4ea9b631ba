#!/bin/sh
# One order carried out by the machines that are named, one worker on each: ssh.sh node1 node2 node3
#
# Each of them has aib installed, and AIB_STORE and the endpoint's key in its environment (~/.profile).
set -eu
part=0
for node in "$@"; do
    part=$((part + 1))
    # a terminal for each, so that Ctrl-C here stops all of them gently
    ssh -tt "$node" ". ~/.profile; aib run qwen/qwen3-8b google/gemma-3-12b-it --protocol v2 \
--shard $part/$# --job v2-november --budget 200 -p 2 -pt 50 --yes" >"aib-$node.log" 2>&1 &
done
wait
