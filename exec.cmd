@rem `npm start` on Windows, whose shell has no `exec`: the same server, without the C library's settings.
@node --min-semi-space-size=4 --max-semi-space-size=8 src/install/start.mjs serve
