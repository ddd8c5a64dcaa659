# svc on a small Debian, as a user without rights: docker run --rm svc chat "Hello" --local
# The root file system can be read-only; data is in the volume /data. svc serve listens on loopback, so its clients share
# its network: containers of the same pod, or with --network container:NAME.
ARG NODE_VERSION=24
FROM node:${NODE_VERSION}-bookworm-slim
ARG SVC_VERSION=0.2.0
# An archive svc-cli-*.tgz beside this file is installed instead of the published version.
COPY package.json svc-cli-*.tgz /tmp/svc/
RUN cd /tmp/svc \
  && archive=$(find . -name 'svc-cli-*.tgz') \
  && npm install --global --ignore-scripts --no-audit --no-fund --include=optional "${archive:-svc-cli@$SVC_VERSION}" \
  && rm -rf /tmp/svc /root/.npm \
  && mkdir /data && chown 10001:10001 /data
ENV HOME=/data SVC_CONFIG_DIR=/data/config SVC_DATA_DIR=/data/svc NODE_ENV=production
USER 10001:10001
WORKDIR /data
VOLUME /data
STOPSIGNAL SIGTERM
# Only svc serve listens; for other commands there is nothing to check.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["svc"]
CMD ["serve", "--port", "8080"]
