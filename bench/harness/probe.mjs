// Loaded into a server under test before its own code: reports its heap, collected, when asked, and ends it with the
// process that started it. It does nothing in between.
process.on('message', (word) => {
  if (word !== 'heap') return;
  globalThis.gc?.();
  process.send?.({ heapBytes: process.memoryUsage().heapUsed });
});
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.channel?.unref();
