/**
 * Replaces `async-hook-domain` in the bundled tap: an uncaught error fails the newest test that has begun and not
 * ended. The package itself finds the test to which an error belongs by a hook into every promise, which was a third of
 * the CPU time of a file that works within its process.
 */
import { executionAsyncResource } from 'node:async_hooks';

const live = [];
const { emit } = process;

/** True if a test took the error. */
function handle(error, event) {
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return false;
  // A test that waits for its turn has a domain already.
  const domain = live.findLast(({ test }) => test?.started) ?? live[0];
  if (domain === undefined) return false;
  try {
    domain.onerror(error, event);
  } catch (thrown) {
    domain.destroy();
    if (!handle(thrown, event)) throw thrown;
  }
  return true;
}

/** A monitor cannot keep an error from ending the process; a callback that captures it can. */
function onException(error, event) {
  if (handle(error, event))
    process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null));
}

function emitted(event, ...args) {
  if (event === 'unhandledRejection' && process.listenerCount(event) === 0) return handle(args[0], event);
  return emit.call(process, event, ...args);
}

export class Domain {
  /** tap makes it within an asynchronous resource that knows the test. */
  test = executionAsyncResource().test;

  constructor(onerror) {
    this.onerror = onerror;
    if (live.length === 0) {
      process.on('uncaughtExceptionMonitor', onException);
      process.emit = emitted;
    }
    live.push(this);
  }

  destroy() {
    const index = live.indexOf(this);
    if (index < 0) return;
    live.splice(index, 1);
    if (live.length > 0) return;
    process.removeListener('uncaughtExceptionMonitor', onException);
    process.emit = emit;
  }
}
