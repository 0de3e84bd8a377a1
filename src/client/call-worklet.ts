/**
 * `parley-client/call-worklet`: the module that the option `worklet` of `browserCall` and of `loudspeaker` names, for a
 * page that serves it as a file. It serves the microphone as well.
 */
import { loudspeakerWorklet, makeRing } from './playback.ts';
import { microphoneWorklet } from './worklet.ts';

microphoneWorklet();
loudspeakerWorklet(makeRing);
