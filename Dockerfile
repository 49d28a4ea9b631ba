# aib in a container, made of a wheel (docs/configuration.md): make page && pip wheel --no-deps -w dist . && docker build -t aib .
# What is measured is kept in /data: docker run --rm -it -e OPENROUTER_API_KEY -v "$PWD:/data" aib run qwen/qwen3-8b
FROM python:3.12-slim

COPY dist/ai_independence_bench-*.whl /wheels/
RUN pip install --no-cache-dir "$(ls /wheels/ai_independence_bench-*.whl)[export,postgres]" \
    && rm -r /wheels \
    && useradd --create-home --uid 1000 aib \
    && install --directory --owner=aib /data

USER aib
WORKDIR /data
ENV AIB_STORE=/data/aib.db
VOLUME ["/data"]
ENTRYPOINT ["aib"]
CMD ["--help"]
