# syntax=docker/dockerfile:1

# A static binary in an otherwise empty image: no shell, no package manager, not root.
FROM golang:1.26 AS build
ARG VERSION=devel COMMIT=unknown DATE=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath \
      -ldflags "-s -w -X main.linkedVersion=${VERSION} -X main.linkedCommit=${COMMIT} -X main.linkedDate=${DATE}" \
      -o /out/hub ./cmd/hub \
 && mkdir -p /out/data /out/tmp && chmod 700 /out/data && chmod 1777 /out/tmp

FROM scratch
ARG VERSION=devel COMMIT=unknown DATE=unknown
LABEL org.opencontainers.image.title="hub" \
      org.opencontainers.image.description="Many clients for one ZCode app-server" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.created="${DATE}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build /out/tmp /tmp
COPY --from=build /out/hub /hub
USER 65532:65532
# /data holds keys and the local socket; the root file system may be read-only.
ENV HOME=/data HUB_DATA_DIR=/data HUB_LISTEN=0.0.0.0:8377 HUB_LOG_FORMAT=json
VOLUME /data
EXPOSE 8377
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=10s --retries=3 CMD ["/hub", "status", "--probe"]
ENTRYPOINT ["/hub"]
# Beyond loopback the hub wants to be told under which address it is reached (HUB_PUBLIC_URL) or HUB_ALLOW_REMOTE=true.
CMD ["serve"]
