# Stage 1 builds the service and the Python runtime, stage 2 holds what runs. Both are Debian trixie, so that the
# binary meets the libc it was linked with. Pin them by digest where builds must be repeatable:
#   docker build --build-arg BUILD_IMAGE=rust:1.95-trixie@sha256:… --build-arg BASE_IMAGE=debian:trixie-slim@sha256:… .
# A build image without cargo (debian:trixie-slim) gets that of trixie-backports.
ARG BUILD_IMAGE=rust:1.95-trixie
ARG BASE_IMAGE=debian:trixie-slim

FROM ${BUILD_IMAGE} AS build
RUN set -e; \
    export DEBIAN_FRONTEND=noninteractive; \
    if ! command -v cargo; then \
        { sed -n 's/^deb \(.*\) trixie main.*/deb \1 trixie-backports main/p' /etc/apt/sources.list; \
          sed -n 's/^URIs: \(.*debian\)$/deb \1 trixie-backports main/p' /etc/apt/sources.list.d/debian.sources; \
        } 2>/dev/null > /etc/apt/sources.list.d/backports.list || :; \
        apt-get update -q; \
        apt-get install -q -y --no-install-recommends -t trixie-backports cargo; \
    fi; \
    apt-get update -q; \
    apt-get install -q -y --no-install-recommends gcc libc6-dev make python3 python3-pip; \
    rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked \
    && install -s target/release/proofbox /usr/local/bin/proofbox
# The manifest names the compiled file by its full path, so it is built where it will lie.
RUN PROOFBOX_CACHE_DIR=/opt/proofbox proofbox runtime build
# Licence texts are kept; the rest of the work directory is not needed to run.
RUN cd /opt/proofbox/build \
    && mkdir ../licences \
    && cp --parents -t ../licences \
        trees/python/LICENSE trees/python/Doc/license.rst trees/zlib/LICENSE trees/bzip2/LICENSE trees/xz/COPYING.0BSD \
        toolchain/ziglang/LICENSE toolchain/ziglang/lib/libc/wasi/LICENSE* \
        toolchain/ziglang/lib/libc/wasi/libc-bottom-half/cloudlibc/LICENSE \
        toolchain/ziglang/lib/libc/wasi/libc-top-half/musl/COPYRIGHT \
        $(find numpy/tree -maxdepth 1 -name 'LICENSE*') $(find numpy/tree/numpy -name 'LICENSE*') \
    && cd ../licences \
    && for wheel in ../build/sources/*-none-any.whl; do \
        python3 -m zipfile -e "$wheel" "packages/$(basename "$wheel" -none-any.whl)"; \
    done \
    && find packages -type f ! -iregex '.*dist-info.*/\(licen[cs]e\|copying\|notice\|authors\)[^/]*' -delete \
    && for source in ../build/sources/*.tar.gz; do \
        tar -xzf "$source" -C packages --wildcards --no-wildcards-match-slash '*/LICEN[CS]E*' || true; \
    done \
    && find packages -type d -empty -delete \
    && cd .. \
    && rm -rf build build.lock

FROM ${BASE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="proofbox" \
      org.opencontainers.image.description="Runs untrusted Python in WebAssembly and grades it" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin proofbox \
    && install -d -m 0700 -o proofbox -g proofbox /var/lib/proofbox
COPY --from=build /usr/local/bin/proofbox /usr/local/bin/proofbox
COPY --from=build /opt/proofbox /opt/proofbox
COPY --from=build /src/LICENSE /src/docs/LICENSES.md /usr/share/doc/proofbox/
ENV PROOFBOX_CACHE_DIR=/opt/proofbox \
    PROOFBOX_DATA_DIR=/var/lib/proofbox \
    PROOFBOX_RECEIPT_KEY=/var/lib/proofbox/receipt-key.pem \
    PROOFBOX_LISTEN=0.0.0.0:8080 \
    NO_COLOR=1
USER 10001:10001
# All that is written: keys, sessions, checkpoints, jobs, the receipts' key, and the interpreter as compiled for this
# processor where that is another than the build's.
VOLUME /var/lib/proofbox
EXPOSE 8080
# bash speaks TCP by itself, so that nothing need be installed for this. /readyz runs a snippet.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["proofbox"]
CMD ["serve"]
