# Stage 1 builds the service and the Python runtime, stage 2 holds what runs. Both are Debian trixie, so that the
# binary meets the libc it was linked with. Pin them by digest where builds must be repeatable:
#   docker build --build-arg RUST_IMAGE=rust:1.95-trixie@sha256:… --build-arg BASE_IMAGE=debian:trixie-slim@sha256:… .
ARG RUST_IMAGE=rust:1.95-trixie
ARG BASE_IMAGE=debian:trixie-slim

FROM ${RUST_IMAGE} AS build
RUN apt-get update -q \
    && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        gcc libc6-dev make python3 python3-pip \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked
# The manifest names the compiled file by its full path, so it is built where it will lie.
RUN PROOFBOX_CACHE_DIR=/opt/proofbox target/release/proofbox runtime build
# Licence texts are kept; the rest of the work directory is not needed to run. image.wasm gets a name without a hash.
RUN cd /opt/proofbox/build \
    && mkdir ../licences \
    && cp --parents -t ../licences \
        trees/python/LICENSE trees/python/Doc/license.rst trees/zlib/LICENSE trees/bzip2/LICENSE trees/xz/COPYING.0BSD \
        toolchain/ziglang/LICENSE toolchain/ziglang/lib/libc/wasi/LICENSE* \
        toolchain/ziglang/lib/libc/wasi/libc-bottom-half/cloudlibc/LICENSE \
        toolchain/ziglang/lib/libc/wasi/libc-top-half/musl/COPYRIGHT \
        sources/pytest-*.whl sources/pluggy-*.whl sources/iniconfig-*.whl sources/packaging-*.whl \
    && cd .. \
    && rm -rf build build.lock \
    && ln -s runtimes/*/image.wasm image.wasm

FROM ${BASE_IMAGE}
# /var/cache/proofbox is for processors on which the compiled interpreter does not fit: see README.
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin proofbox \
    && install -d -o proofbox -g proofbox /var/cache/proofbox \
    && install -d -m 0700 -o proofbox -g proofbox /var/lib/proofbox
COPY --from=build /src/target/release/proofbox /usr/local/bin/proofbox
COPY --from=build /opt/proofbox /opt/proofbox
COPY --from=build /src/LICENSE /src/docs/LICENSES.md /usr/share/doc/proofbox/
ENV PROOFBOX_CACHE_DIR=/opt/proofbox \
    PROOFBOX_DATA_DIR=/var/lib/proofbox \
    PROOFBOX_LISTEN=0.0.0.0:8080 \
    NO_COLOR=1
USER proofbox
# Checkpoints, and sessions that wait on disk.
VOLUME /var/cache/proofbox /var/lib/proofbox
EXPOSE 8080
# bash speaks TCP by itself, so that nothing need be installed for this. /readyz runs a snippet.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["proofbox"]
CMD ["serve"]
