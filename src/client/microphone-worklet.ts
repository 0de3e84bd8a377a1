/**
 * `parley-client/microphone-worklet`: the module that the option `worklet` of `microphone` names, for a page that
 * serves it from an address of its own.
 */
import { microphoneWorklet } from './worklet.ts';

microphoneWorklet();
