#!/bin/sh
# One order on a Ray cluster, from one of its machines; from outside it is --on ray://HOST:10001.
#
# Before: on every node `pip install 'ai-independence-bench[ray,postgres]'`, the same version, and the endpoint's key and
# AIB_STORE (or PGPASSWORD) in the environment in which `ray start` is called. Here they are wanted, too.
set -eu
aib run qwen/qwen3-8b google/gemma-3-12b-it --protocol v2 --on ray --job v2-november --budget 200 -p 2 -pt 50 --yes
