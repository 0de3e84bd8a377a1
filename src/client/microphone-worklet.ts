/**
 * `parley-client/microphone-worklet`: the module that the option `worklet` of `microphone` names, for a page that
 * serves it as a file.
 */
import { microphoneWorklet } from './worklet.ts';

microphoneWorklet();
