# The server as a container: docker build -t parley . (docs/operating.md#containers). Debian 13 has the glibc that the builds of
# uWebSockets.js need with Node 24; where there is no build, as on arm64, the server runs on node:http.

FROM node:24-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --cache=/tmp/npm
COPY machines machines
COPY src src
# The first start of `parley` builds; the second one leaves V8's compiled code beside the build.
RUN node src/install/start.mjs --help
RUN PORT=0 PARLEY_STORE=memory: PARLEY_QUIET=1 timeout --preserve-status 10 node --min-semi-space-size=4 --max-semi-space-size=8 dist/parley.mjs serve
# Programs for building, maps of the source, and the runtime of the voice for other platforms.
RUN rm -rf node_modules/esbuild node_modules/@esbuild node_modules/.bin dist/*.map
RUN node -e "const fs=require('fs'),d='node_modules/onnxruntime-node/bin';if(fs.existsSync(d))for(const v of fs.readdirSync(d))for(const p of fs.readdirSync(d+'/'+v))for(const a of fs.readdirSync(d+'/'+v+'/'+p))if(p!==process.platform||a!==process.arch)fs.rmSync(d+'/'+v+'/'+p+'/'+a,{recursive:true})"

FROM node:24-trixie-slim
RUN groupadd --system --gid 10001 parley && useradd --system --uid 10001 --gid parley --home-dir /data --no-create-home --shell /usr/sbin/nologin parley
RUN install -d -o parley -g parley -m 700 /data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY LICENSE NOTICE ./
RUN printf '#!/bin/sh\nexec node /app/dist/parley.mjs "$@"\n' > /usr/local/bin/parley && chmod 755 /usr/local/bin/parley
ENV HOST=0.0.0.0 PORT=8080 PARLEY_STORE=lmdb:/data PARLEY_QUIET=1 HOME=/data
# As in `npm start`: less memory that the C library keeps for nothing.
ENV MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072
USER 10001:10001
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PARLEY_MANAGEMENT_PORT || process.env.PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--min-semi-space-size=4", "--max-semi-space-size=8", "/app/dist/parley.mjs"]
CMD ["serve"]
