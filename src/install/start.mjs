#!/usr/bin/env node
// The command `parley`, from a clone: prepares the clone, then becomes the built command in this same process,
// so that signals, exit codes and the terminal are the command's own.
import { bundleUrl, prepare } from './prepare.mjs';

await prepare({ development: false });
await import(bundleUrl);
