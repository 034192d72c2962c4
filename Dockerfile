# Memex as an image, with the embedded Postgres or with yours:
#   docker build --tag memex .
#   docker run --publish 127.0.0.1:8630:8630 --volume memex:/data memex
#   docker run --publish 127.0.0.1:8630:8630 --env DATABASE_URL=postgresql://… memex
# For vectors, OpenTelemetry or another model provider, name more extras of pyproject.toml:
#   docker build --build-arg EXTRAS="embedded vectors otel anthropic" --tag memex .
# tests/image.sh plays these steps, so it must understand what is written here.

FROM python:3.13-slim AS python

FROM python AS build
ARG EXTRAS="embedded"
WORKDIR /build
COPY requirements.lock ./
COPY pyproject.toml ./
COPY deploy/locked.py ./
# Of the lock only what the service needs.
RUN python locked.py $EXTRAS > image.lock
# Everything is compared with the hashes of the lock here; the steps below take from this folder alone.
RUN python -m pip download --quiet --require-hashes --no-deps --only-binary :all: --dest wheels \
      --requirement image.lock
# The whole tree, because src/memex links to folders at its root.
COPY . source
RUN python -m pip wheel --quiet --no-index --find-links wheels --no-deps --wheel-dir wheels ./source
# Without pip in it; pip compiles as it installs, which the service may not do there.
RUN python -m venv --without-pip /opt/memex \
 && python -m pip --python /opt/memex/bin/python install --quiet --no-index --find-links wheels \
      "memex-memory[$(echo $EXTRAS | tr ' ' ,)]"

# Of the system's libraries the Postgres programs need glibc and zlib, which the slim image has.
FROM python
# The user needs a name: initdb looks it up.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin memex \
 && install --directory --owner memex --group memex --mode 0700 /data
COPY --from=build /opt/memex /opt/memex
ENV PATH=/opt/memex/bin:$PATH
ENV MEMEX_HOST=0.0.0.0
ENV MEMEX_PORT=8630
ENV MEMEX_DATA_DIR=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8630
STOPSIGNAL SIGTERM
# Not through urllib, which would ask a proxy of the environment.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --start-interval=1s CMD ["python", "-I", "-c", "import http.client, os, sys; service = http.client.HTTPConnection('127.0.0.1', int(os.environ['MEMEX_PORT']), timeout=4); service.request('GET', '/health/ready'); sys.exit(service.getresponse().status != 200)"]
ENTRYPOINT ["memex"]
CMD ["serve"]
